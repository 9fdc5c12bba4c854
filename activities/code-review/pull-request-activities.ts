import { applyBinding } from '../../domain/code-review/apply-binding.ts';
import { refuseCommand } from '../../domain/code-review/obey-command.ts';
import { applyEvents, openReviewRun } from '../../domain/code-review/apply-events.ts';
import type { BindingActivities, PullRequestActivities } from '../../workflows/contracts/review/pull-requests.ts';
import type { FinishRunInput } from '../../workflows/contracts/runs/agent-run.ts';
import { liveRun } from '../../db/code-review/pulls/review-run.ts';
import type { ActivityDeps } from '../deps.ts';
import { readAsSystem, transactAsSystem } from '../support/as-system.ts';
import { reactToCommand, replyToCommand, settlePullThreads } from './host/command-posts.ts';
import { readReactions } from './read/read-reactions.ts';
import { takeCommand } from './host/take-command.ts';

/** Ends a run by its row. */
type Finish = (input: FinishRunInput) => Promise<unknown>;

/** The activities of pull requests and bindings. Rows record what has arrived and what is done, so each activity may be repeated on any worker. */
export function createPullRequestActivities(deps: ActivityDeps, finish: Finish): PullRequestActivities & BindingActivities {
  const currency = deps.env.billingCurrency;
  return {
    applyEvent: (input) => transactAsSystem(deps, (tx) => applyEvents(tx, { ...input, currency })),
    openReviewRun: (input) => transactAsSystem(deps, (tx) => openReviewRun(tx, { ...input, currency })),
    takeCommand: (input) => takeCommand(deps, input),
    dropCommand: ({ commandId }) => transactAsSystem(deps, (tx) => refuseCommand(tx, commandId, 'host_lost')),
    reactToCommand: (input) => reactToCommand(deps, input),
    replyToCommand: (input) => replyToCommand(deps, input),
    settlePullThreads: (input) => settlePullThreads(deps, input),
    readReactions: (input) => readReactions(deps, input),
    async endReviewRun({ runId }) {
      const live = await readAsSystem(deps, (tx) => liveRun(tx, runId));
      if (live === null) return;
      if (live.status === 'cancelling') await finish({ runId, reason: 'cancelled' });
      else
        await finish({
          runId,
          reason: 'error',
          error: { code: 'internal_error', message: 'The run was lost and could not be continued.', reason: 'workflow_closed' },
        });
    },
    applyBinding: ({ bindingId }) => transactAsSystem(deps, (tx) => applyBinding(tx, bindingId)),
  };
}
