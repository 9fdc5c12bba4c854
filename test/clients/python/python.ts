import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe } from '@jest/globals';
import { pythonPackages } from '../../support/python-packages.ts';

const root = join(import.meta.dirname, '../../..');
export const clientFolder = join(root, 'clients/python');

/** The client with the packages that it and its tests need: for PYTHONPATH. */
export function pythonPath(): string {
  const packages = pythonPackages({ requirements: 'python-client.requirements.txt', folder: 'python-client' });
  return [join(clientFolder, 'src'), packages].join(':');
}

/** Environment of a Python process of the tests: nothing of the tests' own. */
export function pythonEnv(extra: Readonly<Record<string, string>> = {}): Record<string, string> {
  return { PATH: process.env['PATH'] ?? '', PYTHONPATH: pythonPath(), PYTHONUNBUFFERED: '1', PYTHONDONTWRITEBYTECODE: '1', ...extra };
}

/** Tests that need the packages. Without pip or network they are skipped with the reason, unless CI demands them. */
export function describePython(name: string, tests: () => void): void {
  const reason = process.env['CI'] ? null : missing();
  if (reason === null) return describe(name, tests);
  process.stderr.write(`${name}: skipped, ${reason}\n`);
  describe.skip(name, tests);
}

function missing(): string | null {
  try {
    pythonPath();
    return null;
  } catch (error) {
    return String(error).split('\n')[0] ?? '';
  }
}

/** A Python process that plays scenarios of a file of `scenarios/`, one after the other. */
export interface Player {
  readonly process: ChildProcess;
  /** What the scenario returns. Throws with its traceback. */
  play<Result>(scenario: string, args?: Readonly<Record<string, unknown>>): Promise<Result>;
  stop(): void;
}

interface Waiter {
  readonly resolve: (value: never) => void;
  readonly reject: (error: Error) => void;
}

export function startPlayer(file: string, env: Readonly<Record<string, string>> = {}): Player {
  const player = join(import.meta.dirname, 'scenarios/player.py');
  const child = spawn('python3', ['-W', 'error::DeprecationWarning', player, file], {
    env: pythonEnv(env),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const waiters: Waiter[] = [];
  let errors = '';
  child.stderr.on('data', (text: Buffer) => (errors += String(text)));
  createInterface({ input: child.stdout }).on('line', (line) => {
    const { result, error } = JSON.parse(line) as { result: never; error?: string }; // written by player.py
    const waiter = waiters.shift();
    if (error === undefined) waiter?.resolve(result);
    else waiter?.reject(new Error(error));
  });
  child.on('close', () => {
    for (const { reject } of waiters) reject(new Error(`the Python process has ended: ${errors}`));
  });
  return {
    process: child,
    play: (scenario, args = {}) =>
      new Promise((resolve, reject) => {
        waiters.push({ resolve, reject });
        child.stdin.write(`${JSON.stringify({ scenario, args })}\n`);
      }),
    stop: () => void child.kill('SIGKILL'),
  };
}
