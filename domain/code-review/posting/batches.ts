import type { CommentText } from '../pipeline/comment-text.ts';

/** A comment on lines. */
export interface LineCommentText extends CommentText {
  readonly lines: NonNullable<CommentText['lines']>;
}

/** Comments that go to the host in one request. */
export interface CommentBatch {
  readonly ordinal: number;
  readonly comments: readonly LineCommentText[];
}

/** The most comments of one review: GitHub accepts more, but times out on many. */
const maxComments = 30;
/** Ordinals of comments on files follow those of reviews. */
const firstOnFile = 1_000;

/**
 * Returns what a run posts, in the same order on each attempt: reviews of up to 30 comments on lines, and comments on files. Without comments on lines a body
 * makes a review.
 */
export function batchesOf(
  comments: readonly CommentText[],
  { hasBody }: { readonly hasBody: boolean },
): { readonly batches: readonly CommentBatch[]; readonly onFiles: readonly { readonly ordinal: number; readonly comment: CommentText }[] } {
  const onLines = comments.flatMap((comment): LineCommentText[] => (comment.lines === null ? [] : [{ ...comment, lines: comment.lines }]));
  const count = Math.max(Math.ceil(onLines.length / maxComments), hasBody ? 1 : 0);
  const batches = Array.from({ length: count }, (_, ordinal) => ({
    ordinal,
    comments: onLines.slice(ordinal * maxComments, (ordinal + 1) * maxComments),
  }));
  const onFiles = comments.filter(({ lines }) => lines === null).map((comment, at) => ({ ordinal: firstOnFile + at, comment }));
  return { batches, onFiles };
}
