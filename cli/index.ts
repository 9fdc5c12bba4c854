import { runCommand } from './commands.ts';
import { processEnvironment } from './env.ts';

const isGood = await runCommand(process.argv.slice(2), {
  env: processEnvironment(),
  log: (text) => console.log(text),
  logFault: (text) => console.error(text),
});
// Only then: `up` says itself how it ended.
if (!isGood) process.exitCode ??= 1;
