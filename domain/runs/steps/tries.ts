import type { ModelUsage } from '../../../db/billing/ledger/usage.ts';
import { followedTime } from '../../../db/database-clock.ts';
import { endFlight, writeInFlight, type CallInFlight, type StepOfCall } from '../../../db/runs/calls/call-in-flight.ts';
import { lockRunWithAncestors, type RunState } from '../../../db/runs/run-state.ts';
import type { StepRetry } from '../../../db/runs/run-types.ts';
import { workerFrozen } from '../../../db/runs/steps/retries.ts';
import { correctRetry, takeBackClaim, writeFailedTry, type FailedTry, type LostRetry } from '../../../db/runs/steps/step-tries.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { releaseHold } from '../../billing/holds.ts';
import { settleStepUsage, type RunWithAncestors } from './step-usage.ts';

/**
 * Takes back the claim of a try that has called no model and written no frame: the next try gets the same number, and no frame mentions this one. Returns false
 * when a later try has the step. May be repeated: if the answer of a commit was lost, the claim is already taken back.
 */
export function unclaimStep(
  tx: TenantTransaction,
  claim: { readonly runId: string; readonly step: number; readonly attempt: number },
): Promise<boolean> {
  return takeBackClaim(tx, claim);
}

/** Records that the call leaves now. Returns false when a later try has the step: the call must not leave then. May be repeated. */
export function markInFlight(tx: TenantTransaction, step: StepOfCall, call: CallInFlight): Promise<boolean> {
  return writeInFlight(tx, step, call);
}

/** A try of a model step that produced no result, and what it may have cost. */
export interface EndedTry {
  /** As the try has read it. */
  readonly run: RunState;
  readonly step: number;
  readonly attempt: number;
  /** Null: nothing. */
  readonly usage: ModelUsage | null;
  /** The key of the try's budget holds; null: it was not counted. */
  readonly holdKey: string | null;
}

/** Ends a failed try: records the cause in its step and its cost in the ledger. */
export async function endFailedTry(
  tx: TenantTransaction,
  tried: EndedTry,
  why: Pick<FailedTry, 'cause' | 'error' | 'delayMs'>,
): Promise<void> {
  const runs = await lockTried(tx, tried);
  await recordFailedTry(tx, { runId: runs.run.id, step: tried.step, attempt: tried.attempt, ...why });
  await account(tx, runs, tried);
}

/** Settles a try without recording a cause, since its run ends. */
export async function settleTry(tx: TenantTransaction, tried: EndedTry): Promise<void> {
  await account(tx, await lockTried(tx, tried), tried);
}

/** Settles a try whose step another try has taken, and records that it was not lost: its worker lives. */
export async function yieldTry(tx: TenantTransaction, tried: EndedTry): Promise<void> {
  const runs = await lockTried(tx, tried);
  await recordAlive(tx, { runId: runs.run.id, step: tried.step, toolCallId: null, attempt: tried.attempt });
  await account(tx, runs, tried);
}

/** A run that was purged meanwhile still has its cost recorded: the ledger outlives the run and takes its identity from what the try has read. */
async function lockTried(tx: TenantTransaction, { run }: EndedTry): Promise<RunWithAncestors> {
  return (await lockRunWithAncestors(tx, run.id)) ?? { run, ancestors: [] };
}

/** Records the cost of the try in the ledger; a try without cost releases its hold. */
async function account(tx: TenantTransaction, runs: RunWithAncestors, { run, step, attempt, usage, holdKey }: EndedTry): Promise<void> {
  await endFlight(tx, { runId: run.id, step, attempt });
  if (usage !== null) await settleStepUsage(tx, runs, { step, attempt, usage });
  else if (holdKey !== null) await releaseHold(tx, holdKey);
}

/** A try of a model step or of a call that was considered lost. */
export interface TakenTry {
  readonly runId: string;
  readonly step: number;
  /** Null: the model step. */
  readonly toolCallId: string | null;
  readonly attempt: number;
}

/** Records that the worker of a try considered lost is alive, so that the try no longer counts as lost. Changes nothing when it did not count as lost. */
export async function recordAlive(tx: TenantTransaction, { runId, step, toolCallId, attempt }: TakenTry): Promise<void> {
  await correctRetry(tx, { runId, step, toolCallId }, { from: lost(attempt), to: { error_code: workerFrozen } });
}

function lost(attempt: number): LostRetry {
  return { attempt, cause: 'worker_lost', error_code: null };
}

/** Records why a try failed, for the next try's notice and for counting tries by cause. Changes nothing when a later try has the step. */
async function recordFailedTry(tx: TenantTransaction, failed: FailedTry): Promise<void> {
  const retry: StepRetry = {
    attempt: failed.attempt,
    cause: failed.cause,
    error_code: failed.error.code,
    at: followedTime(tx.em).toISOString(),
    delay_ms: failed.delayMs,
  };
  await writeFailedTry(tx, failed, retry);
}
