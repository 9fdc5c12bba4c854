import { sql } from 'kysely';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** Two currencies (ISO 4217): what one unit of `base` is worth in `quote`. */
export interface CurrencyPair {
  readonly base: string;
  readonly quote: string;
}

export interface RateInForce {
  /** Decimal, 12 places: one unit of the base currency is so many of the other. */
  readonly rate: string;
  /** The day of the rate, as the database's text; null between a currency and itself. */
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

/** The newest rate of a pair that is in force, in one query, or null where nobody has imported one. A currency in itself is 1, without a query. */
export async function rateInForce(tx: Pick<TenantTransaction, 'em'>, { base, quote }: CurrencyPair): Promise<RateInForce | null> {
  if (base === quote) return { rate: '1', asOf: null };
  return row(tx.em, newestRate({ base, quote }));
}
