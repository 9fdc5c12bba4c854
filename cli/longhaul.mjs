#!/usr/bin/env node
// `npx longhaul …`: runs cli/index.ts on a Node that supports it, whichever Node started this.
import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nodeOf, prepare } from './prepare.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

try {
  await prepare(root);
} catch (error) {
  console.error(error.message);
  process.exit(1);
}

const child = spawn(nodeOf(root), [join(root, 'cli', 'index.ts'), ...process.argv.slice(2)], {
  stdio: 'inherit',
});
// Ctrl-C already reaches the whole process group; the other signals are sent to one process and must be forwarded.
process.on('SIGINT', () => {});
for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.once('exit', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 143)));
