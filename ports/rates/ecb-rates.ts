import { Decimal } from 'decimal.js';

/** The euro reference rates of one day, as the European Central Bank publishes them: how much of each currency one euro is. */
export interface EuroRates {
  /** `2026-10-30`. */
  readonly day: string;
  readonly perEuro: ReadonlyMap<string, Decimal>;
}

const dayNames = /^(\d{1,2}) (January|February|March|April|May|June|July|August|September|October|November|December) (\d{4})$/;
const months = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December'];

/**
 * Reads the newest day of a CSV file of the bank: `eurofxref.csv` of the day (`30 October 2026`) or `eurofxref-hist.csv` of all days (`2026-10-30`), from
 * https://www.ecb.europa.eu/stats/eurofxref/. Both begin with `Date` and end their lines with a comma; `N/A` and an empty cell mean no rate. Null: it is
 * another file.
 * @throws Error that names the line whose format differs from the bank's.
 */
export function readEuroRates(text: string): EuroRates | null {
  const [head, ...lines] = text.split(/\r?\n/).map((line) => line.split(',').map((cell) => cell.trim()));
  if (head?.[0] !== 'Date' || !head.slice(1).every((name) => name === '' || /^[A-Z]{3}$/.test(name))) return null;

  const days = lines.flatMap((cells, at) => (cells[0] === '' ? [] : [{ cells, at, day: dayOf(cells[0] ?? '') }]));
  const bad = days.find(({ day }) => day === null);
  if (bad) throw new Error(`line ${bad.at + 2} begins with no day`);
  const [newest] = days.toSorted((left, right) => ((left.day ?? '') < (right.day ?? '') ? 1 : -1));
  if (!newest?.day) throw new Error('it holds no day');

  const perEuro = new Map<string, Decimal>();
  for (const [column, name] of head.entries()) {
    const cell = newest.cells[column] ?? '';
    if (column === 0 || name === '' || cell === '' || cell === 'N/A') continue;
    if (!/^\d+(?:\.\d+)?$/.test(cell) || Number(cell) === 0) throw new Error(`line ${newest.at + 2} has no rate of ${name}`);
    perEuro.set(name, new Decimal(cell));
  }
  return { day: newest.day, perEuro };
}

function dayOf(text: string): string | null {
  const named = dayNames.exec(text);
  const day = named
    ? `${named[3]}-${String(months.indexOf(named[2] ?? '') + 1).padStart(2, '0')}-${(named[1] ?? '').padStart(2, '0')}`
    : text;
  if (!/^\d{4}-\d{2}-\d{2}$/.test(day)) return null;
  const parsed = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(parsed.getTime()) && parsed.toISOString().startsWith(day) ? day : null;
}
