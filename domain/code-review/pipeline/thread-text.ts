import { dataText } from './text-safety.ts';

/** A comment of a thread: its author and text. */
export interface Said {
  readonly id: number;
  readonly author: string;
  readonly body: string;
}

const maxComments = 30;
const maxText = 20_000;

/**
 * The conversation before the asking comment, oldest first, as a prompt shows it: the newest 30 comments, and of these as many as fit into 20,000 characters.
 */
export function threadText(comments: readonly Said[], askingId: number): string {
  const before = comments.filter(({ id }) => id < askingId).toSorted((a, b) => a.id - b.id);
  // Each on its own: an unclosed HTML comment in one hides nothing of the next.
  const said = before.slice(-maxComments).map(({ author, body }) => `${author === '' ? 'somebody' : author}: ${dataText(body).trim()}`);
  while (said.length > 1 && lengthOf(said) > maxText) said.shift();
  return said.join('\n\n').slice(0, maxText).toWellFormed();
}

function lengthOf(parts: readonly string[]): number {
  return parts.reduce((sum, part) => sum + part.length + 2, 0);
}
