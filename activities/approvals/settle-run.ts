import { lockRunWithAncestors } from '../../db/runs/run-state.ts';
import { settleStatus } from '../../domain/runs/waiting.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAsRun } from '../runs/as-run.ts';

/** Settles whether a run waits after a part of it has ended, in a separate transaction. May be repeated. */
export async function settleRun(deps: ActivityDeps, runId: string): Promise<void> {
  await transactAsRun(deps, runId, async (tx) => {
    const locked = await lockRunWithAncestors(tx, runId);
    if (locked) await settleStatus(tx, locked);
  });
}
