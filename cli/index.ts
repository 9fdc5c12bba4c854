import { runCommand } from './commands.ts';
import { processEnvironment } from './env.ts';

const isGood = await runCommand(process.argv.slice(2), {
  env: processEnvironment(),
  log: (text) => console.log(text),
  logFault: (text) => console.error(text),
});
// Only if unset: `up` sets its own exit code.
if (!isGood) process.exitCode ??= 1;
