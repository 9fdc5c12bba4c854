import { parse } from 'csv-parse/sync';
import type { DatasetItem } from '../../workflows/contracts/evaluations.ts';
import { readItem, readJsonText, type ItemProblem } from './dataset-items.ts';

/** A data set as text. */
export interface DatasetJob {
  readonly format: 'jsonl' | 'csv';
  readonly text: string;
}

/** An item with the line at which it begins, counted from 1. */
export interface DatasetLine {
  readonly line: number;
  readonly item: DatasetItem;
}

/** An error in a line. */
export interface LineProblem extends ItemProblem {
  readonly line: number;
}

/** What a text contains: its items, or its errors. */
export interface DatasetReading {
  readonly items: readonly DatasetLine[];
  readonly problems: readonly LineProblem[];
}

const maxItems = 5_000;
const maxProblems = 50;

/** Runs in a child of the pool: reads JSON Lines, or CSV by RFC 4180 with a header. Returns at most 50 problems. */
export function work({ format, text }: DatasetJob): DatasetReading {
  const lines = format === 'jsonl' ? jsonLines(text) : csvRecords(text);
  const items: DatasetLine[] = [];
  const problems: LineProblem[] = [];
  let count = 0;
  for (const { line, value, fault } of lines) {
    count += 1;
    if (count > maxItems) problems.push({ line, pointer: '', rule: 'maxItems', message: `a data set can have at most ${maxItems} items` });
    const read = fault === null ? readItem(value) : [fault];
    if ('input' in read) items.push({ line, item: read });
    else problems.push(...read.map((problem) => ({ line, ...problem })));
    if (problems.length >= maxProblems || count > maxItems) break;
  }
  return { items: problems.length > 0 ? [] : items, problems: problems.slice(0, maxProblems) };
}

interface RawLine {
  readonly line: number;
  readonly value: unknown;
  readonly fault: ItemProblem | null;
}

function* jsonLines(text: string): Generator<RawLine> {
  let line = 0;
  for (const part of text.replace(/^\uFEFF/, '').split('\n')) {
    line += 1;
    const json = part.trim();
    if (json === '') continue;
    const read = readJsonText(json);
    yield 'value' in read ? { line, value: read.value, fault: null } : { line, value: null, fault: read };
  }
}

/** A record, its cells as texts whatever they look like, and the byte offset after it. */
interface CsvRecord {
  readonly record: readonly string[];
  readonly info: { readonly bytes: number };
}

function* csvRecords(text: string): Generator<RawLine> {
  let records: readonly CsvRecord[];
  try {
    const options = { bom: true, info: true, relax_column_count: true, skip_empty_lines: true, record_delimiter: ['\r\n', '\n', '\r'] };
    records = parse(text, options) as unknown as CsvRecord[]; // with `info` each record has this form
  } catch (error) {
    yield fault(lineOf(error), 'csv', 'is not valid CSV: a quote is unclosed or inside a cell');
    return;
  }
  const [head, ...rest] = records;
  if (head === undefined) return;
  const columns = head.record.map((name) => name.trim());
  const wrong = refusalOfColumns(columns);
  if (wrong !== null) {
    yield fault(1, 'columns', wrong);
    return;
  }
  const lineAt = lineCounter(Buffer.from(text));
  let start = head.info.bytes;
  for (const { record, info } of rest) {
    const line = lineAt(start);
    start = info.bytes;
    if (record.length !== columns.length) yield fault(line, 'columns', `has ${record.length} cells under ${columns.length} columns`);
    else yield { line, ...itemOf(columns, record) };
  }
}

/** Returns the line of the record that begins at a byte, or after the empty lines there; bytes come in ascending order. */
function lineCounter(bytes: Buffer): (start: number) => number {
  let at = 0;
  let line = 1;
  const isBreak = () => bytes[at] === 0x0a || bytes[at] === 0x0d;
  const countBreak = () => {
    if (isBreak() && !(bytes[at] === 0x0d && bytes[at + 1] === 0x0a)) line += 1;
  };
  return (start) => {
    for (; at < start || (at < bytes.length && isBreak()); at += 1) countBreak();
    return line;
  };
}

function fault(line: number, rule: string, message: string): RawLine {
  return { line, value: null, fault: { pointer: '', rule, message } };
}

function lineOf(error: unknown): number {
  const lines: unknown = typeof error === 'object' && error !== null && 'lines' in error ? error.lines : null;
  return typeof lines === 'number' ? lines : 1;
}

const plainColumns = new Set(['id', 'input', 'expected', 'tags', 'cluster']);

function refusalOfColumns(columns: readonly string[]): string | null {
  const unknown = columns.find((name) => !plainColumns.has(name) && !/^(?:context|vars)\../.test(name));
  if (unknown !== undefined) return 'has a column other than id, input, expected, context.…, vars.…, tags and cluster';
  if (new Set(columns).size < columns.length) return 'has the same column twice';
  const hasVars = columns.some((name) => name.startsWith('vars.'));
  if (hasVars && columns.includes('input')) return 'has both input and vars; only one of them is allowed';
  return hasVars || columns.includes('input') ? null : 'has neither input nor vars';
}

/** Returns a row as a JSON item: empty cells are absent, except those of vars and context. */
function itemOf(columns: readonly string[], record: readonly string[]): Pick<RawLine, 'value' | 'fault'> {
  const item: Record<string, unknown> = {};
  const groups: Record<'context' | 'vars', [string, string][]> = { context: [], vars: [] };
  for (const [at, name] of columns.entries()) {
    const cell = record[at] ?? '';
    if (!cell.isWellFormed() || cell.includes('\u0000'))
      return { value: null, fault: { pointer: `/${name}`, rule: 'text', message: 'contains U+0000 or a lone surrogate' } };
    const [group = '', field = ''] = name.split(/\.(.*)/s);
    if (group === 'context' || group === 'vars') groups[group].push([field, cell]);
    else if (name === 'tags')
      item['tags'] =
        cell === ''
          ? []
          : cell
              .split(';')
              .map((tag) => tag.trim())
              .filter((tag) => tag !== '');
    else if (cell !== '') item[name] = name === 'expected' ? expectedOf(cell) : cell;
  }
  if (groups.context.length > 0) item['context'] = Object.fromEntries(groups.context);
  if (groups.vars.length > 0) item['input'] = Object.fromEntries(groups.vars);
  return { value: item, fault: null };
}

/** A cell that parses as a JSON object or array becomes that value; numbers and everything else stay text. */
function expectedOf(cell: string): unknown {
  if (!/^\s*[[{]/.test(cell)) return cell;
  const read = readJsonText(cell);
  return 'value' in read ? read.value : cell;
}
