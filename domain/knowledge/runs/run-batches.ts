import type { KnowledgeRun } from '../../../db/knowledge/runs/knowledge-run.entity.ts';
import { payingWorkspace } from '../../../db/knowledge/items/pending-items.ts';
import { readPolicy } from '../../../db/knowledge/bases/maintained-base.ts';
import { settleLostCalls } from './judge-calls.ts';
import { lockKnowledgeRun, nextWindowEnd, readRunCost } from '../../../db/knowledge/runs/runs.ts';
import { addRunErrors, type RunError } from '../../../db/knowledge/runs/write-runs.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';

/** Locks a run for its next batch and settles calls that an earlier worker has lost, or ends the run if it is being cancelled or was paused too long. Returns null when there is nothing to do. */
export async function lockRunForBatch(tx: TenantTransaction, runId: string, now: Date): Promise<KnowledgeRun | null> {
  const run = await lockKnowledgeRun(tx, runId);
  if (run === null || run.finishedAt !== null) return null;
  if (run.status === 'cancelling' || (await isPausedTooLong(tx, run, now))) {
    await endRun(tx, run, { status: 'cancelled', now });
    return null;
  }
  await settleLostCalls(tx, run);
  run.startedAt ??= now;
  if (run.status === 'queued') run.status = 'running';
  return run;
}

/** Whether a run has waited for its budget as long as its base's policy allows. */
export async function isPausedTooLong(tx: TenantTransaction, run: KnowledgeRun, now: Date): Promise<boolean> {
  if (run.status !== 'paused' || run.pausedAt === null) return false;
  return now.getTime() >= (await pauseEnd(tx, run, run.pausedAt));
}

async function pauseEnd(tx: TenantTransaction, { kbId }: KnowledgeRun, pausedAt: Date): Promise<number> {
  return pausedAt.getTime() + (await readPolicy(tx, kbId)).maxPauseHours * 3_600_000;
}

/** Records the state of a locked run after a batch, which ends its pause. */
export function moveOn(
  run: KnowledgeRun,
  {
    stage,
    done,
    total,
    cursor,
  }: { readonly stage: string; readonly done: number; readonly total: number | null; readonly cursor: KnowledgeRun['cursor'] },
): void {
  Object.assign(run, { status: 'running', pausedReason: null, pausedAt: null, progress: { stage, done, total }, cursor });
}

/** Adds numbers to the run's counts. */
export function countOnRun(run: KnowledgeRun, counts: Readonly<Record<string, number>>): void {
  const sum: Record<string, number> = { ...run.counts };
  for (const [name, n] of Object.entries(counts)) sum[name] = (sum[name] ?? 0) + n;
  run.counts = sum;
}

/** Pauses a locked run until a budget of the paying workspace has room. Returns until when: ISO 8601. */
export async function pauseRun(tx: TenantTransaction, run: KnowledgeRun, now: Date): Promise<string> {
  const workspaceId = await payingWorkspace(tx, run);
  run.pausedAt ??= now;
  Object.assign(run, { status: 'paused', pausedReason: 'budget' });
  const end = await pauseEnd(tx, run, run.pausedAt);
  const windowEnd = workspaceId === null ? null : await nextWindowEnd(tx, workspaceId);
  await tx.em.flush();
  return new Date(Math.min(end, windowEnd === null ? end : new Date(windowEnd).getTime())).toISOString();
}

/** Locks a run that a batch writes to; null when it has ended or is being cancelled: the batch's pending writes are no longer wanted. */
export async function lockWorkingRun(tx: TenantTransaction, runId: string): Promise<KnowledgeRun | null> {
  const run = await lockKnowledgeRun(tx, runId);
  return run === null || run.finishedAt !== null || run.status === 'cancelling' ? null : run;
}

/** Ends a run whose work was cancelled or given up; a run that has ended stays as it is. */
export async function endGivenUp(tx: TenantTransaction, runId: string, now: Date): Promise<void> {
  const run = await lockKnowledgeRun(tx, runId);
  if (run === null || run.finishedAt !== null) return;
  if (run.status === 'cancelling') return endRun(tx, run, { status: 'cancelled', now });
  const detail = 'The work was interrupted too often, or a service that it needs is unavailable.';
  await endRun(tx, run, { status: 'failed', now, error: { stage: run.progress.stage, code: 'interrupted', detail } });
}

/** The outcome of a run. `result` replaces the stored result; `error` is why it failed. */
export interface RunEnd {
  readonly status: 'succeeded' | 'failed' | 'cancelled';
  readonly now: Date;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: RunError;
}

/** Ends a locked run, with its cost according to the ledger. */
export async function endRun(tx: TenantTransaction, run: KnowledgeRun, { status, now, result, error }: RunEnd): Promise<void> {
  await settleLostCalls(tx, run);
  if (error !== undefined) await addRunErrors(tx, run, [error]);
  Object.assign(run, { status, pausedReason: null, pausedAt: null, cursor: null, finishedAt: now, costSpent: await readRunCost(tx, run) });
  if (result !== undefined) run.result = { ...result };
  await tx.em.flush();
}
