import { runCapKey } from '../../db/billing/budgets/cap-keys.ts';
import { closeCap } from '../../db/billing/budgets/caps.ts';
import type { StoredAnswer } from '../../db/code-review/findings/answers.ts';
import { openReviewCaps, type CappedReview } from '../../db/code-review/pulls/review-caps.ts';
import { storeReviewHead } from '../../db/code-review/pulls/pulls.ts';
import { closeSystemStep, openSystemStep, type SystemStep } from '../../db/code-review/pulls/system-steps.ts';
import {
  dropAnswers,
  insertAnswer,
  insertSteps,
  type CallsToPlan,
  type PlannedCallRow,
} from '../../db/code-review/findings/write-answers.ts';
import type { StepError } from '../../db/runs/run-types.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';

/** Stores the result of a run's stage, unless one is stored already. Returns the stored one. */
export function keepAnswer(tx: TenantTransaction, runId: string, answer: StoredAnswer): Promise<unknown> {
  return insertAnswer(tx, runId, answer);
}

/** Assigns each call a step of its own, or the one that it already has if it was planned before. Steps follow each other from `firstStep`. */
export function planSteps(tx: TenantTransaction, runId: string, planned: CallsToPlan): Promise<PlannedCallRow[]> {
  return insertSteps(tx, runId, planned);
}

/** Stores the head that a run reviews. */
export function recordReviewHead(tx: TenantTransaction, runId: string, headSha: string): Promise<void> {
  return storeReviewHead(tx, runId, headSha);
}

/** Opens a step that is no call of a model, again if it was open or has failed. Returns false when the run takes no more steps. */
export function openStep(tx: TenantTransaction, step: SystemStep): Promise<boolean> {
  return openSystemStep(tx, step);
}

/** Ends such a step, successfully or with a fault; a step that was closed by its run's end stays as it is. */
export function closeStep(tx: TenantTransaction, step: Pick<SystemStep, 'runId' | 'step'>, fault: StepError | null): Promise<void> {
  return closeSystemStep(tx, step, fault);
}

/** Opens the caps that a binding sets for a review, with the current limits, and returns whether they and the workspace's own budgets have room left. */
export function openBudgetCaps(tx: TenantTransaction, run: CappedReview, currency: string): Promise<boolean> {
  return openReviewCaps(tx, run, currency);
}

/** Drops the stored answers of a run that has ended, and closes its cap. */
export async function endRunWork(tx: TenantTransaction, runId: string): Promise<void> {
  await dropAnswers(tx, runId);
  await closeCap(tx, runCapKey(runId));
}
