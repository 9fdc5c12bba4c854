import { followedTime } from '../../db/database-clock.ts';
import { evaluationCapKey } from '../../db/billing/budgets/cap-keys.ts';
import { closeCap } from '../../db/billing/budgets/caps.ts';
import { endItemsOf, recordWaited, restartEvaluation, wakeEvaluation, type EvaluationPlace } from '../../db/evaluations/run-ended.ts';
import { countResults, liveItemRuns, lockEvaluation, type EvaluationState } from '../../db/evaluations/work.ts';
import { skipRest, writeEvaluation } from '../../db/evaluations/write-work.ts';
import { newId } from '../../db/ids.ts';
import { cancelAll } from '../runs/end/bulk-cancel.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { emitEvent } from '../../db/triggers/events.ts';
import { startItems } from './start-items.ts';

/** Whether an evaluation has ended. */
export function isEnded({ status }: Pick<EvaluationState, 'status'>): boolean {
  return status === 'succeeded' || status === 'failed' || status === 'cancelled';
}

/** Sets a queued evaluation to running. Returns false when it has ended, or no longer exists. */
export async function beginEvaluation(tx: TenantTransaction, id: string): Promise<boolean> {
  const evaluation = await lockEvaluation(tx, id);
  if (evaluation === null || isEnded(evaluation)) return false;
  if (evaluation.status === 'queued') await writeEvaluation(tx, id, { status: 'running' });
  return true;
}

/** What remains to be done: results that wait for scores and running runs, or nothing. */
export type Standing =
  | { readonly state: 'open'; readonly evaluation: EvaluationState; readonly scoring: number; readonly started: number }
  /** `isStopping`: results without an outcome are skipped. */
  | { readonly state: 'over'; readonly isStopping: boolean };

/**
 * Starts runs of items up to the concurrency and returns what remains to be done. A cancel, a budget exceeded by a run or a judge, and a failure that prevents
 * all further runs end the evaluation: the failure is recorded here, and the status follows.
 */
export async function fillEvaluation(tx: TenantTransaction, id: string, currency: string): Promise<Standing> {
  const evaluation = await lockEvaluation(tx, id);
  if (evaluation === null || isEnded(evaluation)) return { state: 'over', isStopping: false };
  if (evaluation.isCancelRequested || evaluation.failureCode !== null) return { state: 'over', isStopping: true };
  await endItemsOf(tx, id);
  const { pending, running, scoring, isBudgetFull } = await countResults(tx, id);
  if (isBudgetFull) return failWith(tx, id, 'budget_exceeded');
  if (pending + running + scoring === 0) return { state: 'over', isStopping: false };

  const limit = Math.min(pending, evaluation.settings.concurrency - running);
  const found = await startItems(tx, evaluation, { limit, currency });
  if ('failureCode' in found) return failWith(tx, id, found.failureCode);
  return { state: 'open', evaluation, scoring, started: found.started };
}

async function failWith(tx: TenantTransaction, id: string, failureCode: string): Promise<Standing> {
  await writeEvaluation(tx, id, { failureCode });
  return { state: 'over', isStopping: true };
}

const cancelsATime = 200;

/**
 * Cancels the remaining runs of an evaluation that stops, and finally skips results without an outcome. `ending`: there are more runs, or some have not ended;
 * while `isPatient`, they are waited for so that their cost counts. Does nothing when the evaluation is ending normally.
 */
export async function stopEvaluation(
  tx: TenantTransaction,
  id: string,
  { isPatient }: { readonly isPatient: boolean },
): Promise<'stopped' | 'ending'> {
  const evaluation = await lockEvaluation(tx, id);
  const reason = evaluation === null ? null : evaluation.isCancelRequested ? 'cancelled' : evaluation.failureCode;
  if (reason === null) return 'stopped';
  const runs = await liveItemRuns(tx, id, cancelsATime);
  if (runs.length > 0) await cancelAll(tx, runs, { policy: 'interrupt', reason: 'evaluation' });
  if (runs.length === cancelsATime) return 'ending';
  await endItemsOf(tx, id);
  if (isPatient && (await countResults(tx, id)).running > 0) return 'ending';
  await skipRest(tx, id, reason);
  return 'stopped';
}

/** Stores the numbers of the results so far; those of an ended evaluation stay. */
export async function recordSummary(tx: TenantTransaction, id: string, summary: Readonly<Record<string, unknown>>): Promise<void> {
  const evaluation = await lockEvaluation(tx, id);
  if (evaluation !== null && !isEnded(evaluation)) await writeEvaluation(tx, id, { summary });
}

/** Records that the result of a run fails because the run waits for a person and is cancelled for that. Does nothing for a run outside of an evaluation. */
export function failWaiting(tx: TenantTransaction, runId: string): Promise<void> {
  return recordWaited(tx, runId);
}

/** The counts that decide the outcome of an evaluation. */
export interface EndCounts {
  readonly results: number;
  readonly errors: number;
}

/** Ends an evaluation with its final summary, once: cancelled if requested, failed by a recorded failure or too many errors, else succeeded. */
export async function finishEvaluation(
  tx: TenantTransaction,
  id: string,
  { summary, counts }: { readonly summary: Readonly<Record<string, unknown>>; readonly counts: EndCounts },
): Promise<void> {
  const evaluation = await lockEvaluation(tx, id);
  if (evaluation === null || isEnded(evaluation)) return;
  const { status, failureCode } = endOf(evaluation, counts);
  await writeEvaluation(tx, id, { status, failureCode, summary });
  await closeCap(tx, evaluationCapKey(id));
  tx.outgoing.measurements.push({ kind: 'evaluation_ended', status, ...counts });
  await emitEvent(tx, {
    organizationId: evaluation.organizationId,
    workspaceId: evaluation.workspaceId,
    eventKind: 'evaluation.finished',
    source: 'platform',
    payload: { evaluation_run_id: id, agent_id: evaluation.agentId, status },
    occurredAt: followedTime(tx.em),
  });
}

function endOf({ isCancelRequested, failureCode, settings }: EvaluationState, { results, errors }: EndCounts) {
  if (isCancelRequested) return { status: 'cancelled', failureCode: null } as const;
  if (failureCode !== null) return { status: 'failed', failureCode } as const;
  if (results > 0 && errors / results > settings.max_error_rate) return { status: 'failed', failureCode: 'error_rate' } as const;
  return { status: 'succeeded', failureCode: null } as const;
}

/**
 * Records that an evaluation is to be cancelled; its workflow carries that out. Returns false when it has ended before. The caller is authorized to cancel it.
 */
export async function requestCancel(tx: TenantTransaction, place: EvaluationPlace): Promise<boolean> {
  const evaluation = await lockEvaluation(tx, place.id);
  if (evaluation === null || isEnded(evaluation)) return false;
  await writeEvaluation(tx, place.id, { isCancelRequested: true });
  await wakeEvaluation(tx, place, 'cancel');
  return true;
}

/** Resumes an evaluation without a workflow. Returns false when it has ended meanwhile. */
export async function resumeEvaluation(tx: TenantTransaction, place: EvaluationPlace): Promise<boolean> {
  const evaluation = await lockEvaluation(tx, place.id);
  if (evaluation === null || isEnded(evaluation)) return false;
  await restartEvaluation(tx, place, `lost:${newId()}`);
  return true;
}
