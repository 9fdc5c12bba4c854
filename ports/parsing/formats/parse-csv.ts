import { Readable } from 'node:stream';
import { parse, type CsvError } from 'csv-parse';
import { nameOf } from '../text/clean.ts';
import { KeyMaker } from '../text/keys.ts';
import type { FileParser, ParsedPart, ParseInput } from '../parsed.ts';
import { readText } from '../text/read-text.ts';
import { cutRows, type TableRow } from './table.ts';

/** A longer record is invalid: a quote was never closed. */
const maxRecordChars = 1024 * 1024;

/** CSV (RFC 4180, and what programs write instead: `;`, tabs, quotes within cells, rows of other lengths). */
export const parseCsv: FileParser = (input) => parseTable(input, null);

export const parseTsv: FileParser = (input) => parseTable(input, '\t');

async function* parseTable(input: ParseInput, delimiter: string | null): AsyncGenerator<ParsedPart> {
  const rows = rowsOf(input, delimiter);
  yield* cutRows(rows, { title: nameOf(input.filename), keys: new KeyMaker(), path: [], warn: input.warn });
}

async function* rowsOf(input: ParseInput, delimiter: string | null): AsyncGenerator<TableRow> {
  const text = readText(input);
  const { value: head = '' } = await text.next();
  if (head === '') return;
  const parser = parse({
    delimiter: delimiter ?? delimiterOf(head),
    relaxColumnCount: true,
    relaxQuotes: true,
    skipEmptyLines: true,
    skipRecordsWithError: true,
    maxRecordSize: maxRecordChars,
    onSkip: (error) => reportBadRow(error, input.warn),
  });
  const source = Readable.from(chained(head, text));
  source.on('error', (error) => parser.destroy(error));
  source.pipe(parser);
  let number = 0;
  for await (const cells of parser) yield { cells: cells as string[], number: ++number }; // csv-parse types records as any; without columns they are string arrays
}

async function* chained(head: string, rest: AsyncIterable<string>): AsyncGenerator<string> {
  yield head;
  yield* rest;
}

function reportBadRow(error: CsvError | undefined, warn: ParseInput['warn']): undefined {
  const { lines, bytes } = { lines: undefined, bytes: undefined, ...error } as { readonly lines?: number; readonly bytes?: number }; // the context of a CsvError is an index signature
  warn('bad_row', `A row that cannot be read was omitted, before line ${lines ?? '?'}, byte ${bytes ?? '?'}.`);
}

/** Returns the delimiter that occurs most often, and equally often in each of the first lines, outside quotes. */
function delimiterOf(head: string): string {
  const lines = head
    .slice(0, 64 * 1024)
    .replaceAll(/"[^"]*"/g, '')
    .split(/\r\n|\n|\r/)
    .filter((line) => line !== '')
    .slice(0, 20);
  const scores = [',', ';', '\t', '|'].map((sign) => {
    const counts = lines.map((line) => line.split(sign).length - 1);
    const [first = 0] = counts;
    const equal = counts.filter((count) => count === first).length;
    return { sign, score: first === 0 ? 0 : (first * equal) / lines.length };
  });
  return scores.reduce((best, next) => (next.score > best.score ? next : best)).sign;
}
