import { numberOn, type Anchor, type Commentable, type Side } from '../../../ports/diff/anchors.ts';
import type { Hunk } from '../../../ports/diff/patch.ts';
import { squeeze } from './fingerprint.ts';
import { dataLine } from './text-safety.ts';

/** Lines of one side that contain a quotation. */
export interface Place {
  readonly side: Side;
  readonly startLine: number;
  readonly line: number;
  readonly hunk: Hunk;
}

/**
 * Locates a quotation in some hunks, ignoring white space: as the file has it, or as a model saw it. Returns the shortest ranges of lines on one side that
 * contain it.
 */
export function placesOf(quote: string, hunks: readonly Hunk[]): Place[] {
  const wanted = squeeze(quote);
  if (!isTelling(wanted)) return [];
  return hunks.flatMap((hunk) => (['RIGHT', 'LEFT'] as const).flatMap((side) => placesInHunk(wanted, hunk, side)));
}

/** A mere bracket is no evidence. */
export function isTelling(quote: string): boolean {
  return quote.length >= 3 && /[\p{L}\p{N}]/u.test(quote);
}

/** Whether the anchored lines contain the quotation. */
export function standsIn(quote: string, lines: Omit<Anchor, 'path'>, where: Commentable): boolean {
  const wanted = squeeze(quote);
  const texts = where.linesOf(lines).map(({ text }) => text);
  return isTelling(wanted) && [texts, texts.map(dataLine)].some((each) => squeeze(each.join('\n')).includes(wanted));
}

function placesInHunk(wanted: string, hunk: Hunk, side: Side): Place[] {
  const lines = hunk.lines.filter((line) => (side === 'RIGHT' ? line.newLine !== null : line.kind === 'removed'));
  const raw = occurrences(
    wanted,
    lines.map(({ text }) => text),
  );
  const found =
    raw.length > 0
      ? raw
      : occurrences(
          wanted,
          lines.map(({ text }) => dataLine(text)),
        );
  return found.flatMap(([first, last]) => {
    const numberAt = (index: number) => (lines[index] === undefined ? null : numberOn(side, lines[index]));
    const [startLine, line] = [numberAt(first), numberAt(last)];
    return startLine === null || line === null ? [] : [{ side, startLine, line, hunk }];
  });
}

/** Pairs of indexes of lines, both included. */
function occurrences(wanted: string, lines: readonly string[]): [first: number, last: number][] {
  let text = '';
  const starts: number[] = [];
  const indexes: number[] = [];
  for (const [index, line] of lines.entries()) {
    const squeezed = squeeze(line);
    if (squeezed === '') continue;
    if (text !== '') text += ' ';
    starts.push(text.length);
    indexes.push(index);
    text += squeezed;
  }

  const found: [number, number][] = [];
  for (let at = text.indexOf(wanted); at !== -1 && found.length < maxPlaces; at = text.indexOf(wanted, at + 1)) {
    const first = starts.findLastIndex((start) => start <= at);
    const last = starts.findLastIndex((start) => start < at + wanted.length);
    const place: [number, number] = [indexes[first] ?? 0, indexes[last] ?? 0];
    const before = found.at(-1);
    if (before?.[0] !== place[0] || before[1] !== place[1]) found.push(place);
  }
  return found;
}

const maxPlaces = 20;
