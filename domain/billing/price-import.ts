import { Decimal } from 'decimal.js';
import { pricesOfModels, type NewPrice, type PriceRow } from '../../db/billing/prices/model-prices.ts';
import { insertPrices, lockPrices } from '../../db/billing/prices/write-prices.ts';
import { databaseTime } from '../../db/database-time.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { completePrice, startsInPast, type PriceDraft, type PriceFault, type PriceRules } from './new-price.ts';

/** The outcome of one row of an import, actual or predicted. */
export type PriceOutcome =
  | { readonly outcome: 'created'; readonly priceId: string | null; readonly price: NewPrice; readonly replaces: PriceRow | null }
  | { readonly outcome: 'unchanged'; readonly priceId: string | null; readonly price: NewPrice }
  | { readonly outcome: 'rejected'; readonly fault: PriceFault };

export interface ImportOptions {
  /** Stores nothing; `created` then means would be created. */
  readonly isDryRun: boolean;
  readonly rules: PriceRules;
}

/** A price that is stored or will be by an earlier row; `startsAt` in milliseconds. */
interface Known {
  readonly startsAt: number;
  readonly price: string;
  readonly row: PriceRow | null;
}

/**
 * Stores each row that keeps the rules and returns the outcome of each, in the order of the rows: a price equal to the one in force at its beginning is
 * `unchanged`, so that the same file can be imported again, even concurrently. Sends four statements, however many rows.
 */
export async function importPrices(
  tx: Pick<TenantTransaction, 'em'>,
  drafts: readonly PriceDraft[],
  { isDryRun, rules }: ImportOptions,
): Promise<PriceOutcome[]> {
  if (!isDryRun) await lockPrices(tx.em);
  const now = await databaseTime(tx.em);
  const completed = drafts.map((draft) => completePrice(draft, rules));
  const models = new Set(completed.flatMap((price) => ('rule' in price ? [] : [price.model])));
  const known = timelinesOf(await pricesOfModels(tx.em, [...models]));
  const planned = planAll(completed, known, now);
  if (isDryRun) return planned;

  const created = planned.flatMap((outcome) => (outcome.outcome === 'created' ? [outcome.price] : []));
  const inserted = new Map((await insertPrices(tx.em, created)).map((price) => [keyOf(price), price.id]));
  return planned.map((outcome) => {
    if (outcome.outcome === 'rejected' || outcome.priceId !== null) return outcome;
    // Of one series at most one price begins at an instant, so the key identifies an inserted row.
    const priceId = inserted.get(keyOf(outcome.price)) ?? null;
    if (outcome.outcome === 'unchanged') return { ...outcome, priceId };
    return priceId === null ? rejected(taken) : { ...outcome, priceId };
  });
}

const taken: PriceFault = {
  field: 'effective_from',
  rule: 'already_exists',
  message: 'is taken: another price begins at the same time',
};

/** Judges rows in the order in which they begin: a price may come before the one that it replaces in the file. */
function planAll(completed: readonly (NewPrice | PriceFault)[], known: Map<string, Known[]>, now: Date): PriceOutcome[] {
  const startOf = (price: NewPrice | PriceFault) => ('rule' in price ? 0 : (price.effectiveFrom ?? now).getTime());
  const planned: PriceOutcome[] = [];
  for (const [at, price] of [...completed.entries()].toSorted(([, left], [, right]) => startOf(left) - startOf(right)))
    planned[at] = 'rule' in price ? rejected(price) : plan(price, known, now);
  return planned;
}

function plan(price: NewPrice, known: Map<string, Known[]>, now: Date): PriceOutcome {
  const series = seriesOf(price);
  const timeline = known.get(series) ?? [];
  const startsAt = (price.effectiveFrom ?? now).getTime();
  const before = timeline.findLast((entry) => entry.startsAt <= startsAt) ?? null;

  if (before !== null && new Decimal(before.price).equals(price.price))
    return { outcome: 'unchanged', priceId: before.row?.id ?? null, price: { ...price, effectiveFrom: new Date(before.startsAt) } };
  if (before?.startsAt === startsAt) return rejected(taken);
  const past = startsInPast(price, now);
  if (past) return rejected(past);

  const added = { startsAt, price: price.price, row: null };
  known.set(
    series,
    [...timeline, added].toSorted((left, right) => left.startsAt - right.startsAt),
  );
  // All prices that begin now begin at the same instant.
  return { outcome: 'created', priceId: null, price: { ...price, effectiveFrom: new Date(startsAt) }, replaces: before?.row ?? null };
}

function timelinesOf(prices: readonly PriceRow[]): Map<string, Known[]> {
  const timelines = new Map<string, Known[]>();
  for (const row of prices) {
    const timeline = timelines.get(seriesOf(row)) ?? [];
    timelines.set(seriesOf(row), [...timeline, { startsAt: Date.parse(row.effectiveFrom), price: row.price, row }]);
  }
  return timelines;
}

function seriesOf({ model, tier, bucket, currency }: Pick<NewPrice, 'model' | 'tier' | 'bucket' | 'currency'>): string {
  return JSON.stringify([model, tier, bucket, currency]);
}

function keyOf(price: NewPrice | PriceRow, now = new Date(0)): string {
  const { effectiveFrom } = price;
  const startsAt = typeof effectiveFrom === 'string' ? Date.parse(effectiveFrom) : (effectiveFrom ?? now).getTime();
  return `${seriesOf(price)} ${startsAt}`;
}

function rejected(fault: PriceFault): PriceOutcome {
  return { outcome: 'rejected', fault };
}
