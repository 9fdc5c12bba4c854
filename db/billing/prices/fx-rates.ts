import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { newId } from '../../ids.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { change, row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** Two currencies (ISO 4217): what one unit of `base` is worth in `quote`. */
export interface CurrencyPair {
  readonly base: string;
  readonly quote: string;
}

export interface RateInForce {
  /** Decimal, 12 places: one unit of the base currency is worth this many of the other. */
  readonly rate: string;
  /** The day of the rate, as the database's text; null when both currencies are the same. */
  readonly asOf: string | null;
}

const newestRate = prepared(({ base, quote }: ParametersOf<CurrencyPair>) =>
  query
    .selectFrom('fx_rates as f')
    .select(['f.rate', 'f.effectiveFrom as asOf'])
    .where('f.base', '=', base)
    .where('f.quote', '=', quote)
    .where('f.effectiveFrom', '<=', sql<string>`clock_timestamp()`)
    .orderBy('f.effectiveFrom', 'desc')
    .limit(1),
);

/** Returns the newest rate of a pair in force, in one query, or null when none has been imported. The rate of a currency to itself is 1, without a query. */
export async function rateInForce(tx: Pick<TenantTransaction, 'em'>, { base, quote }: CurrencyPair): Promise<RateInForce | null> {
  if (base === quote) return { rate: '1', asOf: null };
  return row(tx.em, newestRate({ base, quote }));
}

/** A rate that may be stored: a decimal with at most 12 places, a time in ISO 8601. */
export interface NewRate extends CurrencyPair {
  readonly rate: string;
  readonly effectiveFrom: string;
  /** Where it was read, with its day. */
  readonly source: string;
}

/** Inserts rates in one statement; a pair that already has a rate of that day keeps it. Returns how many are new. */
export async function insertRates(em: SqlEntityManager, rates: readonly NewRate[]): Promise<number> {
  if (rates.length === 0) return 0;
  return change(
    em,
    query
      .insertInto('fx_rates')
      .values(
        rates.map(({ effectiveFrom, ...rate }) => ({ id: newId(), ...rate, effectiveFrom: sql<string>`${effectiveFrom}::timestamptz` })),
      )
      .onConflict((conflict) => conflict.columns(['base', 'quote', 'effectiveFrom']).doNothing()),
  );
}

/** Whether a rate of a currency has been imported. */
export async function hasRates(em: SqlEntityManager, base: string): Promise<boolean> {
  return (await row(em, query.selectFrom('fx_rates').select('id').where('base', '=', base).limit(1))) !== null;
}
