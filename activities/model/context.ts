import type { ContextRules } from '../../db/agents/revision-document.ts';
import type { HistoryMessage } from '../../db/runs/history.ts';
import { shortTurn, turnsOf } from '../../db/runs/short-turns.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { giveUp } from '../support/failures.ts';
import { estimateTokens } from './usage.ts';

export interface ContextRoom {
  readonly rules: ContextRules;
  /** Tokens that model and revision leave for the conversation. */
  readonly limitTokens: number;
  /** The model has refused a prompt of this step as too long: the history is cut to half of what it was. */
  readonly wasTooLong: boolean;
}

/** Once something has to go, enough goes for a while, so that the beginning of the prompt stays the same over the next steps. */
const keptShare = 0.75;
/** Share of what is kept that the shortened turns may take. */
const shortShare = 0.25;

/**
 * Fits a conversation into the room that there is, whole turns at a time: older ones are shortened to what was asked and answered
 * (`summarize`) or left out (`drop_oldest`), then the oldest tool results of the run itself. `fail` ends the run (`context_too_long`).
 */
export function fitHistory(history: readonly HistoryMessage[], room: ContextRoom): readonly HistoryMessage[] {
  const total = tokensOf(history);
  const limit = room.wasTooLong ? Math.min(room.limitTokens, total / 2) : room.limitTokens;
  if (total <= limit) return history;
  if (room.rules.on_overflow === 'fail')
    throw giveUp(fail('validation_failed', { reason: 'context_too_long', detail: 'The conversation is longer than the agent allows.' }));

  const own = elideResults(
    history.filter((message) => message.is_own),
    limit * keptShare,
  );
  const turns = turnsOf(history.filter((message) => !message.is_own));
  const isShortening = room.rules.on_overflow === 'summarize';
  const left = limit * keptShare - tokensOf(own);
  const kept: HistoryMessage[][] = [];
  let used = 0;
  const mostUsed = isShortening ? left * (1 - shortShare) : left;
  for (const turn of turns.toReversed()) {
    used += tokensOf(turn);
    if (used > mostUsed) break;
    kept.unshift(turn);
  }
  const older = turns.slice(0, turns.length - kept.length);
  return [...(isShortening ? shortened(older, left * shortShare) : []), ...kept.flat(), ...own];
}

function tokensOf(messages: readonly HistoryMessage[]): number {
  return messages.reduce(
    (sum, { content, calls }) => sum + estimateTokens(JSON.stringify(content)) + estimateTokens(JSON.stringify(calls)),
    0,
  );
}

/** One message that tells in short what was said in turns that are not shown any more; the newest that fit. */
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
  return [{ ...first, role: 'user', origin: 'system', content: [{ type: 'text', text }], provider_state: null, calls: [], answers: null }];
}

const leftOutNote = { type: 'text', text: '[This result was left out to make room.]' } as const;

/** Takes the oldest tool results of a run out until the rest fits; calls and answers stay paired. */
function elideResults(own: readonly HistoryMessage[], limitTokens: number): readonly HistoryMessage[] {
  let excess = tokensOf(own) - limitTokens;
  if (excess <= 0) return own;
  const newestStep = own.findLastIndex(({ role }) => role === 'assistant');
  return own.map((message, at) => {
    if (excess <= 0 || message.answers === null || at > newestStep) return message;
    const saved = tokensOf([message]) - tokensOf([{ ...message, content: [leftOutNote] }]);
    if (saved <= 0) return message; // short results stay: the note would take more room than they do
    excess -= saved;
    return { ...message, answers: { ...message.answers, truncated: false }, content: [leftOutNote] };
  });
}
