/** What precedes an atom: the stronger, the better a place to split. */
export const boundaries = { hardCut: 0, sentence: 1, paragraph: 2, heading: 3 } as const;
export type Boundary = (typeof boundaries)[keyof typeof boundaries];

/** A stretch of a content that is not split further, in UTF-16 code units. The atoms of a content, joined in order, are the content. */
export interface Atom {
  readonly start: number;
  readonly end: number;
  readonly boundary: Boundary;
  /** Headings above it, outermost first; a heading is not above itself. */
  readonly headings: readonly string[];
  /** First line of the table that it is a row of; null for that line itself and outside tables. */
  readonly tableHeader: string | null;
}

/** A block of lines that belong together. */
type Block = Omit<Atom, 'boundary'> & { readonly kind: 'heading' | 'text' | 'row' };

const maxContextChars = 200;
const headingMarks = /^ {0,3}(#{1,6})(?=[ \t]|$)/v;
const fence = /^ {0,3}(`{3,}|~{3,})/v;
/** The delimiter row of a table, below its header; for a line without surrounding white space. */
const delimiterRow = /^\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?$/v;
const sentences = new Intl.Segmenter('en', { granularity: 'sentence' });

/**
 * Splits a content into atoms: Markdown headings, rows of tables, sentences of paragraphs (UAX #29), and anything longer than `maxChars` at its spaces,
 * otherwise anywhere between two characters.
 */
export function cutAtoms(content: string, maxChars: number): Atom[] {
  return blocksOf(content).flatMap((block) => atomsOf(content, block, maxChars));
}

function atomsOf(content: string, block: Block, maxChars: number): Atom[] {
  const { kind, headings, tableHeader } = block;
  const first = kind === 'heading' ? boundaries.heading : kind === 'row' ? boundaries.sentence : boundaries.paragraph;
  const whole = content.slice(block.start, block.end);
  const segments = kind === 'text' && whole.length > maxChars / 8 ? [...sentences.segment(whole)] : [{ index: 0, segment: whole }];

  return segments.flatMap(({ index, segment }) =>
    cutHard(segment, maxChars).map(({ start, end }) => ({
      start: block.start + index + start,
      end: block.start + index + end,
      boundary: start > 0 ? boundaries.hardCut : index > 0 ? boundaries.sentence : first,
      headings,
      tableHeader,
    })),
  );
}

/** Returns stretches of at most `maxChars`, split after a space if the second half of a stretch has one. */
export function cutHard(text: string, maxChars: number): { start: number; end: number }[] {
  const stretches = [];
  let start = 0;
  while (text.length - start > maxChars) {
    const end = cutBefore(text, start, start + maxChars);
    stretches.push({ start, end });
    start = end;
  }
  if (start < text.length) stretches.push({ start, end: text.length });
  return stretches;
}

function cutBefore(text: string, start: number, limit: number): number {
  for (let end = limit; end > start + (limit - start) / 2; end -= 1) if (/\s/v.test(text.charAt(end - 1))) return end;
  for (let end = limit; end > Math.max(start, limit - 16); end -= 1) if (!isInsideCharacter(text, end)) return end;
  return isInsidePair(text, limit) ? limit - 1 : limit;
}

/** Whether an offset lies between a base character and its marks, or inside a surrogate pair. */
function isInsideCharacter(text: string, at: number): boolean {
  return isInsidePair(text, at) || /^[\p{M}\u200D]/v.test(text.slice(at, at + 2)) || text.charAt(at - 1) === '\u200D';
}

function isInsidePair(text: string, at: number): boolean {
  return /^[\uDC00-\uDFFF]/.test(text.charAt(at)) && /^[\uD800-\uDBFF]/.test(text.charAt(at - 1));
}

/** Yields lines without their line ends, and their offsets. */
function* linesOf(content: string): Generator<{ start: number; end: number; text: string }> {
  for (let start = 0; start < content.length;) {
    const found = content.indexOf('\n', start);
    const end = found === -1 ? content.length : found + 1;
    yield { start, end, text: content.slice(start, end).trimEnd() };
    start = end;
  }
}

/** Reads lines one by one into blocks: a blank line, a heading and a row end the preceding block. */
function blocksOf(content: string): Block[] {
  const blocks: Block[] = [];
  let headings: string[] = [];
  let closing: string | null = null;
  let isAfterBlank = true;
  let tableHeader: string | null = null;
  const add = (kind: Block['kind'], { start, end }: { start: number; end: number }, header: string | null = null) => {
    blocks.push({ kind, start, end, headings, tableHeader: header });
  };

  for (const line of linesOf(content)) {
    const previous = blocks.at(-1);
    const marks = fence.exec(line.text)?.[1];
    const heading = closing === null ? headingMarks.exec(line.text) : null;
    const isRow = closing === null && line.text.includes('|');
    if (!isRow) tableHeader = null;

    if (line.text === '' && previous) extend(blocks, line.end);
    else if (heading) {
      const level = heading[1]?.length ?? 1;
      headings = headings.slice(0, level - 1);
      add('heading', line);
      headings = [...headings, headingText(line.text.slice(heading[0].length))];
    } else if (tableHeader !== null) add('row', line, tableHeader);
    else if (isRow && delimiterRow.test(line.text.trim()) && previous?.kind === 'text') {
      tableHeader = lastLineOf(content, previous);
      extend(blocks, line.end);
    } else if (isAfterBlank || previous?.kind !== 'text') add('text', line);
    else extend(blocks, line.end);

    if (marks !== undefined && closing === null) closing = marks;
    else if (closing !== null && marks?.startsWith(closing) && line.text.trim() === marks) closing = null;
    isAfterBlank = line.text === '' && closing === null;
  }
  return blocks;
}

function headingText(text: string): string {
  return text
    .replace(/[ \t]#+$/v, '')
    .trim()
    .slice(0, maxContextChars);
}

function extend(blocks: Block[], end: number): void {
  const last = blocks.pop();
  if (last) blocks.push({ ...last, end });
}

function lastLineOf(content: string, { start, end }: Block): string {
  const text = content.slice(start, end).trimEnd();
  return text.slice(text.lastIndexOf('\n') + 1).slice(0, maxContextChars);
}
