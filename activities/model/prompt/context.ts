import type { ContextRules } from '../../../db/agents/revisions/revision-document.ts';
import type { HistoryMessage } from '../../../db/runs/read/history.ts';
import { shortTurn, turnsOf } from '../../../db/runs/read/short-turns.ts';
import { fail, type Failure } from '../../../workflows/contracts/failure.ts';
import { giveUp } from '../../support/failures.ts';
import { shortenRun, type Shortening } from './shorten-run.ts';
import { estimateTokens } from '../usage/usage.ts';

export interface ContextBudget {
  readonly rules: ContextRules;
  /** Tokens that model and revision leave for the prompt, with room for an answer already subtracted. */
  readonly maxTokens: number;
  /** Tokens that the model can read and write in total: a longer prompt is not sent. */
  readonly windowTokens: number;
  /** Tokens of instructions and tools. */
  readonly takenTokens: number;
  /** The model has refused a prompt of this step as too long: the history is shortened to half. */
  readonly wasTooLong: boolean;
  /** The provider's message of that refusal, quoted at the end of the error; null when it is unknown. */
  readonly refusal: string | null;
  /** Slug of the tool by which this agent can read a stored result; null when it has none. */
  readonly reader: string | null;
}

/** Once something must be dropped, enough is dropped to last a while, so that the beginning of the prompt stays the same over the next steps. */
const keptShare = 0.75;
/** Share of the kept tokens that the shortened turns may take. */
const shortShare = 0.25;
/** A prompt that was refused and can't be made this much shorter is refused again. */
const noShorterShare = 0.9;

/**
 * Fits a conversation into the context budget, by the model's own counts of the run's earlier prompts: older turns, as a whole, are shortened to question and
 * answer (`summarize`) or left out (`drop_oldest`), then the run's own old results, arguments and texts are shortened, then its oldest steps are left out.
 * `fail` ends the run (`context_too_long`), and so does a prompt that can't be made to fit: the error says what takes the tokens.
 */
export function fitHistory(history: readonly HistoryMessage[], room: ContextBudget): readonly HistoryMessage[] {
  const factor = countFactor(history, room.takenTokens);
  const total = tokensOf(history);
  const left = Math.max(0, room.maxTokens / factor - room.takenTokens);
  const limit = room.wasTooLong ? Math.min(left, total / 2) : left;
  if (total <= limit) return history;
  if (room.rules.on_overflow === 'fail')
    throw giveUp(tooLong(history, room, { factor, what: 'The conversation is longer than the agent allows' }));

  // Whole steps of the run are dropped only where the prompt could not be sent otherwise: a model that forgets steps may repeat them.
  const maxTokens = room.wasTooLong ? limit : room.windowTokens / factor - room.takenTokens;
  const fitted = shorten(history, room, { limit: limit * keptShare, maxTokens });
  const size = tokensOf(fitted);
  const isRefusedAgain = room.wasTooLong && size > total * noShorterShare;
  if (isRefusedAgain || (size + room.takenTokens) * factor > room.windowTokens)
    throw giveUp(
      tooLong(fitted, room, { factor, what: "The prompt is longer than the model's context, and nothing more of it can be left out" }),
    );
  return fitted;
}

function shorten(
  history: readonly HistoryMessage[],
  room: ContextBudget,
  { limit, maxTokens }: Pick<Shortening, 'limit' | 'maxTokens'>,
): HistoryMessage[] {
  const asked = history.filter((message) => message.isOwn);
  const own = shortenRun(asked, { limit, maxTokens, tokensOf: tokensOfOne, reader: room.reader });
  const turns = turnsOf(history.filter((message) => !message.isOwn));
  const isShortening = room.rules.on_overflow === 'summarize';
  const left = limit - tokensOf(own);
  const kept: HistoryMessage[][] = [];
  let used = 0;
  const maxUsed = isShortening ? left * (1 - shortShare) : left;
  for (const turn of turns.toReversed()) {
    used += tokensOf(turn);
    if (used > maxUsed) break;
    kept.unshift(turn);
  }
  const older = turns.slice(0, turns.length - kept.length);
  return [...(isShortening ? shortened(older, left * shortShare) : []), ...kept.flat(), ...own];
}

