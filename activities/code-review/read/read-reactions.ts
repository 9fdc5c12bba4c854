import { cancellationSignal } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { reactionsDue, type ReactionsDue } from '../../../db/code-review/posts/read-posts.ts';
import { keepReactions, type ReadReactions } from '../../../domain/code-review/reactions.ts';
import { listComments } from '../../../ports/github/reviews.ts';
import { Failure } from '../../../workflows/contracts/failure.ts';
import type { PullRequestInput } from '../../../workflows/contracts/review/pull-requests.ts';
import type { ActivityDeps } from '../../deps.ts';
import { readAsSystem, transactAsSystem } from '../../support/as-system.ts';
import { clientOf } from '../host/command-posts.ts';
import { onHost } from '../host/host-failure.ts';

/**
 * Reads the reactions to the comments of a closed pull request, when they are due, and stores them with the findings. When the host is unavailable now, the row
 * makes it ask again later; nothing else of the pull request waits for it. A host that will never answer is left alone.
 */
export async function readReactions(deps: ActivityDeps, input: PullRequestInput): Promise<void> {
  const due = await readAsSystem(deps, (tx) => reactionsDue(tx, input));
  if (due === null) return;
  const read = await ask(deps, input, due);
  await transactAsSystem(deps, (tx) => keepReactions(tx, due.pullRequestId, read));
}

const none = { kind: 'known', comments: [] } as const;

async function ask(deps: ActivityDeps, { bindingId, pullNumber }: PullRequestInput, { hasComments }: ReactionsDue): Promise<ReadReactions> {
  if (!hasComments) return none;
  try {
    const client = await clientOf(deps, bindingId);
    if (client === null) return none;
    return { kind: 'known', comments: await onHost(() => listComments(client, pullNumber, cancellationSignal())) };
  } catch (error) {
    const isLater = error instanceof Failure && error.code === 'upstream_failed';
    if (!isLater && !(error instanceof ApplicationFailure)) throw error;
    deps.log.warn({ err: error, binding_id: bindingId, pull_number: pullNumber }, 'reactions could not be read');
    return isLater ? { kind: 'unknown' } : none;
  }
}
