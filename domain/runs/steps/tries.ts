import type { ModelUsage } from '../../../db/billing/ledger/usage.ts';
import { followedTime } from '../../../db/database-clock.ts';
import { endFlight, writeInFlight, type CallInFlight, type StepOfCall } from '../../../db/runs/calls/call-in-flight.ts';
import { lockRunWithAncestors, type RunState } from '../../../db/runs/run-state.ts';
import type { StepRetry } from '../../../db/runs/run-types.ts';
import { stoodStill } from '../../../db/runs/steps/retries.ts';
import { correctRetry, takeBackClaim, writeFailedTry, type FailedTry, type LostRetry } from '../../../db/runs/steps/step-tries.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { releaseHold } from '../../billing/holds.ts';
import { settleStepUsage, type RunWithAncestors } from './step-usage.ts';

/**
 * Takes back the claim of a try that has called nothing and said nothing: the next one has its number again and nothing is told of it. False:
 * a later try has the step. May be repeated: a commit whose answer was lost has done it.
 */
export function unclaimStep(
  tx: TenantTransaction,
  claim: { readonly runId: string; readonly step: number; readonly attempt: number },
): Promise<boolean> {
  return takeBackClaim(tx, claim);
}

/** Says that the call leaves now. False: a later try has the step, and it must not leave. May be repeated. */
export function markInFlight(tx: TenantTransaction, step: StepOfCall, call: CallInFlight): Promise<boolean> {
  return writeInFlight(tx, step, call);
}

/** A try of a model step that came to nothing, and what it may have cost. */
export interface EndedTry {
  /** As the try has read it. */
  readonly run: RunState;
  readonly step: number;
  readonly attempt: number;
  /** Null: nothing. */
  readonly usage: ModelUsage | null;
  /** The key of what it holds of budgets; null: it was not counted. */
  readonly holdKey: string | null;
}

/** Ends a try that has failed: why it did goes into its step, and what it has cost into the ledger. */
export async function endFailedTry(
  tx: TenantTransaction,
  tried: EndedTry,
  why: Pick<FailedTry, 'cause' | 'fault' | 'delayMs'>,
): Promise<void> {
  const runs = await lockTried(tx, tried);
  await recordFailedTry(tx, { runId: runs.run.id, step: tried.step, attempt: tried.attempt, ...why });
  await account(tx, runs, tried);
}

/** The same for a try of which nobody has to be told, since its run ends. */
export async function settleTry(tx: TenantTransaction, tried: EndedTry): Promise<void> {
  await account(tx, await lockTried(tx, tried), tried);
}

/** Another try has the step. This one has cost what it has, and it is no lost one: its worker lives. */
export async function yieldTry(tx: TenantTransaction, tried: EndedTry): Promise<void> {
  const runs = await lockTried(tx, tried);
  await sayAlive(tx, { runId: runs.run.id, step: tried.step, toolCallId: null, attempt: tried.attempt });
  await account(tx, runs, tried);
}

/** A run that was purged meanwhile has cost all the same: the ledger, which outlives it, knows it by what the try has read. */
async function lockTried(tx: TenantTransaction, { run }: EndedTry): Promise<RunWithAncestors> {
  return (await lockRunWithAncestors(tx, run.id)) ?? { run, ancestors: [] };
}

/** What the try has cost goes into the ledger; one that cost nothing gives back what it holds. */
async function account(tx: TenantTransaction, runs: RunWithAncestors, { run, step, attempt, usage, holdKey }: EndedTry): Promise<void> {
  await endFlight(tx, { runId: run.id, step, attempt });
  if (usage !== null) await settleStepUsage(tx, runs, { step, attempt, usage });
  else if (holdKey !== null) await releaseHold(tx, holdKey);
}

/** A try of a model step or of a call that was taken for lost. */
export interface TakenTry {
  readonly runId: string;
  readonly step: number;
  /** Null: the model's. */
  readonly toolCallId: string | null;
  readonly attempt: number;
}

/** A try that was taken for lost says that its worker lives: it is no lost one then. Nothing where it was not. */
export async function sayAlive(tx: TenantTransaction, { runId, step, toolCallId, attempt }: TakenTry): Promise<void> {
  await correctRetry(tx, { runId, step, toolCallId }, { from: lost(attempt), to: { error_code: stoodStill } });
}

function lost(attempt: number): LostRetry {
  return { attempt, cause: 'worker_lost', error_code: null };
}

/** Records why a try failed, so that the next one can say it and tries are counted by cause. Nothing where a later try has the step. */
async function recordFailedTry(tx: TenantTransaction, failed: FailedTry): Promise<void> {
  const retry: StepRetry = {
    attempt: failed.attempt,
    cause: failed.cause,
    error_code: failed.fault.code,
    at: followedTime(tx.em).toISOString(),
    delay_ms: failed.delayMs,
  };
  await writeFailedTry(tx, failed, retry);
}
