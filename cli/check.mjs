// Checks types, lint, format, unused code and import rules in parallel. Prints only what is wrong; exits with 1 if anything is.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const jest = ['--disable-warning=ExperimentalWarning', binOf('jest'), '--config', 'test/jest.static.config.mjs'];

const checks = [
  ['types', [binOf('typescript', 'tsc'), '--noEmit', '-p', '.']],
  ['lint', [binOf('oxlint')]],
  ['format', [binOf('oxfmt'), '--list-different']],
  ['unused', [binOf('knip'), '--no-progress', '--no-config-hints']],
  ['imports', jest],
  // The console's packages are installed by whoever builds it.
  ...(existsSync(join(root, 'console', 'node_modules', 'react'))
    ? [['console', [binOf('typescript', 'tsc'), '--noEmit', '-p', 'console']]]
    : []),
];

const results = await Promise.all(checks.map(run));
for (const { name, code, output, seconds } of results) {
  process.stdout.write(`${code === 0 ? 'ok    ' : 'FAILED'} ${name} ${seconds.toFixed(1)} s\n${code === 0 ? '' : output}`);
}
process.exitCode = results.every(({ code }) => code === 0) ? 0 : 1;

function run([name, args]) {
  const startedAt = performance.now();
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const keep = (chunk) => (output += chunk);
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.on('close', (code) => resolve({ name, code, output, seconds: (performance.now() - startedAt) / 1_000 }));
  });
}

/** The script of a tool in node_modules, to be started with this Node, because the host's may be older. */
function binOf(name, bin = name) {
  const folder = join(root, 'node_modules', name);
  const { bin: bins } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return join(folder, typeof bins === 'string' ? bins : bins[bin]);
}
