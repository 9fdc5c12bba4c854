import type { KeyMaker } from '../text/keys.ts';
import { titleOf } from '../text/clean.ts';
import { parseLimits, type ParsedPart, type ParseInput } from '../parsed.ts';

/** A row in the order of its columns, and its number in the file, from 1. */
export interface TableRow {
  readonly cells: readonly string[];
  readonly number: number;
}

export interface TableOptions {
  /** File or sheet. */
  readonly title: string | null;
  readonly metadata?: ParsedPart['metadata'];
  readonly keys: KeyMaker;
  /** The first segments of the parts' keys. */
  readonly path: readonly string[];
  readonly warn: ParseInput['warn'];
}

/** Maximum characters of an item of a table, unless a single row is longer. */
const maxPartChars = 100_000;
const maxHeaderChars = 8_000;
const maxCellChars = 20_000;

/**
 * Yields items of at most 500 rows, each a Markdown table that begins with the header: the first row, when all its cells are names. Only one item is in memory
 * at a time.
 */
export async function* cutRows(rows: AsyncIterable<TableRow>, options: TableOptions): AsyncGenerator<ParsedPart> {
  let header: string | null = null;
  let names: readonly string[] = [];
  let held: TableRow[] = [];
  let heldChars = 0;
  for await (const row of rows) {
    if (row.cells.every((cell) => cell.trim() === '')) continue;
    if (header === null) {
      const isHeader = looksLikeHeader(row.cells);
      names = isHeader ? row.cells : row.cells.map((_, index) => `Column ${index + 1}`);
      header = headerOf(names);
      if (isHeader) continue;
    }
    const chars = row.cells.reduce((sum, cell) => sum + cell.length + 3, 0);
    if (held.length === parseLimits.rowsPerPart || (heldChars + chars > maxPartChars && held.length > 0)) {
      yield tablePart(held, header, options);
      held = [];
      heldChars = 0;
    }
    held.push(row);
    heldChars += chars;
  }
  if (held.length > 0) yield tablePart(held, header ?? '', options);
  else if (names.length > 0) yield tablePart([{ cells: names, number: 1 }], '', options);
}

/** Returns the header of a table in Markdown (GFM). */
export function headerOf(names: readonly string[]): string {
  const line = lineOf(names.map((name) => name.slice(0, 200).toWellFormed()));
  return line.length > maxHeaderChars ? '' : `${line}\n|${' --- |'.repeat(names.length)}\n`;
}

/** Returns one row of a table in Markdown: no line breaks, `|` escaped. */
export function lineOf(cells: readonly string[]): string {
  return `| ${cells
    .map((cell) =>
      cell
        .trim()
        .replaceAll(/\s*[\r\n]+\s*/g, ' ')
        .replaceAll('|', String.raw`\|`),
    )
    .join(' | ')} |`;
}

function tablePart(rows: readonly TableRow[], header: string, { title, metadata, keys, path, warn }: TableOptions): ParsedPart {
  const first = rows[0]?.number ?? 1;
  const last = rows.at(-1)?.number ?? first;
  const content = header + rows.map((row) => lineOf(shortened(row, warn))).join('\n');
  const isShort = content.length <= parseLimits.contentChars;
  if (!isShort) warn('shortened', `Row ${first} is longer than an item can be; its end was omitted.`);
  return {
    key: keys.keyOf(...path, `rows ${first}`),
    title: titleOf([title, `rows ${first}–${last}`].filter(Boolean).join(', ')),
    content: isShort ? content : content.slice(0, parseLimits.contentChars - 1).toWellFormed(),
    metadata: { ...metadata, first_row: first, last_row: last },
  };
}

function shortened({ cells, number }: TableRow, warn: ParseInput['warn']): readonly string[] {
  if (!cells.some((cell) => cell.length > maxCellChars)) return cells;
  warn('shortened', `A cell of row ${number} has more than ${maxCellChars} characters; its end was omitted.`);
  return cells.map((cell) => cell.slice(0, maxCellChars).toWellFormed());
}

/** Whether the cells are names: none empty except at the end, none a number or date, no two alike. */
function looksLikeHeader(cells: readonly string[]): boolean {
  const names = cells.map((cell) => cell.trim());
  while (names.at(-1) === '') names.pop();
  const isName = (name: string) => name !== '' && name.length <= 200 && !/^[-+€$£]?[\d.,:/ -]+%?$/.test(name);
  return names.length > 0 && names.every(isName) && new Set(names).size === names.length;
}
