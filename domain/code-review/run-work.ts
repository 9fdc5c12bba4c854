import { runCapKey } from '../../db/billing/budgets/cap-keys.ts';
import { closeCap } from '../../db/billing/budgets/caps.ts';
import type { StoredAnswer } from '../../db/code-review/findings/answers.ts';
import { openReviewCaps, type CappedReview } from '../../db/code-review/pulls/review-caps.ts';
import { closeSystemStep, openSystemStep, type SystemStep } from '../../db/code-review/pulls/system-steps.ts';
import {
  dropAnswers,
  insertAnswer,
  insertSteps,
  type CallsToPlan,
  type PlannedCallRow,
} from '../../db/code-review/findings/write-answers.ts';
import type { StepFault } from '../../db/runs/run-types.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';

/** Keeps what a stage of a run has come to; the first that is kept stays. Gives what is kept. */
export function keepAnswer(tx: TenantTransaction, runId: string, answer: StoredAnswer): Promise<unknown> {
  return insertAnswer(tx, runId, answer);
}

/** Gives each of some calls a step of its own, the one that it has if it was planned before. Steps follow each other from `firstStep`. */
export function planSteps(tx: TenantTransaction, runId: string, planned: CallsToPlan): Promise<PlannedCallRow[]> {
  return insertSteps(tx, runId, planned);
}

/** Opens a step that is no call of a model, again if it was open or has failed. False: the run takes no more steps. */
export function openStep(tx: TenantTransaction, step: SystemStep): Promise<boolean> {
  return openSystemStep(tx, step);
}

/** Ends it, well or with a fault; one that its run's end has closed stays as it is. */
export function closeStep(tx: TenantTransaction, step: Pick<SystemStep, 'runId' | 'step'>, fault: StepFault | null): Promise<void> {
  return closeSystemStep(tx, step, fault);
}

/** Opens the caps that a binding sets above a review, with the limits of now, and says whether they and the workspace's own budgets have room left. */
export function openBudgetCaps(tx: TenantTransaction, run: CappedReview, currency: string): Promise<boolean> {
  return openReviewCaps(tx, run, currency);
}

/** Drops what was kept for a run that has ended, and closes its cap. */
export async function endRunWork(tx: TenantTransaction, runId: string): Promise<void> {
  await dropAnswers(tx, runId);
  await closeCap(tx, runCapKey(runId));
}
