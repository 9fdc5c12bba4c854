import { cancellationSignal } from '@temporalio/activity';
import { readCommandPost, readDismissedComments, type CommandPost } from '../../../db/code-review/posts/command-posts.ts';
import { readRepositoryPlace } from '../../../db/code-review/bindings/bindings.ts';
import type { RepositoryClient } from '../../../ports/github/client.ts';
import { react } from '../../../ports/github/replies.ts';
import { listThreads } from '../../../ports/github/threads.ts';
import type { PullRequestInput } from '../../../workflows/contracts/review/pull-requests.ts';
import type { ActivityDeps } from '../../deps.ts';
import { readAsSystem } from '../../support/as-system.ts';
import { onHost } from './host-failure.ts';
import { openRepository } from '../read/open-repository.ts';
import { postOnce } from './post-once.ts';
import { postReply } from './post-reply.ts';
import { softly, resolveOpen } from './threads.ts';

const obeyed: ReadonlySet<string> = new Set(['accepted', 'done']);

/** Shows the sender of a command that it is obeyed: an eyes reaction to its comment, once. A deleted comment is left alone. */
export async function reactToCommand(deps: ActivityDeps, { commandId }: { readonly commandId: string }): Promise<void> {
  const opened = await openCommand(deps, commandId);
  if (opened === null) return;
  const { command, client } = opened;
  // The host keeps one reaction of each kind: sending it again changes nothing.
  const send = () => react(client, { kind: command.commentKind, id: command.commentId }, 'eyes', cancellationSignal());
  await softly(deps, () =>
    postOnce(deps, { place: command, key: { ownerId: command.id, kind: 'reaction', ordinal: 0 }, find: send, send }),
  );
}

/** Answers a command with the text in its row, in its thread or in the conversation, once. */
export async function replyToCommand(deps: ActivityDeps, { commandId }: { readonly commandId: string }): Promise<void> {
  const opened = await openCommand(deps, commandId);
  if (opened === null || opened.command.reply === null) return;
  const { command, client } = opened;
  const { id: ownerId, pullNumber, reply: text } = command;
  const inReplyTo = threadOf(command);
  await softly(deps, () => postReply(deps, { place: command, ownerId, ordinal: 0, client, pullNumber, inReplyTo, text: text ?? '' }));
}

/** Returns the comment that begins the thread of a command; null: the command is in the conversation. */
export function threadOf({ commentKind, inReplyTo, commentId }: CommandPost): number | null {
  return commentKind === 'review' ? (inReplyTo ?? commentId) : null;
}

/** Updates the host's threads from the ledger after a command: threads of dismissed findings are resolved. */
export async function settlePullThreads(deps: ActivityDeps, { bindingId, pullNumber }: PullRequestInput): Promise<void> {
  const dismissed = await readAsSystem(deps, (tx) => readDismissedComments(tx, { bindingId, pullNumber }));
  const client = dismissed.length === 0 ? null : await clientOf(deps, bindingId);
  if (client === null) return;
  const threads = await onHost(() => listThreads(client, pullNumber, cancellationSignal()));
  for (const { commentId } of dismissed)
    await softly(deps, () =>
      resolveOpen(
        client,
        threads.find((thread) => thread.commentId === commentId),
      ),
    );
}

async function openCommand(
  deps: ActivityDeps,
  commandId: string,
): Promise<{ readonly command: CommandPost; readonly client: RepositoryClient } | null> {
  const command = await readAsSystem(deps, (tx) => readCommandPost(tx, commandId));
  if (command === null || !obeyed.has(command.state)) return null;
  const client = await clientOf(deps, command.bindingId);
  return client && { command, client };
}

/** Returns the client of a binding; null: the binding no longer exists. */
export async function clientOf(deps: ActivityDeps, bindingId: string): Promise<RepositoryClient | null> {
  const place = await readAsSystem(deps, (tx) => readRepositoryPlace(tx, bindingId));
  return place && openRepository(deps, place);
}
