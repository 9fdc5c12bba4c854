import type { RepositoryClient } from './client.ts';
import type { HostText } from './reviews.ts';

/** Where a reply goes: below a comment on code, or to the pull request itself. */
export interface ReplyPlace {
  readonly pullNumber: number;
  /** Id of the comment that begins the thread; null: to the pull request. */
  readonly inReplyTo: number | null;
}

/** A comment that people have written: in the conversation (`issue`) or on code (`review`). */
export interface CommentRef {
  readonly kind: 'issue' | 'review';
  readonly id: number;
}

const pageSize = 100;
const maxPages = 10;

/** Writes a comment and returns its id. Throws HostError. */
export async function reply(
  client: RepositoryClient,
  { pullNumber, inReplyTo, body }: ReplyPlace & { readonly body: string },
  signal: AbortSignal,
): Promise<number> {
  if (inReplyTo === null) {
    const parameters = { issue_number: pullNumber, body };
    const { data } = await client.rest('POST /repos/{owner}/{repo}/issues/{issue_number}/comments', parameters, { signal });
    return Number(data.id);
  }
  const parameters = { pull_number: pullNumber, comment_id: inReplyTo, body };
  const { data } = await client.rest('POST /repos/{owner}/{repo}/pulls/{pull_number}/comments/{comment_id}/replies', parameters, {
    signal,
  });
  return Number(data.id);
}

/** Returns the comments in a place since a time, oldest first; the caller checks their authors. Throws HostError. */
export async function repliesSince(
  client: RepositoryClient,
  { pullNumber, inReplyTo, since }: ReplyPlace & { readonly since: Date },
  signal: AbortSignal,
): Promise<HostText[]> {
  const all: HostText[] = [];
  for (let page = 1; page <= maxPages; page += 1) {
    const asked = { per_page: pageSize, page, since: since.toISOString() };
    const found =
      inReplyTo === null
        ? await inConversation(client, { ...asked, issue_number: pullNumber }, signal)
        : await onCode(client, { ...asked, pull_number: pullNumber }, signal);
    all.push(...found);
    if (found.length < pageSize) break;
  }
  return all;
}

type Page = { readonly per_page: number; readonly page: number; readonly since: string };

async function inConversation(
  client: RepositoryClient,
  parameters: Page & { readonly issue_number: number },
  signal: AbortSignal,
): Promise<HostText[]> {
  const { data } = await client.rest('GET /repos/{owner}/{repo}/issues/{issue_number}/comments', parameters, { signal });
  return data.map(({ id, body, user }) => ({ id: Number(id), body: body ?? '', author: user?.login ?? '' }));
}

async function onCode(
  client: RepositoryClient,
  parameters: Page & { readonly pull_number: number },
  signal: AbortSignal,
): Promise<HostText[]> {
  const { data } = await client.rest('GET /repos/{owner}/{repo}/pulls/{pull_number}/comments', parameters, { signal });
  return data.map(({ id, body, user }) => ({ id: Number(id), body, author: user?.login ?? '' }));
}

/** Reacts to a comment as the App; repeating the reaction changes nothing. Returns its id. Throws HostError. */
export async function react(
  client: RepositoryClient,
  { kind, id }: CommentRef,
  content: 'eyes' | '+1' | 'confused',
  signal: AbortSignal,
): Promise<number> {
  const parameters = { comment_id: id, content };
  const { data } =
    kind === 'issue'
      ? await client.rest('POST /repos/{owner}/{repo}/issues/comments/{comment_id}/reactions', parameters, { signal })
      : await client.rest('POST /repos/{owner}/{repo}/pulls/comments/{comment_id}/reactions', parameters, { signal });
  return Number(data.id);
}
