import { cancellationSignal } from '@temporalio/activity';
import { readCommented } from '../../../db/code-review/posts/read-posts.ts';
import { codeSpan } from '../../../domain/code-review/pipeline/comment-text.ts';
import type { RepositoryClient } from '../../../ports/github/client.ts';
import { listThreads, minimizeComment, reopenThread, resolveThread, type HostThread } from '../../../ports/github/threads.ts';
import type { ActivityDeps } from '../../deps.ts';
import { readAsSystem } from '../../support/as-system.ts';
import { onHost } from './host-failure.ts';
import { openRepository } from '../read/open-repository.ts';
import { postReply } from './post-reply.ts';
import { readPlannedReview } from '../read/read-plan.ts';
import { ApplicationFailure } from '@temporalio/common';

/**
 * Updates the threads of a pull request from what a review has found: the thread of a fixed finding gets one reply and is resolved, the comment of one that
 * left the diff is minimized, the thread of one that is back is reopened. The state of each is compared first. A thread that the host does not let us change is
 * left as it is: no review fails because of it.
 */
export async function settleThreads(deps: ActivityDeps, { runId }: { readonly runId: string }): Promise<void> {
  const { run, plan } = await readPlannedReview(deps, runId);
  const { fixed, outdated, back } = plan.conclusion;
  if (fixed.length + outdated.length + back.length === 0) return;

  const commented = await readAsSystem(deps, (tx) => readCommented(tx, run.pull.id));
  const client = await openRepository(deps, run);
  const { pullNumber } = run.pull;
  const threads = await onHost(() => listThreads(client, pullNumber, cancellationSignal()));
  const threadOf = (commentId: number) => threads.find((thread) => thread.commentId === commentId);

  for (const { commentId } of commented.filter(({ fingerprint }) => back.includes(fingerprint)))
    await softly(deps, () => reopen(client, threadOf(commentId)));
  for (const { commentId } of commented.filter(({ id }) => outdated.includes(id)))
    await softly(deps, () => fold(client, threadOf(commentId)));
  for (const { id, commentId } of commented.filter((finding) => fixed.includes(finding.id))) {
    const text = `Fixed at ${codeSpan(plan.headSha.slice(0, 10))}.`;
    const reply = { place: run, ownerId: runId, ordinal: fixed.indexOf(id), client, pullNumber, inReplyTo: commentId, text };
    await softly(deps, () => postReply(deps, reply));
    await softly(deps, () => resolveOpen(client, threadOf(commentId)));
  }
}

async function reopen(client: RepositoryClient, thread: HostThread | undefined): Promise<void> {
  if (thread?.isResolved) await onHost(() => reopenThread(client, thread.id, cancellationSignal()));
}

/** Resolves a thread that is not resolved yet. */
export async function resolveOpen(client: RepositoryClient, thread: HostThread | undefined): Promise<void> {
  if (thread && !thread.isResolved) await onHost(() => resolveThread(client, thread.id, cancellationSignal()));
}

async function fold(client: RepositoryClient, thread: HostThread | undefined): Promise<void> {
  if (thread && !thread.isMinimized) await onHost(() => minimizeComment(client, thread.commentNodeId, cancellationSignal()));
}

/** Runs work that its caller can do without: a final failure is logged and ignored; a failure that may pass is thrown. */
export async function softly(deps: Pick<ActivityDeps, 'log'>, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof ApplicationFailure) || error.nonRetryable !== true) throw error;
    deps.log.warn({ reason: error.type, detail: error.message }, 'post at the host left out');
  }
}
