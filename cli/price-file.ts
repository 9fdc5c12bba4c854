import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import Type, { type Static, type TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import type { PriceDraft } from '../domain/billing/new-price.ts';
import { priceBuckets, priceUnits } from '../workflows/contracts/prices.ts';
import { SetupError } from './setup-error.ts';

const Time = Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}(?::\\d{2}(?:\\.\\d{1,9})?)?(?:Z|[+-]\\d{2}:\\d{2})$' });
const Row = Type.Object(
  {
    model: Type.String({ minLength: 1, maxLength: 120 }),
    tier: Type.Optional(Type.String({ minLength: 1, maxLength: 40 })),
    bucket: Type.Union(priceBuckets.map((bucket) => Type.Literal(bucket))),
    unit: Type.Optional(Type.Union(priceUnits.map((unit) => Type.Literal(unit)))),
    price: Type.Union([Type.String({ maxLength: 40 }), Type.Number()]),
    currency: Type.Optional(Type.String({ minLength: 3, maxLength: 3 })),
    effective_from: Type.Optional(Time),
    source: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
    confirm_unusual: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
);
const validator = Compile(Row as TSchema); // the type of a union of literals that are mapped is lost; Static of Row has it

/** One row of a file: a price, or what is wrong with it. `line` counts rows from 1. */
export type PriceFileRow = { readonly line: number; readonly draft: PriceDraft } | { readonly line: number; readonly wrong: string };

/**
 * Rows of PriceCreate in a file: a JSON array, or an object with `rows`; or CSV (RFC 4180) whose first line names the fields, an empty cell being a field
 * that is not there. @throws SetupError when it can't be read.
 */
export function readPriceFile(path: string): PriceFileRow[] {
  return recordsOf(path).map((record, at) => {
    const line = at + 1;
    if (validator.Check(record)) {
      const draft = record as Static<typeof Row>; // just checked
      if (draft.effective_from === undefined || !Number.isNaN(Date.parse(draft.effective_from))) return { line, draft };
      return { line, wrong: 'effective_from is no instant' };
    }
    const [fault] = validator.Errors(record);
    return { line, wrong: `${fault?.instancePath || 'the row'} ${fault?.message ?? 'is not valid'}` };
  });
}

/** The records of a JSON or CSV file, by the name of the file. @throws SetupError when it can't be read. */
export function recordsOf(path: string): readonly unknown[] {
  const text = textOf(path);
  try {
    const records = path.endsWith('.csv') ? csvRecords(text) : jsonRecords(JSON.parse(text));
    if (records !== null) return records;
  } catch (error) {
    throw new SetupError(`${path} can't be read: ${error instanceof Error ? error.message : String(error)}`);
  }
  throw new SetupError(`${path} holds no array of rows.`);
}

/** @throws SetupError when there is no such file. */
export function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
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
  const rows: Record<string, string>[] = parse(text, { columns: true, bom: true, skip_empty_lines: true, trim: true });
  return rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).flatMap(([name, cell]): [string, string | boolean][] => {
        if (cell === '') return [];
        return [[name, name === 'confirm_unusual' && /^(?:true|false)$/.test(cell) ? cell === 'true' : cell]];
      }),
    ),
  );
}
