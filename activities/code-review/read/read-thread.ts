import { cancellationSignal } from '@temporalio/activity';
import { readCommandPost } from '../../../db/code-review/posts/command-posts.ts';
import type { ReviewRun } from '../../../db/code-review/pulls/review-run.ts';
import { threadText } from '../../../domain/code-review/pipeline/thread-text.ts';
import type { RepositoryClient } from '../../../ports/github/client.ts';
import { repliesSince } from '../../../ports/github/replies.ts';
import { listComments, type HostText } from '../../../ports/github/reviews.ts';
import type { ActivityDeps } from '../../deps.ts';
import { readAsSystem } from '../../support/as-system.ts';
import { threadOf } from '../host/command-posts.ts';
import { onHost } from '../host/host-failure.ts';

/**
 * Returns the comments before a question, from its thread or from the conversation of the pull request. Empty for a run that no comment asked for. Host errors
 * are thrown as the workflow's failures.
 */
export async function readThread(deps: ActivityDeps, { review, pull }: ReviewRun, client: RepositoryClient): Promise<string> {
  const { command_id: commandId } = review;
  const command = commandId === null ? null : await readAsSystem(deps, (tx) => readCommandPost(tx, commandId));
  if (command === null) return '';
  const root = threadOf(command);
  const comments = await onHost(() => (root === null ? inConversation(client, pull.pullNumber) : inThread(client, pull.pullNumber, root)));
  return threadText(comments, command.commentId);
}

function inConversation(client: RepositoryClient, pullNumber: number): Promise<HostText[]> {
  return repliesSince(client, { pullNumber, inReplyTo: null, since: new Date(0) }, cancellationSignal());
}

async function inThread(client: RepositoryClient, pullNumber: number, root: number): Promise<HostText[]> {
  const comments = await listComments(client, pullNumber, cancellationSignal());
  return comments.filter(({ id, inReplyTo }) => id === root || inReplyTo === root);
}
