import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import type { Static } from 'typebox';
import { findForbiddenText, forbiddenViolations } from '../api/http/input/text-scan.ts';
import { validatorFor } from '../api/http/input/validator.ts';
import { PriceCreate } from '../api/operator/model-price.schema.ts';
import type { PriceDraft } from '../domain/billing/new-price.ts';
import { tagInexact } from '../workflows/contracts/tools/exact-json.ts';
import { SetupError } from './setup-error.ts';

const validator = validatorFor(PriceCreate, 'body');

/** One row of a file: a price, or what is wrong with it. `line` counts rows from 1. */
export type PriceFileRow = { readonly line: number; readonly draft: PriceDraft } | { readonly line: number; readonly wrong: string };

/**
 * Reads rows of PriceCreate from a file, validated like a body of `POST /model-prices`: a JSON array, or an object with `rows`; or CSV (RFC 4180)
 * whose first line names the fields, an empty cell being an absent field. @throws SetupError if it can't be read.
 */
export function readPriceFile(path: string): PriceFileRow[] {
  return recordsOf(path).map((record, at) => {
    const line = at + 1;
    // The text check comes last: a record that matches the schema is flat, however deeply the file is nested.
    const [fault] = [...validator.check(record, false), ...forbiddenViolations(findForbiddenText(record))];
    if (fault) return { line, wrong: `${fault.pointer || 'the row'} ${fault.message}` };
    return { line, draft: record as Static<typeof PriceCreate> }; // just checked
  });
}

/**
 * The records of a JSON or CSV file, by the name of the file. A number that a double would change is a tag (`tagInexact`).
 * @throws SetupError if it can't be read or has none.
 */
export function recordsOf(path: string): readonly unknown[] {
  const text = textOf(path);
  const records = parsed(path, text);
  if (records === null) throw new SetupError(`${path} holds no array of rows.`);
  if (records.length === 0) throw new SetupError(`${path} holds no rows.`);
  return records;
}

function parsed(path: string, text: string): readonly unknown[] | null {
  try {
    return isCsv(path) ? csvRecords(text) : jsonRecords(JSON.parse(tagInexact(text, 'all')));
  } catch (error) {
    throw new SetupError(`${path} can't be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Whether a file is CSV, by its name. */
export function isCsv(path: string): boolean {
  return path.toLowerCase().endsWith('.csv');
}

/** The text of a file, without a byte order mark. @throws SetupError when there is no such file. */
export function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    throw new SetupError(`${path} can't be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function jsonRecords(value: unknown): readonly unknown[] | null {
  if (Array.isArray(value)) return value;
  const rows: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, 'rows') : null;
  return Array.isArray(rows) ? rows : null;
}

function csvRecords(text: string): unknown[] {
  const rows: Record<string, string>[] = parse(text, { columns: true, skip_empty_lines: true, trim: true });
  return rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).flatMap(([name, cell]): [string, string | boolean][] => {
        if (cell === '') return [];
        // Spreadsheets write TRUE.
        return [[name, name === 'confirm_unusual' && /^(?:true|false)$/i.test(cell) ? cell.toLowerCase() === 'true' : cell]];
      }),
    ),
  );
}
