import { Failure } from '../../../workflows/contracts/failure.ts';
import { followRunEnd } from '../../run-ended.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { enqueueRuns } from './place-runs.ts';
import type { RunRow } from '../../../db/runs/read/run-view.ts';
import type { StartRun } from '../../../db/runs/start/start-run.ts';

export interface StartedRun {
  /** With `steered`, the run that was already active. */
  readonly run: RunRow;
  readonly admission: 'started' | 'queued' | 'delayed' | 'steered';
}

/**
 * The single entry point for starts from every source. Locks the conversation, writes the run, user message and first frame, and the start of the workflow
 * unless the run has to wait; `onBusy` decides what happens when another run is active in the conversation. Throws 422 for references that do not resolve, 423
 * for a frozen workspace, 409 `agent_inactive`, `conversation_busy`, `conversation_queue_full`, 429 `live_runs`.
 */
export async function startRun(tx: TenantTransaction, start: StartRun): Promise<StartedRun> {
  const [started] = await startRuns(tx, [start]);
  if (started === undefined) throw new Error('a start gave nothing');
  if (started instanceof Failure) throw started;
  return started;
}

/**
 * Starts runs of one starter in one transaction: references, conversations, frames and outbox together, in the order given. A start that is refused yields its
 * Failure and writes nothing; the others are started all the same.
 */
export async function startRuns(tx: TenantTransaction, starts: readonly StartRun[]): Promise<readonly (StartedRun | Failure)[]> {
  const { outcomes, ended } = await enqueueRuns(tx, starts);
  for (const run of ended) await followRunEnd(tx, run, 'cancelled');
  return outcomes;
}
