import { readAnswer } from '../../../db/code-review/findings/answers.ts';
import { readReviewRun, type ReviewRun } from '../../../db/code-review/pulls/review-run.ts';
import { planAnswer, type PlannedReview, type ReviewPlan } from '../../../domain/code-review/pipeline/plan.ts';
import type { ActivityDeps } from '../../deps.ts';
import { readAsSystem } from '../../support/as-system.ts';
import { runCancelled } from '../../support/failures.ts';

/** Returns a run of code review and what it posts; null: that is not known yet. Throws `run_cancelled` when the run no longer exists. */
export async function readPlan(deps: ActivityDeps, runId: string): Promise<{ readonly run: ReviewRun; readonly plan: ReviewPlan | null }> {
  const run = await readAsSystem(deps, (tx) => readReviewRun(tx, runId));
  if (run === null) throw runCancelled();
  const kept = await readAsSystem(deps, (tx) => readAnswer(tx, runId, planAnswer));
  // Written by this platform's own planning, in this shape.
  return { run, plan: kept as ReviewPlan | null };
}

/** The same for code that posts a review: the plan exists before it is called. */
export async function readPlannedReview(
  deps: ActivityDeps,
  runId: string,
): Promise<{ readonly run: ReviewRun; readonly plan: PlannedReview }> {
  const { run, plan } = await readPlan(deps, runId);
  if (plan?.kind !== 'review') throw new Error('the run has no plan of a review');
  return { run, plan };
}
