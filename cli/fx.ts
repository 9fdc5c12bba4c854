import { fileURLToPath } from 'node:url';
import { Decimal } from 'decimal.js';
import { formats } from '../api/http/input/formats.ts';
import { isForbiddenText } from '../api/http/input/text-scan.ts';
import type { NewRate } from '../db/billing/prices/fx-rates.ts';
import { isCurrency } from '../db/tenancy/organizations/zones.ts';
import { sweep } from '../db/transaction.ts';
import { readDecimal } from '../domain/billing/decimal-input.ts';
import { storeFirstRates, storeRates } from '../domain/billing/fx-rates.ts';
import { readEuroRates, type EuroRates } from '../ports/rates/ecb-rates.ts';
import { withDeployment } from './attach.ts';
import type { Attached } from './databases.ts';
import { billingCurrencyOf, type CliEnv } from './env.ts';
import { isCsv, recordsOf, textOf } from './price-file.ts';
import { SetupError } from './setup-error.ts';

export interface FxCommand {
  readonly env: CliEnv;
  readonly log: (line: string) => void;
  /** A CSV of the European Central Bank, or JSON or CSV with custom rates; undefined: the bank's file shipped with Longhaul. */
  readonly file: string | undefined;
}

/** The unchanged file of the bank for one day; its name has the date. */
const shippedFile = fileURLToPath(new URL('../ports/rates/eurofxref-2026-10-30.csv', import.meta.url));
const maxDecimals = 12;

/**
 * `longhaul fx import [FILE]`: stores the exchange rates of the billing currency, valid from the day of the file on.
 * A pair that already has a rate for that day keeps it, so that the command can be repeated.
 */
export async function fxImport({ env, log, file }: FxCommand): Promise<void> {
  await withDeployment({ env, log }, async (attached) => {
    const base = billingCurrencyOf(attached.variables);
    const rates = ratesOf(file ?? shippedFile, base);
    const created = await sweep(attached.db, (em) => storeRates(em, rates));
    log(`${created} rates created, ${rates.length - created} were there: ${base} from ${rates[0]?.effectiveFrom.slice(0, 10)} on.`);
  });
}

/** Stores the shipped rates if the billing currency has none at all, so that budgets in other currencies are possible from the start. */
export async function fillRates({ db, variables }: Pick<Attached, 'db' | 'variables'>): Promise<void> {
  const base = billingCurrencyOf(variables);
  const rates = euroRatesOf(shippedFile);
  if (rates === null || (base !== 'EUR' && !rates.perEuro.has(base))) return;
  await sweep(db, (em) => storeFirstRates(em, { base, rates: crossRates(rates, base) }));
}

function ratesOf(path: string, base: string): NewRate[] {
  const euros = isCsv(path) ? euroRatesOf(path) : null;
  if (euros === null) return recordsOf(path).map((record, at) => ownRate(record, at + 1));
  if (base !== 'EUR' && !euros.perEuro.has(base)) throw new SetupError(`${path} has no rate for ${base}, the billing currency.`);
  refuseComing(euros.day, path);
  return crossRates(euros, base);
}

function euroRatesOf(path: string): EuroRates | null {
  try {
    return readEuroRates(textOf(path));
  } catch (error) {
    if (error instanceof SetupError) throw error;
    throw new SetupError(
      `${path} does not have the format of the European Central Bank: ${error instanceof Error ? error.message : String(error)}.`,
    );
  }
}

/** Returns the rates from the base to each other currency of the day, computed through the euro, with the published figures in the source. */
function crossRates({ day, perEuro }: EuroRates, base: string): NewRate[] {
  const all = new Map([['EUR', new Decimal(1)], ...perEuro]);
  const ofBase = all.get(base) ?? new Decimal(1);
  return [...all].flatMap(([quote, perOne]): NewRate[] =>
    quote === base
      ? []
      : [
          {
            base,
            quote,
            rate: perOne.dividedBy(ofBase).toDecimalPlaces(maxDecimals).toFixed(),
            effectiveFrom: `${day}T00:00:00Z`,
            source: `European Central Bank, euro reference rates of ${day}: EUR 1 = ${quote} ${perOne.toFixed()} = ${base} ${ofBase.toFixed()}`,
          },
        ],
  );
}

const fields = ['base', 'quote', 'rate', 'effective_from', 'source'] as const;

function ownRate(record: unknown, line: number): NewRate {
  const refuse = (what: string): never => {
    throw new SetupError(`Row ${line}: ${what}. Nothing was imported.`);
  };
  const [base = '', quote = '', rate = '', day = '', source = ''] = fields.map((name) => {
    const value: unknown = typeof record === 'object' && record !== null ? Reflect.get(record, name) : null;
    return typeof value === 'string' || typeof value === 'number' ? String(value) : refuse(`${name} is missing`);
  });
  if (!isCurrency(base) || !isCurrency(quote) || base === quote) refuse('base and quote must be two different ISO 4217 currency codes');
  const read = readDecimal(rate, { maxDecimals });
  if (!('value' in read)) return refuse(`rate ${read.message}`);
  if (new Decimal(read.value).isZero() || new Decimal(read.value).greaterThanOrEqualTo(1e8))
    refuse('rate must be between 0 and 100,000,000');
  if (!formats.date(day)) refuse('effective_from must be a date such as 2026-10-30');
  if (source === '' || source.length > 200 || isForbiddenText(source))
    refuse('source must say where the rate was read, in at most 200 characters');
  refuseComing(day, `Row ${line}`);
  return { base, quote, rate: read.value, effectiveFrom: `${day}T00:00:00Z`, source };
}

function refuseComing(day: string, what: string): void {
  if (Date.parse(day) > Date.now()) throw new SetupError(`${what}: ${day} is in the future. Nothing was imported.`);
}