/** Fewer tokens than this do not show how the model counts a text. */
const minCompared = 100;
const maxFactor = 4;

/**
 * Returns how many tokens the model counts for one of ours, at least 1. It compares how its prompts have grown from step to step, since a whole prompt may hold
 * files. A step whose prompt was shortened has grown too little and does not lower the factor.
 */
function countFactor(history: readonly HistoryMessage[], takenTokens: number): number {
  const hasFiles = history.some(({ content }) => content.some(({ type }) => type === 'attachment'));
  let factor = 1;
  let estimated = takenTokens;
  let last = hasFiles ? null : { counted: 0, estimated: 0 };
  for (const message of history) {
    const { counted = null } = message;
    if (counted !== null) {
      const grown = estimated - (last?.estimated ?? estimated);
      if (last !== null && grown >= minCompared) factor = Math.max(factor, (counted - last.counted) / grown);
      last = { counted, estimated };
    }
    estimated += tokensOfOne(message);
  }
  return Math.min(factor, maxFactor);
}

function tokensOf(messages: readonly HistoryMessage[]): number {
  return messages.reduce((sum, message) => sum + tokensOfOne(message), 0);
}

function tokensOfOne({ content, calls, providerState }: HistoryMessage): number {
  const state = providerState === null ? 0 : estimateTokens(JSON.stringify(providerState));
  return estimateTokens(JSON.stringify(content)) + estimateTokens(JSON.stringify(calls)) + state;
}

/** Names the parts that take the tokens, without quoting them, and what the provider said. */
function tooLong(
  history: readonly HistoryMessage[],
  room: ContextBudget,
  { factor, what }: { readonly factor: number; readonly what: string },
): Failure {
  const newestStep = history.findLastIndex(({ role, isOwn }) => isOwn && role === 'assistant');
  const input = tokensOf(history.filter(({ isOwn, role }) => isOwn && role === 'user'));
  const newest = newestStep < 0 ? 0 : tokensOf(history.slice(newestStep).filter(({ role }) => role !== 'user'));
  const parts = [
    ['instructions and tools', room.takenTokens],
    ['the input of the run', input],
    ['the newest step with its results', newest],
  ] as const;
  const told = parts.filter(([, tokens]) => tokens > 0).map(([name, tokens]) => `${name} about ${Math.ceil(tokens * factor)}`);
  const size = Math.ceil((tokensOf(history) + room.takenTokens) * factor);
  const most = room.wasTooLong ? '' : ` where ${Math.floor(Math.min(room.maxTokens, room.windowTokens))} have room`;
  const said = room.refusal === null ? '' : ` It was refused: ${room.refusal}`;
  const detail = `${what}: about ${size} tokens${most} (${told.join(', ')}).${said}`;
  return fail('validation_failed', { reason: 'context_too_long', detail: detail.slice(0, 1_000).toWellFormed() });
}

/** Returns one message that summarizes the turns that are no longer shown; the newest that fit. */
function shortened(turns: readonly HistoryMessage[][], limitTokens: number): HistoryMessage[] {
  const told: string[] = [];
  let used = 0;
  for (const turn of turns.toReversed()) {
    const line = shortTurn(turn);
    used += estimateTokens(line);
    if (used > limitTokens) break;
    told.unshift(line);
  }
  const [first] = turns.flat();
  if (told.length === 0 || !first) return [];
  const text = `[Earlier in this conversation, shortened]\n${told.join('\n')}`;
  return [{ ...first, role: 'user', origin: 'system', content: [{ type: 'text', text }], providerState: null, calls: [], answers: null }];
}
