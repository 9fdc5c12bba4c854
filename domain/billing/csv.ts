/** What a cell holds: text is guarded against formulas, numbers never. Null is empty. */
export type CsvCell = { readonly text: string | null } | { readonly number: string | number | null } | boolean;

/** Spreadsheets take a cell that begins so for a formula, also one that was quoted. */
const formula = /^[=+\-@\t\r]/;
const special = /[",\r\n]/;

/** One record by RFC 4180 §2: cells by commas, quoted where they hold a quote, a comma or a break, CRLF at the end. A text that a spreadsheet would run gets a leading `'`. */
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
