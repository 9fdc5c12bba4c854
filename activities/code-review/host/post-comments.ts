import { cancellationSignal } from '@temporalio/activity';
import type { PostPlace } from '../../../db/code-review/posts/posts.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { runMarker, readFindingMarker, readRunMarker } from '../../../domain/code-review/pipeline/markers.ts';
import { cutBody, type CommentText } from '../../../domain/code-review/pipeline/comment-text.ts';
import { batchesOf, type CommentBatch } from '../../../domain/code-review/posting/batches.ts';
import type { RepositoryClient } from '../../../ports/github/client.ts';
import { HostError } from '../../../ports/github/host-error.ts';
import { commentOnFile, commentsOfReview, createReview, listComments, listReviews, type NewReview } from '../../../ports/github/reviews.ts';
import type { ActivityDeps } from '../../deps.ts';
import { refusedText, splitByHost } from './host-anchors.ts';
import { postOnce } from './post-once.ts';

/** Comments of a run or command on a pull request, as reviews of the host. */
export interface CommentsToPost {
  readonly place: PostPlace;
  /** The run or command that posts them. */
  readonly ownerId: string;
  readonly bindingId: string;
  readonly client: RepositoryClient;
  readonly pullNumber: number;
  /** The head that the comments' lines refer to. */
  readonly commitSha: string;
  readonly comments: readonly CommentText[];
  /** Text of the first review; null: it has none. */
  readonly body: string | null;
  readonly event?: 'COMMENT' | 'REQUEST_CHANGES';
  /** Writes more rows in the transaction that records a review, or a comment on a file, as posted. */
  readonly keep?: (tx: TenantTransaction, posted: PostedComments) => Promise<void>;
}

export interface PostedComments {
  /** Null: it is a comment on a file, which the host puts into a review of its own. */
  readonly reviewId: number | null;
  /** Whether this review holds `body`. */
  readonly hasBody: boolean;
  readonly comments: readonly { readonly fingerprint: string; readonly commentId: number }[];
}

/**
 * Posts comments, each once: up to 30 per review, those on whole files one by one. A body without comments is also a review. Returns the ids of the reviews.
 * Posts of an interrupted attempt are found again at the host by the markers of our App.
 */
export async function postComments(deps: ActivityDeps, toPost: CommentsToPost): Promise<{ readonly reviewIds: readonly number[] }> {
  const { batches, onFiles } = batchesOf(toPost.comments, { hasBody: toPost.body !== null });
  const reviewIds: number[] = [];
  for (const batch of batches) reviewIds.push(await postBatch(deps, toPost, batch));
  for (const { ordinal, comment } of onFiles) await postOnFile(deps, toPost, { ordinal, comment });
  return { reviewIds };
}

async function postBatch(deps: ActivityDeps, toPost: CommentsToPost, { ordinal, comments }: CommentBatch): Promise<number> {
  const { client, pullNumber, ownerId, bindingId } = toPost;
  const signal = cancellationSignal();
  const text = ordinal === 0 ? toPost.body : null;
  return postOnce(deps, {
    place: toPost.place,
    key: { ownerId, kind: 'review', ordinal },
    find: async () => {
      const { login } = await client.self(signal);
      const found = (await listReviews(client, pullNumber, signal)).find(
        ({ author, body }) => author === login && carries(body, ownerId, ordinal),
      );
      return found?.id ?? null;
    },
    send: () => sendBatch(toPost, { ordinal, comments, text }),
    // Outside the transaction: it calls the host.
    prepare: async (reviewId) => {
      const made = comments.length === 0 ? [] : await commentsOfReview(client, { pullNumber, reviewId }, signal);
      const marked = made.flatMap(({ id, body }) => {
        const fingerprint = readFindingMarker(body, bindingId);
        return fingerprint === null ? [] : [{ fingerprint, commentId: id }];
      });
      return (tx) => toPost.keep?.(tx, { reviewId, hasBody: text !== null, comments: marked });
    },
  });
}

interface BatchToSend extends CommentBatch {
  readonly text: string | null;
}

/** Sends a review. Comments that the host does not accept at their lines are listed in its body. */
async function sendBatch(toPost: CommentsToPost, batch: BatchToSend): Promise<number> {
  const { client, pullNumber } = toPost;
  const signal = cancellationSignal();
  try {
    return await createReview(client, reviewOf(toPost, batch), signal);
  } catch (error) {
    if (!(error instanceof HostError && error.kind === 'invalid') || batch.comments.length === 0) throw error;
    const { taken, refused } = await splitByHost(client, { pullNumber, comments: batch.comments }, signal);
    if (refused.length === 0) throw error;
    const text = [...(batch.text === null ? [] : [batch.text]), refusedText(refused)].join('\n\n');
    return createReview(client, reviewOf(toPost, { ...batch, comments: taken, text: cutBody(text) }), signal);
  }
}

function reviewOf(
  { ownerId, pullNumber, commitSha, event = 'COMMENT' }: CommentsToPost,
  { ordinal, comments, text }: BatchToSend,
): NewReview {
  const marker = runMarker(ownerId, ordinal);
  return {
    pullNumber,
    commitSha,
    event: ordinal === 0 ? event : 'COMMENT',
    body: text === null ? marker : `${text}\n\n${marker}`,
    comments: comments.map(({ path, side, lines, body }) => ({ path, side, ...lines, body })),
  };
}

/** The host has no comments on files in a review. */
async function postOnFile(
  deps: ActivityDeps,
  toPost: CommentsToPost,
  { ordinal, comment }: { readonly ordinal: number; readonly comment: CommentText },
): Promise<number> {
  const { client, pullNumber, ownerId, bindingId, commitSha } = toPost;
  const { fingerprint, path, body } = comment;
  const signal = cancellationSignal();
  return postOnce(deps, {
    place: toPost.place,
    key: { ownerId, kind: 'review', ordinal },
    find: async () => {
      const { login } = await client.self(signal);
      const found = (await listComments(client, pullNumber, signal)).find(
        (each) => each.author === login && each.inReplyTo === null && readFindingMarker(each.body, bindingId) === fingerprint,
      );
      return found?.id ?? null;
    },
    send: () => commentOnFile(client, { pullNumber, commitSha, path, body }, signal),
    prepare: async (commentId) => (tx) => toPost.keep?.(tx, { reviewId: null, hasBody: false, comments: [{ fingerprint, commentId }] }),
  });
}

function carries(body: string, ownerId: string, ordinal: number): boolean {
  const marker = readRunMarker(body);
  return marker?.runId === ownerId && marker.ordinal === ordinal;
}
