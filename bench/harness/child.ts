import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { processEnvironment, root } from '../env.ts';
import { probeVariables } from '../probe/client.ts';

/** A process of the bench: a floor or a fake. It has written one line of JSON when it serves. */
export interface Child {
  readonly pid: number;
  /** The line. */
  readonly ready: Readonly<Record<string, unknown>>;
  stop(): Promise<void>;
}

export interface ChildOptions {
  /** File, from the root. */
  readonly entry: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

const startMs = 60_000;

/** Starts a process with the probe in it and waits for its line. */
export async function startChild({ entry, args = [], env }: ChildOptions): Promise<Child> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', join(root, entry), ...args], {
    cwd: root,
    env: { PATH: processEnvironment()['PATH'], ...probeVariables, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const { pid } = child;
  const exited = once(child, 'exit');
  const end = () => child.kill('SIGKILL');
  process.on('exit', end);
  const stop = async () => {
    process.off('exit', end);
    end();
    await exited;
  };

  const line = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line').then(([text]) => String(text)),
    exited.then(() => null),
    new Promise<null>((resolve) => setTimeout(resolve, startMs, null).unref()),
  ]);
  if (line === null || pid === undefined) {
    end();
    throw new Error(`${entry} did not start`);
  }
  return { pid, ready: JSON.parse(line) as Record<string, unknown>, stop }; // written by our own processes
}
