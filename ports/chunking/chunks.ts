import { boundaries, cutAtoms, cutHard, type Atom } from './atoms.ts';

/** A document to split into chunks. */
export interface ChunkedDocument {
  readonly content: string;
  readonly title: string | null;
  /** Where the pages of the file start, in code points of the content, ascending. */
  readonly pages?: readonly { readonly page: number; readonly start: number }[] | null;
}

export interface ChunkOptions {
  /** Maximum tokens of a chunk's text. */
  readonly sizeTokens: number;
  /** Maximum tokens at the end of a chunk that the next one repeats; never more than half the size. */
  readonly overlapTokens: number;
  readonly countTokens: (text: string) => number;
}

/** A passage: `text` is exactly the slice of the content between the code points `charStart` and `charEnd`. */
export interface Chunk {
  readonly ord: number;
  readonly text: string;
  /** What the passage belongs to: title, headings, header of its table, one per line. Embedded and indexed, never quoted. */
  readonly context: string | null;
  readonly charStart: number;
  readonly charEnd: number;
  readonly page: number | null;
  readonly tokenCount: number;
}

/** Atoms with their tokens; `atoms`, `counts` and `pages` have the same length. */
interface Measured {
  readonly content: string;
  readonly atoms: readonly Atom[];
  readonly counts: readonly number[];
  /** The page on which each atom begins. */
  readonly pages: readonly (number | null)[];
  readonly options: ChunkOptions;
}

/** Maximum characters per token of the size before an atom is counted at all: this bounds the time of a count. */
const charsPerToken = 8;
/** Maximum characters of a chunk, which citations quote whole: a tokenizer may count a word of any length as one token. */
const maxChars = 10_000;

/**
 * Splits a content into passages of at most `sizeTokens`: at headings, otherwise between paragraphs, sentences, or anywhere. Only white space at the edges of
 * passages is in none of them. After a split at a heading nothing is repeated. A passage lies on one page, so that citations name the right one.
 */
export function cutChunks(document: ChunkedDocument, options: ChunkOptions): Chunk[] {
  const measured = measure(document, options);
  const toPoint = pointCounter(document.content);
  const chunks: Chunk[] = [];

  let covered = 0;
  for (let start = 0; covered < measured.atoms.length;) {
    const { from, next, span } = takeChunk(measured, { from: start, covered });
    const first = measured.atoms[from];
    if (span && first) {
      const charStart = toPoint(span.start);
      const text = document.content.slice(span.start, span.end);
      const at = { charStart, charEnd: toPoint(span.end), page: pageAt(document.pages, charStart) };
      chunks.push({ ord: chunks.length, text, context: contextOf(document.title, first), ...at, tokenCount: span.tokenCount });
    }
    start = overlapStart(measured, { from, next });
    covered = next;
  }
  return chunks;
}

/** Counts each atom once; an atom that alone exceeds the size is split until its parts do not. */
function measure({ content, pages }: ChunkedDocument, options: ChunkOptions): Measured {
  const atoms: Atom[] = [];
  const counts: number[] = [];
  const pending = cutAtoms(content, Math.min(options.sizeTokens * charsPerToken, maxChars)).toReversed();
  for (let atom = pending.pop(); atom; atom = pending.pop()) {
    const text = content.slice(atom.start, atom.end);
    // White space at its end is mostly part of the next token.
    const count = options.countTokens(text.trim());
    const halves = count > options.sizeTokens ? cutHard(text, Math.max(2, Math.ceil(text.length / 2))) : [];
    if (halves.length > 1) {
      pending.push(...halves.map((half, at) => partOf(atom, half, at)).toReversed());
      continue;
    }
    atoms.push(atom);
    counts.push(count);
  }
  const toPoint = pointCounter(content);
  return { content, atoms, counts, options, pages: atoms.map(({ start }) => pageAt(pages, toPoint(start))) };
}

function partOf(atom: Atom, { start, end }: { start: number; end: number }, at: number): Atom {
  return { ...atom, start: atom.start + start, end: atom.start + end, boundary: at === 0 ? atom.boundary : boundaries.hardCut };
}

interface Span {
  readonly start: number;
  readonly end: number;
  readonly tokenCount: number;
}

