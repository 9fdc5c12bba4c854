import { resolveApprovals } from '../approvals/resolve.ts';
import { findWaitingRun, readOpenQuestion, type ChannelQuestion } from '../../db/channels/questions.ts';
import type { KeyRing } from '../../db/key-ring.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';

const maxAnswerChars = 32_768;

/** A question as it is posted to a thread, in Markdown. */
export function askedInChat({ prompt, responseSchema }: Pick<ChannelQuestion, 'prompt' | 'responseSchema'>): string {
  const options = optionsOf(responseSchema);
  if (options.length === 0) return prompt;
  return `${prompt}\n\n${options.map((option, at) => `${at + 1}. ${option}`).join('\n')}\n\nAnswer with a number, or with the words.`;
}

/** The answer to a question in a person's message; null when it is none of the offered ones. */
export function answerIn({ responseSchema }: Pick<ChannelQuestion, 'responseSchema'>, text: string): string | null {
  const said = text.trim();
  const options = optionsOf(responseSchema);
  if (options.length === 0) return said === '' ? null : said.slice(0, maxAnswerChars).toWellFormed();
  const same = options.find((option) => plain(option) === plain(said));
  if (same !== undefined) return same;
  const number = /^#?(\d{1,3})[.)]?$/.exec(said)?.[1];
  return number === undefined ? null : (options[Number(number) - 1] ?? null);
}

function plain(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[.!?\s]+$/, '')
    .trim();
}

function optionsOf(schema: ChannelQuestion['responseSchema']): string[] {
  const options = schema?.['enum'];
  return Array.isArray(options) ? options.filter((option) => typeof option === 'string') : [];
}

/** The outcome of a message in a conversation whose run waits for an answer. */
export type ChatAnswer =
  /** No question was asked: the message is an ordinary one. */
  { readonly kind: 'none' } | { readonly kind: 'answered' | 'not_offered'; readonly runId: string };

export interface AnsweringMessage {
  /** The active run of the sender's conversation, which is locked. */
  readonly activeRunId: string | null;
  readonly channelId: string;
  readonly text: string;
  readonly keys: Pick<KeyRing, 'keks'>;
}

/** Takes a message as the answer to the agent's question in its thread. The next message of the person who was asked is the answer, whatever `on_busy` says. */
export async function answerInChat(tx: TenantTransaction, { activeRunId, channelId, text, keys }: AnsweringMessage): Promise<ChatAnswer> {
  const waiting = activeRunId === null ? null : await findWaitingRun(tx, { runId: activeRunId, channelId });
  const question = waiting && (await readOpenQuestion(tx, waiting.id));
  if (!waiting || !question || !waiting.asked.includes(question.number)) return { kind: 'none' };
  const response = answerIn(question, text);
  if (response === null) return { kind: 'not_offered', runId: waiting.id };
  await resolveApprovals(tx, {
    runId: waiting.id,
    resolutions: [{ approval_id: question.id, decision: 'respond', response }],
    by: { kind: 'system', id: channelId },
    // A thread is only asked what a member may answer, and `answerIn` returns only what the question accepts.
    refuseBelow: () => undefined,
    validate: () => Promise.resolve([]),
    keys,
  });
  return { kind: 'answered', runId: waiting.id };
}
