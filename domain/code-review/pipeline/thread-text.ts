import { dataText } from './text-safety.ts';

/** Something that was said: whose it is, in which words. */
export interface Said {
  readonly id: number;
  readonly author: string;
  readonly body: string;
}

const maxComments = 30;
const maxText = 20_000;

/** What was said before the comment that asks, oldest first, as a prompt shows it: the newest 30 comments, and of these what fits into 20,000 characters. */
export function threadText(comments: readonly Said[], askingId: number): string {
  const before = comments.filter(({ id }) => id < askingId).toSorted((a, b) => a.id - b.id);
  // Each for itself: a comment in HTML that one leaves open hides nothing of the next.
  const said = before.slice(-maxComments).map(({ author, body }) => `${author === '' ? 'somebody' : author}: ${dataText(body).trim()}`);
  while (said.length > 1 && lengthOf(said) > maxText) said.shift();
  return said.join('\n\n').slice(0, maxText).toWellFormed();
}

function lengthOf(parts: readonly string[]): number {
  return parts.reduce((sum, part) => sum + part.length + 2, 0);
}
