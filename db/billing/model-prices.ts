import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { type Expression, sql, type SqlBool } from 'kysely';
import type { PriceBucket, PriceUnit } from '../../workflows/contracts/prices.ts';
import { newId } from '../ids.ts';
import { mapPage, type Page, type PageRequest } from '../page.ts';
import { preparedList } from '../page-query.ts';
import type { ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { change, row, rows } from '../sql.ts';
import { decimalText } from './money.ts';

/** A price that may be stored. */
export interface NewPrice {
  readonly model: string;
  readonly tier: string;
  readonly bucket: PriceBucket;
  readonly unit: PriceUnit;
  /** Decimal of at most 12 places. */
  readonly price: string;
  readonly currency: string;
  /** Null: from now on, by the database's clock. */
  readonly effectiveFrom: Date | null;
  readonly source: string | null;
}

/** A stored price; `price` as it is shown, times as the database's text. */
export interface PriceRow extends Omit<NewPrice, 'effectiveFrom'> {
  readonly id: string;
  readonly effectiveFrom: string;
  readonly createdAt: string;
}

export interface PriceFilters {
  readonly model: string | undefined;
  readonly tier: string | undefined;
  readonly bucket: string | undefined;
  readonly currency: string | undefined;
  /** The instant at which they are in force, ISO 8601; undefined: now. */
  readonly at: string | undefined;
}

const columns = ['id', 'model', 'tier', 'bucket', 'unit', 'price', 'currency', 'effectiveFrom', 'source', 'createdAt'] as const;
const now = sql<string>`date_trunc('milliseconds', clock_timestamp())`;
const maxDecimals = 12;

const inForce = preparedList(
  ({ model, tier, bucket, currency, at }: ParametersOf<PriceFilters>) => {
    const instant: Expression<string> = at ? sql<string>`${at}::timestamptz` : now;
    let prices = query
      .selectFrom('model_prices as p')
      .select(columns)
      .where(sql<SqlBool>`p.effective_from <= ${instant}`)
      .where(
        sql<SqlBool>`not exists (select from model_prices n where (n.model, n.tier, n.bucket, n.currency) = (p.model, p.tier, p.bucket, p.currency)
          and n.effective_from > p.effective_from and n.effective_from <= ${instant})`,
      );
    if (model) prices = prices.where(sql<SqlBool>`p.model = ${model}`);
    if (tier) prices = prices.where(sql<SqlBool>`p.tier = ${tier}`);
    if (bucket) prices = prices.where(sql<SqlBool>`p.bucket = ${bucket}`);
    if (currency) prices = prices.where(sql<SqlBool>`p.currency = ${currency}`);
    return prices;
  },
  [
    { column: 'p.model', type: 'text', descending: false },
    { column: 'p.tier', type: 'text', descending: false },
    { column: 'p.bucket', type: 'text', descending: false },
    { column: 'p.currency', type: 'text', descending: false },
  ],
);

/** Prices in force at an instant: of each model, tier, bucket and currency the one that began last; by these. */
export async function listPricesInForce(em: SqlEntityManager, filters: PriceFilters, page: PageRequest): Promise<Page<PriceRow>> {
  return mapPage(await inForce(em, filters, page), shown);
}

/** All prices of some models in the order in which they begin, for who compares new ones with them. */
export async function pricesOfModels(em: SqlEntityManager, models: readonly string[]): Promise<PriceRow[]> {
  const found = await rows(
    em,
    query
      .selectFrom('model_prices as p')
      .select(columns)
      .where(sql<SqlBool>`p.model = any (${[...models]})`)
      .orderBy('p.effectiveFrom'),
  );
  return found.map(shown);
}

/** Now, by the clock that says which prices are in force. */
export async function priceClock(em: SqlEntityManager): Promise<Date> {
  const found = await row<{ now: string }>(em, 'select clock_timestamp() as now', []);
  if (!found) throw new Error('the clock gave no row');
  return new Date(found.now);
}

/** Inserts prices in one statement; a key that is taken meanwhile is left out. Gives those that were inserted. */
export async function insertPrices(em: SqlEntityManager, prices: readonly NewPrice[]): Promise<PriceRow[]> {
  if (prices.length === 0) return [];
  const inserted = await rows(
    em,
    query
      .insertInto('model_prices')
      .values(prices.map(valuesOf))
      .onConflict((conflict) => conflict.columns(['model', 'tier', 'bucket', 'currency', 'effectiveFrom']).doNothing())
      .returning(columns),
  );
  return inserted.map(shown);
}

/** Inserts one price. A taken key is the fault `model_prices_effective_key` (409 `already_exists`). */
export async function insertPrice(em: SqlEntityManager, price: NewPrice): Promise<PriceRow> {
  const inserted = await row(em, query.insertInto('model_prices').values(valuesOf(price)).returning(columns));
  if (!inserted) throw new Error('an insert gave no row');
  return shown(inserted);
}

/** The price and whether it has begun; null where there is none. */
export async function findPrice(em: SqlEntityManager, priceId: string): Promise<(PriceRow & { readonly hasBegun: boolean }) | null> {
  const found = await row(
    em,
    query
      .selectFrom('model_prices as p')
      .select(columns)
      .select(sql<boolean>`p.effective_from <= clock_timestamp()`.as('hasBegun'))
      .where('p.id', '=', priceId),
  );
  return found && { ...shown(found), hasBegun: found.hasBegun };
}

/** Deletes a price that has not begun, judged in the deleting statement itself. False: it has begun, or is gone. */
export async function deleteUpcomingPrice(em: SqlEntityManager, priceId: string): Promise<boolean> {
  const deleted = await change(
    em,
    query
      .deleteFrom('model_prices')
      .where('id', '=', priceId)
      .where(sql<SqlBool>`effective_from > clock_timestamp()`),
  );
  return deleted > 0;
}

function valuesOf({ effectiveFrom, ...price }: NewPrice) {
  return { id: newId(), ...price, effectiveFrom: effectiveFrom === null ? now : sql<string>`${effectiveFrom.toISOString()}::timestamptz` };
}

type StoredPrice = Omit<PriceRow, 'unit' | 'bucket'> & { readonly unit: PriceUnit; readonly bucket: PriceBucket };

function shown(found: StoredPrice): PriceRow {
  const { id, model, tier, bucket, unit, currency, effectiveFrom, source, createdAt } = found;
  return { id, model, tier, bucket, unit, price: decimalText(found.price, maxDecimals), currency, effectiveFrom, source, createdAt };
}
