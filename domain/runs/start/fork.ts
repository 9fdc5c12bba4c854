import { fail, invalid } from '../../../workflows/contracts/failure.ts';
import { newId } from '../../../db/ids.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import type { RunInput } from '../../../db/runs/read/run-view.ts';
import { maxCopied, type ForkPoint, type ForkedRun, readMessage, readBefore, insertForked } from '../../../db/runs/start/fork-rows.ts';

/** Throws 422 unless the message was committed in the run's conversation, at the latest in the run's turn. */
export async function readFork(tx: TenantTransaction, run: ForkedRun, messageId: string): Promise<ForkPoint> {
  const point = await readMessage(tx, run, messageId);
  if (!point)
    throw invalid('/fork_at_message_id', 'reference', 'The conversation has no such message up to this run.', { kind: 'message' });

  const { role, content, turn, pos } = point;
  const found = await readBefore(tx, run.conversationId, { turn, pos, isIncluded: role !== 'user' });
  return { role, content, ...renumbered(wholeTurns(found).toReversed()) };
}

/** Newest first, without the turn that the limit would split, unless it is the only one. */
function wholeTurns<M extends { readonly turn: number }>(newestFirst: readonly M[]): M[] {
  if (newestFirst.length <= maxCopied) return [...newestFirst];
  const cutTurn = newestFirst.at(-1)?.turn;
  const whole = newestFirst.filter((message) => message.turn !== cutTurn);
  return whole.length > 0 ? whole : newestFirst.slice(0, maxCopied);
}

function renumbered(oldestFirst: readonly { readonly id: string; readonly turn: number }[]): Pick<ForkPoint, 'copied' | 'turns'> {
  const numbers = new Map<number, number>();
  const copied = oldestFirst.map(({ id, turn }) => {
    const number = numbers.get(turn) ?? numbers.size + 1;
    numbers.set(turn, number);
    return { id, turn: number };
  });
  return { copied, turns: numbers.size };
}

/** The input of a user's message, to be asked again. Throws 422 for any other message: then the request has to give the input. */
export function inputOfMessage({ role, content }: Pick<ForkPoint, 'role' | 'content'>): RunInput {
  const texts = content.flatMap((block) => (block.type === 'text' ? [block.text] : []));
  const json = content.find((block) => block.type === 'json');
  if (role !== 'user' || (texts.length === 0 && json?.type !== 'json'))
    throw invalid('/input', 'required', 'is required: the message is kept, and the next one must be given');

  const attachments = content.flatMap(({ type, ...part }) => (type === 'attachment' ? [part] : [])) as NonNullable<RunInput['attachments']>; // by its type
  return {
    ...(texts.length === 0 ? {} : { text: texts.join('\n\n') }),
    ...(json?.type === 'json' ? { json: json.value as Record<string, unknown> } : {}), // an input's json is an object
    attachments,
  };
}

/** Creates the conversation of a fork, as if it had had these turns. Throws 409 `already_exists` when the session key already has a conversation. */
export async function forkedConversation(
  tx: TenantTransaction,
  run: ForkedRun,
  { sessionKey, turns }: { readonly sessionKey: string | null; readonly turns: number },
): Promise<string> {
  const id = newId();
  const isMade = await insertForked(tx, run, { id, sessionKey, turns });
  if (!isMade) throw fail('already_exists', { detail: 'The session key already has a conversation.', context: { field: 'session_key' } });
  return id;
}
