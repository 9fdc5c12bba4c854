/** The content of a cell: text is guarded against formulas, numbers never are. Null is empty. */
export type CsvCell = { readonly text: string | null } | { readonly number: string | number | null } | boolean;

/** Spreadsheets take a cell that begins with one of these for a formula, even a quoted one. */
const formula = /^[=+\-@\t\r]/;
const special = /[",\r\n]/;

/**
 * Returns one record by RFC 4180 §2: cells separated by commas, quoted if they contain a quote, a comma or a line break, CRLF at the end. A text that a
 * spreadsheet would run gets a leading `'`.
 */
export function csvRecord(cells: readonly CsvCell[]): string {
  return `${cells.map(written).join(',')}\r\n`;
}

function written(cell: CsvCell): string {
  if (typeof cell === 'boolean') return String(cell);
  if ('number' in cell) return cell.number === null ? '' : String(cell.number);
  if (cell.text === null) return '';
  const text = formula.test(cell.text) ? `'${cell.text}` : cell.text;
  return special.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
