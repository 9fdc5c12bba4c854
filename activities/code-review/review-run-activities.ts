import { finishReview } from '../../domain/code-review/finish-review.ts';
import { endRunWork } from '../../domain/code-review/run-work.ts';
import type { ReviewRunActivities } from '../../workflows/contracts/review/review-runs.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAsRun } from '../runs/as-run.ts';
import { transactAsSystem } from '../support/as-system.ts';
import { runCancelled } from '../support/failures.ts';
import { askStages } from './stages/ask-stage.ts';
import { abandonCheck, concludeCheck, openCheck } from './host/checks.ts';
import { fetchDiff } from './read/fetch-diff.ts';
import { nextCalls } from './stages/next-calls.ts';
import { postAnswer } from './stages/post-answer.ts';
import { postReview } from './host/post-review.ts';
import { asSystemStep } from './system-step.ts';
import { settleThreads } from './host/threads.ts';

/** Activities of `codeReviewRun`, in the signed tenant of the workflow. Rows record what is done, so each may be interrupted at any point and repeated. */
export function createReviewRunActivities(deps: ActivityDeps): ReviewRunActivities {
  return {
    fetchDiff: (input) => fetchDiff(deps, input),
    nextCalls: ({ runId }) => nextCalls(deps, runId),
    askStages: (input) => askStages(deps, input),
    openCheck: (input) => asSystemStep(deps, { ...input, name: 'Open the check' }, () => openCheck(deps, input)),
    postReview: (input) => asSystemStep(deps, { ...input, name: 'Post the review' }, () => postReview(deps, input)),
    postAnswer: (input) => asSystemStep(deps, { ...input, name: 'Post the answer' }, () => postAnswer(deps, input)),
    settleThreads: (input) => asSystemStep(deps, { ...input, name: 'Settle threads' }, () => settleThreads(deps, input)),
    concludeCheck: (input) => asSystemStep(deps, { ...input, name: 'Conclude the check' }, () => concludeCheck(deps, input)),
    abandonCheck: (input) => abandonCheck(deps, input),
    async finishReview(input) {
      if (!(await transactAsRun(deps, input.runId, (tx) => finishReview(tx, input)))) throw runCancelled();
    },
    endReview: ({ runId }) => transactAsSystem(deps, (tx) => endRunWork(tx, runId)),
  };
}
