import { sql } from 'kysely';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { pricesInForce, type PinnedPrice, type PricedModel } from '../prices/prices.ts';

/** The terms by which a model call is checked and priced, as of its start. */
export interface CallTerms {
  /** The prices in force, one per bucket, pinned for the call. */
  readonly prices: readonly PinnedPrice[];
  /** A budget counts it or a cap bounds it, so it is reserved before it is made. */
  readonly isCounted: boolean;
  /** When the terms were read, by the database's clock: it assigns a call that is not counted to the windows that are opened later. */
  readonly at: Date;
  /** An enforced budget bounds it. */
  readonly isBounded: boolean;
}

export interface CallPlace {
  readonly workspaceId: string;
  readonly caps: readonly string[];
}

const terms = prepared(({ model, currency, workspaceId, caps }: ParametersOf<PricedModel & CallPlace>) =>
  query.selectNoFrom(({ exists, selectFrom }) => {
    const budgets = selectFrom('budgets as g').where('g.workspaceId', '=', workspaceId).select('g.id');
    const bounding = budgets.where('g.isEnforced', '=', sql.lit(true)).where('g.limitAmount', 'is not', null);
    const openCaps = selectFrom('budget_windows as b')
      .where(sql<boolean>`b.cap_key = any (${caps}::text[])`)
      .where('b.closedAt', 'is', null)
      .select('b.id');
    return [
      sql<string>`clock_timestamp()`.as('at'),
      sql<PinnedPrice[]>`coalesce((select jsonb_agg(jsonb_build_object('id', p.id, 'bucket', p.bucket, 'price', p.price) order by p.bucket)
        from ${pricesInForce({ model, currency })} p), '[]')`.as('prices'),
      exists(budgets).as('hasBudget'),
      exists(bounding).as('isBounded'),
      exists(openCaps).as('hasCap'),
    ];
  }),
);

/** Reads the prices of a model and the budgets and caps above a call to it, in one query. */
export async function readTerms(
  tx: TenantTransaction,
  model: { readonly id: string; readonly currency: string },
  { workspaceId, caps }: CallPlace,
): Promise<CallTerms> {
  const found = await row(tx.em, terms({ model: model.id, currency: model.currency, workspaceId, caps }));
  if (!found) throw new Error('the terms of a call gave no row');
  const { at, prices, hasBudget, hasCap, isBounded } = found;
  return { at: new Date(at), prices, isCounted: hasBudget === true || hasCap === true, isBounded: isBounded === true };
}
