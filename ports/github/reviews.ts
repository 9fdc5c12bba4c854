import type { RepositoryClient } from './client.ts';

/** A comment on lines of a review: GitHub REST API, "Create a review for a pull request", `comments`. */
export interface LineComment {
  readonly path: string;
  readonly side: 'LEFT' | 'RIGHT';
  readonly startLine: number;
  readonly line: number;
  readonly body: string;
}

export interface NewReview {
  readonly pullNumber: number;
  /** The head that was reviewed: anchors are lines of it. */
  readonly commitSha: string;
  readonly event: 'COMMENT' | 'REQUEST_CHANGES';
  /** Required by the host. */
  readonly body: string;
  readonly comments: readonly LineComment[];
}

/** A review or a comment as the host returns it. */
export interface HostText {
  readonly id: number;
  readonly body: string;
  /** Login of the author; empty: the account is deleted. */
  readonly author: string;
}

export interface HostComment extends HostText {
  readonly path: string;
  readonly side: 'LEFT' | 'RIGHT';
  readonly isOnFile: boolean;
  /** Null: it is on the file, or its line has left the diff. */
  readonly line: number | null;
  readonly startLine: number | null;
  /** Null: it begins its thread. */
  readonly inReplyTo: number | null;
  readonly reactionsUp: number;
  readonly reactionsDown: number;
}

const pageSize = 100;
const maxPages = 50;

/** Creates a review with its comments, all or none. Returns its id. Throws HostError: `invalid` when an anchor is not valid. */
export async function createReview(client: RepositoryClient, review: NewReview, signal: AbortSignal): Promise<number> {
  const comments = review.comments.map(({ path, side, startLine, line, body }) => {
    const range = startLine < line ? { start_line: startLine, start_side: side } : {};
    return { path, body, side, line, ...range };
  });
  const parameters = { pull_number: review.pullNumber, commit_id: review.commitSha, event: review.event, body: review.body, comments };
  const { data } = await client.rest('POST /repos/{owner}/{repo}/pulls/{pull_number}/reviews', parameters, { signal });
  return Number(data.id);
}

/** Replaces the body of a review of ours. Throws HostError. */
export async function editReview(
  client: RepositoryClient,
  { pullNumber, reviewId, body }: { readonly pullNumber: number; readonly reviewId: number; readonly body: string },
  signal: AbortSignal,
): Promise<void> {
  const parameters = { pull_number: pullNumber, review_id: reviewId, body };
  await client.rest('PUT /repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}', parameters, { signal });
}

/** All reviews of a pull request, oldest first. Throws HostError. */
export async function listReviews(client: RepositoryClient, pullNumber: number, signal: AbortSignal): Promise<HostText[]> {
  return allPages(async (page) => {
    const parameters = { pull_number: pullNumber, per_page: pageSize, page };
    const { data } = await client.rest('GET /repos/{owner}/{repo}/pulls/{pull_number}/reviews', parameters, { signal });
    return data.map(({ id, body, user }) => ({ id: Number(id), body, author: user?.login ?? '' }));
  });
}

/** Returns the comments that a review was created with. Throws HostError. */
export async function commentsOfReview(
  client: RepositoryClient,
  { pullNumber, reviewId }: { readonly pullNumber: number; readonly reviewId: number },
  signal: AbortSignal,
): Promise<HostText[]> {
  return allPages(async (page) => {
    const parameters = { pull_number: pullNumber, review_id: reviewId, per_page: pageSize, page };
    const { data } = await client.rest('GET /repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}/comments', parameters, {
      signal,
    });
    return data.map(({ id, body, user }) => ({ id: Number(id), body, author: user?.login ?? '' }));
  });
}

/** Returns all code comments of a pull request, with replies, oldest first. Throws HostError. */
export async function listComments(client: RepositoryClient, pullNumber: number, signal: AbortSignal): Promise<HostComment[]> {
  return allPages(async (page) => {
    const parameters = { pull_number: pullNumber, per_page: pageSize, page };
    const { data } = await client.rest('GET /repos/{owner}/{repo}/pulls/{pull_number}/comments', parameters, { signal });
    return data.map((comment) => ({
      id: Number(comment.id),
      body: comment.body,
      author: comment.user?.login ?? '',
      path: comment.path,
      side: comment.side ?? 'RIGHT',
      isOnFile: comment.subject_type === 'file',
      line: comment.line === undefined || comment.line === null ? null : Number(comment.line),
      startLine: comment.start_line === undefined || comment.start_line === null ? null : Number(comment.start_line),
      inReplyTo: comment.in_reply_to_id === undefined ? null : Number(comment.in_reply_to_id),
      reactionsUp: Number(comment.reactions?.['+1'] ?? 0),
      reactionsDown: Number(comment.reactions?.['-1'] ?? 0),
    }));
  });
}

/** Comments on a whole file, which reviews can't do. Returns the id. Throws HostError. */
export async function commentOnFile(
  client: RepositoryClient,
  {
    pullNumber,
    commitSha,
    path,
    body,
  }: { readonly pullNumber: number; readonly commitSha: string; readonly path: string; readonly body: string },
  signal: AbortSignal,
): Promise<number> {
  const parameters = { pull_number: pullNumber, commit_id: commitSha, path, body, subject_type: 'file' as const };
  const { data } = await client.rest('POST /repos/{owner}/{repo}/pulls/{pull_number}/comments', parameters, { signal });
  return Number(data.id);
}

async function allPages<T>(read: (page: number) => Promise<T[]>): Promise<T[]> {
  const all: T[] = [];
  for (let page = 1; page <= maxPages; page += 1) {
    const found = await read(page);
    all.push(...found);
    if (found.length < pageSize) break;
  }
  return all;
}
