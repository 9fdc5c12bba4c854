import type { HistoryMessage } from '../../../db/runs/read/history.ts';

export interface Shortening {
  /** Target in tokens. */
  readonly limit: number;
  /** When shortening leaves more tokens than this, old steps are dropped whole. */
  readonly maxTokens: number;
  readonly tokensOf: (message: HistoryMessage) => number;
  /** Slug of the tool by which this agent can read a stored result; null when it has none. */
  readonly reader: string | null;
}

/** Longer texts and arguments of old steps are truncated to this many characters. */
const keptChars = 160;
/** Arguments that are still longer than this are dropped whole. */
const maxArgsChars = 1_000;

/**
 * Shortens the messages of the run itself, oldest first, until enough tokens are freed: notes replace results, texts and arguments are truncated; where that is
 * not enough, the oldest steps are dropped whole. The question and the newest step, with its calls and results, stay; calls and answers stay paired.
 */
export function shortenRun(own: readonly HistoryMessage[], shortening: Shortening): readonly HistoryMessage[] {
  const { limit, maxTokens, tokensOf } = shortening;
  const sizeOf = (messages: readonly HistoryMessage[]) => messages.reduce((sum, message) => sum + tokensOf(message), 0);
  const shorter = withShortParts(own, sizeOf(own) - limit, shortening);
  const size = sizeOf(shorter);
  return size > maxTokens ? withoutOldSteps(shorter, size - limit, tokensOf) : shorter;
}

function withShortParts(own: readonly HistoryMessage[], excess: number, { tokensOf, reader }: Shortening): readonly HistoryMessage[] {
  let left = excess;
  const newestStep = newestStepOf(own);
  return own.map((message, at) => {
    if (left <= 0 || at >= newestStep || isAsked(message)) return message;
    const shorter = message.role === 'tool' ? withoutResult(message, reader) : withCutText(message);
    const saved = tokensOf(message) - tokensOf(shorter);
    if (saved <= 0) return message; // a note would take more tokens than what it replaces
    left -= saved;
    return shorter;
  });
}

/** One note replaces all dropped steps: calls with their answers, oldest first. */
function withoutOldSteps(own: readonly HistoryMessage[], excess: number, tokensOf: Shortening['tokensOf']): readonly HistoryMessage[] {
  const newestStep = newestStepOf(own);
  let left = excess;
  let isLeaving = false;
  const gone = own.filter((message, at) => {
    if (isAsked(message)) return false;
    if (message.role === 'assistant') isLeaving = left > 0 && at < newestStep;
    if (isLeaving) left -= tokensOf(message);
    return isLeaving;
  });
  const [first] = gone;
  if (!first) return own;
  const text = `[The ${gone.filter(({ role }) => role === 'assistant').length} oldest steps of this run were left out to make room.]`;
  const note = {
    ...first,
    role: 'user',
    origin: 'system',
    content: [{ type: 'text', text }],
    providerState: null,
    calls: [],
    answers: null,
  } as const;
  return own.flatMap((message) => (message === first ? [note] : gone.includes(message) ? [] : [message]));
}

function newestStepOf(own: readonly HistoryMessage[]): number {
  return own.findLastIndex(({ role }) => role === 'assistant');
}

function isAsked({ role }: HistoryMessage): boolean {
  return role === 'user' || role === 'system';
}

function withoutResult(message: HistoryMessage, reader: string | null): HistoryMessage {
  const { answers } = message;
  if (answers === null) return message;
  const chars = answers.total_chars ?? charsOf(message);
  const more = reader === null ? '' : ` ${reader} with call_id "${answers.tool_call_id}" and offset 0 gives it.`;
  const text = `[This result of ${chars} characters was left out to make room.${more}]`;
  return { ...message, answers: { ...answers, truncated: false }, content: [{ type: 'text', text }] };
}

/** The provider's signature does not cover the truncated text, so its state is dropped. */
function withCutText(message: HistoryMessage): HistoryMessage {
  const content = message.content.map((block) => ('text' in block ? { ...block, text: cut(block.text) } : block));
  return { ...message, content, providerState: null, calls: message.calls.map((call) => ({ ...call, args: shortArgs(call.args) })) };
}

function shortArgs(args: Record<string, unknown>): Record<string, unknown> {
  const chars = JSON.stringify(args).length;
  const short = Object.fromEntries(Object.entries(args).map(([key, value]) => [key, shortValue(value)]));
  return JSON.stringify(short).length <= maxArgsChars
    ? short
    : { left_out: `[Arguments of ${chars} characters were left out to make room.]` };
}

function shortValue(value: unknown): unknown {
  if (typeof value === 'string') return cut(value);
  if (Array.isArray(value)) return value.map(shortValue);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shortValue(inner)]));
}

function cut(text: string): string {
  if (text.length <= keptChars * 2) return text;
  return `${text.slice(0, keptChars).toWellFormed()}… [${text.length - keptChars} more characters were left out to make room]`;
}

function charsOf({ content }: HistoryMessage): number {
  return content.reduce((sum, block) => sum + ('text' in block ? block.text.length : JSON.stringify(block).length), 0);
}
