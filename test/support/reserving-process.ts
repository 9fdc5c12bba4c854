import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Reserved, ReservingTask } from './reserving.ts';

export interface ReservingProcess {
  /** Has it begin, and gives what its reservations gave. */
  run(): Promise<Reserved[]>;
}

/** Starts a process that reserves in a workspace, up to where it would begin. It ends by itself. */
export async function startReserving(task: ReservingTask): Promise<ReservingProcess> {
  const args = ['--disable-warning=ExperimentalWarning', join(import.meta.dirname, 'reserving.ts'), JSON.stringify(task)];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout });
  await once(lines, 'line');

  return {
    async run() {
      const told = once(lines, 'line');
      child.stdin.write('go\n');
      return JSON.parse(String((await told)[0])) as Reserved[]; // of our own process
    },
  };
}