interface Taken {
  readonly from: number;
  /** Index of the first atom after the passage. */
  readonly next: number;
  /** Null when there is nothing but white space. */
  readonly span: Span | null;
}

/** Returns the passage that begins with an atom and extends beyond what is already covered; without its overlap where the two do not fit together. */
function takeChunk(measured: Measured, { from, covered }: { readonly from: number; readonly covered: number }): Taken {
  const { atoms, counts, pages, options } = measured;
  const fits = (at: number, sum: number) =>
    sum + (counts[at] ?? 0) <= options.sizeTokens &&
    pages[at] === pages[from] &&
    (atoms[at]?.end ?? 0) - (atoms[from]?.start ?? 0) <= maxChars;
  let limit = from;
  for (let sum = 0; limit < atoms.length && fits(limit, sum); limit += 1) sum += counts[limit] ?? 0;

  for (let end = Math.max(limit, from + 1); end > covered; end -= 1) {
    const next = end === atoms.length ? end : bestCut(measured, { from, covered, limit: end });
    const span = spanOf(measured, from, next);
    // A whole may have more tokens than its parts.
    if (span === null || span.tokenCount <= options.sizeTokens || next === from + 1) return { from, next, span };
    end = next;
  }
  return takeChunk(measured, { from: covered, covered });
}

/** Returns the strongest boundary in the second half of a passage, the last of equals, after what is already covered. */
function bestCut({ atoms, counts }: Measured, { from, covered, limit }: { from: number; covered: number; limit: number }): number {
  const total = counts.slice(from, limit).reduce((sum, count) => sum + count, 0);
  let best = limit;
  let behind = 0;
  for (let at = limit - 1; at > Math.max(from, covered); at -= 1) {
    behind += counts[at] ?? 0;
    if (behind > total / 2) break;
    if ((atoms[at]?.boundary ?? 0) > (atoms[best]?.boundary ?? 0)) best = at;
  }
  return best;
}

function spanOf({ content, atoms, counts, options }: Measured, from: number, next: number): Span | null {
  const start = atoms[from]?.start ?? 0;
  const whole = content.slice(start, atoms[next - 1]?.end ?? start);
  const text = whole.trim();
  if (text === '') return null;
  const begin = start + whole.length - whole.trimStart().length;
  // An atom was counted exactly as it is here.
  const tokenCount = next === from + 1 ? (counts[from] ?? 0) : options.countTokens(text);
  return { start: begin, end: begin + text.length, tokenCount };
}

/** Returns where the passage after a split begins: as many atoms back as the overlap allows, if the next atom still fits. */
function overlapStart({ atoms, counts, pages, options }: Measured, { from, next }: { from: number; next: number }): number {
  if (atoms[next]?.boundary === boundaries.heading || pages[next] !== pages[next - 1]) return next;
  const limit = Math.min(options.overlapTokens, options.sizeTokens / 2, options.sizeTokens - (counts[next] ?? 0));
  let start = next;
  for (let sum = counts[next - 1] ?? 0; start - 1 > from && sum <= limit; sum += counts[start - 1] ?? 0) start -= 1;
  return start;
}

function contextOf(title: string | null, { headings, tableHeader }: Atom): string | null {
  const path = headings.filter((heading) => heading !== '' && heading !== title).join(' > ');
  const lines = [title ?? '', path, tableHeader ?? ''].filter((line) => line.trim() !== '');
  return lines.length === 0 ? null : lines.join('\n');
}

function pageAt(pages: ChunkedDocument['pages'], charStart: number): number | null {
  return pages?.findLast(({ start }) => start <= charStart)?.page ?? null;
}

/** Counts the code points before an offset in code units; offsets come in nearly ascending order, so each stretch is counted about once. */
function pointCounter(content: string): (unit: number) => number {
  if (!/[\uD800-\uDBFF]/.test(content)) return (unit) => unit;
  let known = { unit: 0, point: 0 };
  return (unit) => {
    const [low, high] = unit < known.unit ? [unit, known.unit] : [known.unit, unit];
    const points = [...content.slice(low, high)].length;
    known = { unit, point: unit < known.unit ? known.point - points : known.point + points };
    return known.point;
  };
}
