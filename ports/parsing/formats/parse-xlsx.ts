import readXlsxFile from 'read-excel-file/node';
import { nameOf } from '../text/clean.ts';
import { KeyMaker } from '../text/keys.ts';
import { ParseFailure, type FileParser } from '../parsed.ts';
import { cutRows, type TableRow } from './table.ts';
import { openZip } from './zip.ts';

/** A workbook: items made of rows of each sheet. Values as they were last computed; formulas are not evaluated. */
export const parseXlsx: FileParser = async function* (input) {
  (await openZip(input.path)).close(); // checks the limits of a zip file before it is unpacked
  const sheets = await readXlsxFile(input.path, { trim: true }).catch((error: unknown) => {
    throw new ParseFailure(
      'malformed',
      `The workbook can't be read: ${(error instanceof Error ? error.message : String(error)).slice(0, 200)}`,
    );
  });
  const keys = new KeyMaker();
  for (const { sheet, data } of sheets) {
    const title = [nameOf(input.filename), sheet].filter(Boolean).join(' › ');
    yield* cutRows(rowsOf(data), { title, metadata: { sheet: sheet.slice(0, 200) }, keys, path: [sheet], warn: input.warn });
  }
};

async function* rowsOf(data: readonly (readonly unknown[])[]): AsyncGenerator<TableRow> {
  for (const [index, row] of data.entries()) yield { cells: row.map(cellText), number: index + 1 };
}

/** Dates are stored as fractions of days, which are not exact: whole seconds are. */
function cellText(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (!(value instanceof Date)) return String(value);
  const ms = Math.round(value.getTime() / 1_000) * 1_000;
  return Number.isNaN(ms) ? '' : new Date(ms).toISOString().replace(/T00:00:00\.000Z$|\.000Z$/, '');
}
