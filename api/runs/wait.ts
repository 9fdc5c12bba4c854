import { seeRun } from '../../db/runs/read/run-queries.ts';
import type { RunRow } from '../../db/runs/read/run-view.ts';
import { transact } from '../../db/transaction.ts';
import { isTerminal } from '../../workflows/contracts/runs/runs.ts';
import type { Ctx } from '../http/operation/operation.ts';
import { whileEntitled } from '../streams/while-entitled.ts';

/** Terminal or waiting: nothing more happens until a person or client acts. */
export function isSettled(run: Pick<RunRow, 'status'>): boolean {
  return isTerminal(run.status) || run.status === 'waiting';
}

/**
 * Waits until a run is settled or the time is over and gives it as it is then. Runs after the commit: it listens on the hub and holds no
 * connection. Throws 401, 403 or 404 when the right to the run is lost meanwhile: what came after is not shown.
 */
export async function waitUntilSettled(ctx: Ctx, seen: RunRow, timeoutMs: number): Promise<RunRow> {
  if (isSettled(seen) || timeoutMs <= 0) return seen;
  const { caller, floor, deps, tenant, actor, correlationId } = ctx;
  const end = performance.now() + timeoutMs;

  return whileEntitled(ctx, { runId: seen.id }, async (signal) => {
    let run = seen;
    while (!isSettled(run)) {
      const leftMs = Math.round(end - performance.now());
      if (leftMs <= 0) break;
      const changed = await deps.hub.waitForChange(run.id, { afterSeq: run.lastSeq, timeoutMs: leftMs, signal });
      const { value } = await transact(deps.db, { tenant, actor, correlationId }, (tx) => seeRun({ ...tx, caller, floor }, run.id));
      run = value;
      if (!changed) break;
    }
    return run;
  });
}
