import { finishReview } from '../../domain/code-review/finish-review.ts';
import { endRunWork } from '../../domain/code-review/run-work.ts';
import type { ReviewRunActivities } from '../../workflows/contracts/review/review-runs.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAsRun } from '../runs/as-run.ts';
import { transactAsSystem, readAsSystem } from '../support/as-system.ts';
import { runCancelled } from '../support/failures.ts';
import { askStages } from './stages/ask-stage.ts';
import { abandonCheck, concludeCheck, openCheck } from './host/checks.ts';
import { fetchDiff } from './read/fetch-diff.ts';
import { nextCalls } from './stages/next-calls.ts';
import { postReview } from './host/post-review.ts';
import { asSystemStep } from './system-step.ts';
import { settleThreads } from './host/threads.ts';
import { readCommandPost } from '../../db/code-review/posts/command-posts.ts';
import { openRepository } from './read/open-repository.ts';
import { postReply } from './host/post-reply.ts';
import { readPlan } from './read/read-plan.ts';
import { threadOf } from './host/command-posts.ts';

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

/** Posts a run's answer to a question, or the report of a repair, once: below the command that asked, otherwise in the conversation of the pull request. */
async function postAnswer(deps: ActivityDeps, { runId }: { readonly runId: string }): Promise<void> {
  const { run, plan } = await readPlan(deps, runId);
  if (plan === null || plan.kind === 'review' || plan.text.trim() === '') return;
  const { command_id: commandId } = run.review;
  const command = commandId === null ? null : await readAsSystem(deps, (tx) => readCommandPost(tx, commandId));
  const client = await openRepository(deps, run);
  const inReplyTo = command === null ? null : threadOf(command);
  await postReply(deps, { place: run, ownerId: runId, ordinal: 0, client, pullNumber: run.pull.pullNumber, inReplyTo, text: plan.text });
}
