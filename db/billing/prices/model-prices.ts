import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { type Expression, sql, type SqlBool } from 'kysely';
import type { PriceBucket, PriceUnit } from '../../../workflows/contracts/prices.ts';
import { mapPage, type Page, type PageRequest } from '../../page.ts';
import { preparedList } from '../../page-query.ts';
import type { ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { row, rows } from '../../sql.ts';
import { decimalText } from '../../money.ts';

/** A price that may be stored. */
export interface NewPrice {
  readonly model: string;
  readonly tier: string;
  readonly bucket: PriceBucket;
  readonly unit: PriceUnit;
  /** Decimal with at most 12 places. */
  readonly price: string;
  readonly currency: string;
  /** Null: from now on, by the database's clock. */
  readonly effectiveFrom: Date | null;
  readonly source: string | null;
}

/** A stored price; `price` in its displayed form, times as the database's text. */
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
  /** The instant at which prices are in force, ISO 8601; undefined: now. */
  readonly at: string | undefined;
}

/** Columns of a price. */
export const priceColumns = ['id', 'model', 'tier', 'bucket', 'unit', 'price', 'currency', 'effectiveFrom', 'source', 'createdAt'] as const;
/** The current time, with the precision of prices' start times. */
export const priceNow = sql<string>`date_trunc('milliseconds', clock_timestamp())`;
const maxDecimals = 12;

const inForce = preparedList(
  ({ model, tier, bucket, currency, at }: ParametersOf<PriceFilters>) => {
    const instant: Expression<string> = at ? sql<string>`${at}::timestamptz` : priceNow;
    let prices = query
      .selectFrom('model_prices as p')
      .select(priceColumns)
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

/** Lists the prices in force at an instant, the latest one for each model, tier, bucket and currency, ordered by these. */
export async function listPricesInForce(em: SqlEntityManager, filters: PriceFilters, page: PageRequest): Promise<Page<PriceRow>> {
  return mapPage(await inForce(em, filters, page), toPriceRow);
}

/** Returns all prices of some models in the order in which they begin, for comparison with new ones. */
export async function pricesOfModels(em: SqlEntityManager, models: readonly string[]): Promise<PriceRow[]> {
  const found = await rows(
    em,
    query
      .selectFrom('model_prices as p')
      .select(priceColumns)
      .where(sql<SqlBool>`p.model = any (${[...models]})`)
      .orderBy('p.effectiveFrom'),
  );
  return found.map(toPriceRow);
}

/** Returns the price and whether it has begun, or null. */
export async function findPrice(em: SqlEntityManager, priceId: string): Promise<(PriceRow & { readonly hasBegun: boolean }) | null> {
  const found = await row(
    em,
    query
      .selectFrom('model_prices as p')
      .select(priceColumns)
      .select(sql<boolean>`p.effective_from <= clock_timestamp()`.as('hasBegun'))
      .where('p.id', '=', priceId),
  );
  return found && { ...toPriceRow(found), hasBegun: found.hasBegun };
}

type StoredPrice = Omit<PriceRow, 'unit' | 'bucket'> & { readonly unit: PriceUnit; readonly bucket: PriceBucket };

/** Converts a price to its displayed form. */
export function toPriceRow(found: StoredPrice): PriceRow {
  const { id, model, tier, bucket, unit, currency, effectiveFrom, source, createdAt } = found;
  return { id, model, tier, bucket, unit, price: decimalText(found.price, maxDecimals), currency, effectiveFrom, source, createdAt };
}
