import { setTimeout as delay } from 'node:timers/promises';
import { rows } from '../../db/sql.ts';
import { sweep } from '../../db/transaction.ts';
import { scripted, startRun } from '../../test/support/scenario.ts';
import type { Stack } from '../../test/support/stack.ts';
import { inLanes } from './floor-runs.ts';

/** What a user says to the scripted model for an answer at once. */
export const instantAnswer = scripted({ steps: [{ text: 'Hello' }] });

const pollMs = 20;

/** Starts this many runs of one step on a model that answers at once, some at a time, and waits until all have succeeded. Gives milliseconds. */
export async function playRuns(
  stack: Stack,
  agentId: string,
  { count, concurrency }: { count: number; concurrency: number },
): Promise<number> {
  const startedAt = performance.now();
  const ids: string[] = [];
  await inLanes(count, concurrency, async () => void ids.push((await startRun(stack, agentId, instantAnswer)).id));
  while ((await countEnded(stack, ids)) < count) await delay(pollMs);
  return performance.now() - startedAt;
}

async function countEnded(stack: Stack, ids: readonly string[]): Promise<number> {
  const found = await sweep(stack.db, (em) =>
    rows<{ status: string }>(em, "select status from runs where id = any (?::uuid[]) and status in ('succeeded', 'failed', 'cancelled')", [
      ids,
    ]),
  );
  const bad = found.find(({ status }) => status !== 'succeeded');
  if (bad) throw new Error(`a run ended as ${bad.status}`);
  return found.length;
}
