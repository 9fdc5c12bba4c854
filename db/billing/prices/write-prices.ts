import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql, type SqlBool } from 'kysely';
import { newId } from '../../ids.ts';
import { query } from '../../query.ts';
import { change, row, rows } from '../../sql.ts';
import { priceColumns, priceNow, toPriceRow, type NewPrice, type PriceRow } from './model-prices.ts';

/** Blocks other transactions that add prices until this one ends, so that the rows with which an import compares stay unchanged. */
export async function lockPrices(em: SqlEntityManager): Promise<void> {
  await row(em, query.selectNoFrom(sql<unknown>`pg_advisory_xact_lock(hashtextextended('model prices', 0))`.as('lock')));
}

/** Inserts prices in one statement; a key that was taken meanwhile is left out. Returns the inserted prices. */
export async function insertPrices(em: SqlEntityManager, prices: readonly NewPrice[]): Promise<PriceRow[]> {
  if (prices.length === 0) return [];
  const inserted = await rows(
    em,
    query
      .insertInto('model_prices')
      .values(prices.map(valuesOf))
      .onConflict((conflict) => conflict.columns(['model', 'tier', 'bucket', 'currency', 'effectiveFrom']).doNothing())
      .returning(priceColumns),
  );
  return inserted.map(toPriceRow);
}

/** Inserts one price. A taken key violates `model_prices_effective_key` (409 `already_exists`). */
export async function insertPrice(em: SqlEntityManager, price: NewPrice): Promise<PriceRow> {
  const inserted = await row(em, query.insertInto('model_prices').values(valuesOf(price)).returning(priceColumns));
  if (!inserted) throw new Error('an insert gave no row');
  return toPriceRow(inserted);
}

/** Deletes a price that has not begun; the deleting statement itself checks this. Returns false when it has begun or no longer exists. */
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
  return {
    id: newId(),
    ...price,
    effectiveFrom: effectiveFrom === null ? priceNow : sql<string>`${effectiveFrom.toISOString()}::timestamptz`,
  };
}
