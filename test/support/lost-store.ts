import { rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { OwnServices } from './own-services.ts';
import type { ProcessName, Stack } from './stack.ts';

/** Kills Temporal and deletes all it has stored: a later `up` begins with an empty store, on the same port. */
export async function loseStore(own: OwnServices): Promise<void> {
  await own.kill('temporal');
  rmSync(own.services.state.path('temporal'), { recursive: true, force: true });
}

/** Status and body of a process's readiness; status 0 when nobody answers. */
export async function readinessOf(stack: Stack, name: ProcessName): Promise<{ status: number; text: string }> {
  try {
    const answer = await fetch(`${stack.url(name)}/health/ready`, { signal: AbortSignal.timeout(5_000) });
    return { status: answer.status, text: await answer.text() };
  } catch {
    return { status: 0, text: '' };
  }
}

/** Starts workers again that have ended by themselves, as `longhaul up` or a cluster does; gives the function that stops this. */
export function supervise(stack: Stack, names: readonly ProcessName[]): { restarts: ProcessName[]; stop(): Promise<void> } {
  const restarts: ProcessName[] = [];
  const stopping = new AbortController();
  const keepUp = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      for (const name of names.filter((one) => !isAlive(stack.pid(one)))) {
        restarts.push(name);
        await stack.start(name);
      }
      await delay(500);
    }
  };
  const loop = keepUp();

  return {
    restarts,
    stop: async () => {
      stopping.abort();
      await loop;
    },
  };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
