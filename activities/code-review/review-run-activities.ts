import { dropAnswers } from '../../db/code-review/answers.ts';
import { closeCap } from '../../db/billing/caps.ts';
import { runCapKey } from '../../db/billing/cap-keys.ts';
import { finishReview } from '../../domain/code-review/finish-review.ts';
import type { ReviewRunActivities } from '../../workflows/contracts/review-runs.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAsRun } from '../runs/as-run.ts';
import { transactAsSystem } from '../support/as-system.ts';
import { runCancelled } from '../support/failures.ts';
import { askStages } from './ask-stages.ts';
import { fetchDiff } from './fetch-diff.ts';
import { nextCalls } from './next-calls.ts';

/** Activities of `codeReviewRun`, in the signed tenant of the workflow. Rows say what is done, so that each may be cut off anywhere and repeated. */
export function createReviewRunActivities(deps: ActivityDeps): ReviewRunActivities {
  return {
    fetchDiff: (input) => fetchDiff(deps, input),
    nextCalls: ({ runId }) => nextCalls(deps, runId),
    askStages: (input) => askStages(deps, input),
    async finishReview(input) {
      if (!(await transactAsRun(deps, input.runId, (tx) => finishReview(tx, input)))) throw runCancelled();
    },
    endReview: ({ runId }) =>
      transactAsSystem(deps, async (tx) => {
        await dropAnswers(tx, runId);
        await closeCap(tx, runCapKey(runId));
      }),
  };
}
