import type { PlannedStageCall } from '../../workflows/contracts/review-runs.ts';
import type { ActivityDeps } from '../deps.ts';
import { askStage } from './ask-stage.ts';
import { readReviewState } from './next-calls.ts';
import { questionOf } from './stage-questions.ts';

/** Makes some calls of a review at once. One that fails does not stop the others; its failure is thrown when they have ended. */
export async function askStages(
  deps: ActivityDeps,
  { runId, calls }: { readonly runId: string; readonly calls: readonly PlannedStageCall[] },
): Promise<void> {
  const state = await readReviewState(deps, runId);
  const asked = calls.map((call) => askStage(deps, { runId, ...call, questionOf: () => questionOf(deps, state, call) }));
  const ended = await Promise.allSettled(asked);
  for (const each of ended) if (each.status === 'rejected') throw each.reason;
}
