import type { HistoryMessage } from './history.ts';

const shortChars = 400;

/** Returns a turn in two lines: what was asked and what came of it. */
export function shortTurn(turn: readonly HistoryMessage[]): string {
  const asked = turn.filter(({ role }) => role === 'user').map(textOf);
  const answered = turn.findLast(({ role }) => role === 'assistant');
  return `User: ${cut(asked.join(' '))}\nAssistant: ${answered ? cut(textOf(answered)) : '(no answer)'}`;
}

/** Groups the messages of a conversation by turn, oldest first. */
export function turnsOf(history: readonly HistoryMessage[]): HistoryMessage[][] {
  return Object.values(Object.groupBy(history, (message) => message.turn)).map((turn) => turn ?? []);
}

function textOf({ content }: HistoryMessage): string {
  return content.map((block) => (block.type === 'text' ? block.text : block.type === 'json' ? JSON.stringify(block.value) : '')).join(' ');
}

function cut(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length <= shortChars ? line : `${line.slice(0, shortChars).toWellFormed()}…`;
}
