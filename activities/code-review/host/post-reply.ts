import { cancellationSignal } from '@temporalio/activity';
import type { PostPlace } from '../../../db/code-review/posts/posts.ts';
import { cutBody, maxBody } from '../../../domain/code-review/pipeline/comment-text.ts';
import { readRunMarker, runMarker } from '../../../domain/code-review/pipeline/markers.ts';
import type { RepositoryClient } from '../../../ports/github/client.ts';
import { repliesSince, reply } from '../../../ports/github/replies.ts';
import type { ActivityDeps } from '../../deps.ts';
import { postOnce } from './post-once.ts';

export interface ReplyToPost {
  readonly place: PostPlace;
  /** The run or command that replies. */
  readonly ownerId: string;
  /** Position among the replies of its owner; the same on each attempt. */
  readonly ordinal: number;
  readonly client: RepositoryClient;
  readonly pullNumber: number;
  /** Id of the comment that begins the thread; null: the reply goes to the pull request. */
  readonly inReplyTo: number | null;
  readonly text: string;
}

/** How far the clocks of host and database may differ. */
const aroundMs = 10 * 60_000;

/** Replies once, in a thread or to the pull request. Returns the id of the comment. Host errors are thrown as the workflow's failures. */
export function postReply(
  deps: ActivityDeps,
  { place, ownerId, ordinal, client, pullNumber, inReplyTo, text }: ReplyToPost,
): Promise<number> {
  const signal = cancellationSignal();
  const marker = runMarker(ownerId, ordinal);
  return postOnce(deps, {
    place,
    key: { ownerId, kind: 'reply', ordinal },
    find: async (since) => {
      const { login } = await client.self(signal);
      const asked = { pullNumber, inReplyTo, since: new Date(since.getTime() - aroundMs) };
      const found = (await repliesSince(client, asked, signal)).find(
        ({ author, body }) => author === login && isMarked(body, ownerId, ordinal),
      );
      return found?.id ?? null;
    },
    send: () => reply(client, { pullNumber, inReplyTo, body: `${cutBody(text, maxBody - marker.length - 2)}\n\n${marker}` }, signal),
  });
}

function isMarked(body: string, ownerId: string, ordinal: number): boolean {
  const marker = readRunMarker(body);
  return marker?.runId === ownerId && marker.ordinal === ordinal;
}
