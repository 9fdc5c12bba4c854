import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { pricesInForceSql, standardTier, type PinnedPrice } from '../prices/prices.ts';

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

/** Reads the prices of a model and the budgets and caps above a call to it, in one query. */
export async function readTerms(
  tx: TenantTransaction,
  model: { readonly id: string; readonly currency: string },
  place: CallPlace,
): Promise<CallTerms> {
  const found = await row<{ at: string; prices: PinnedPrice[]; has_budget: boolean; is_bounded: boolean; has_cap: boolean }>(
    tx.em,
    `select clock_timestamp() as at,
            coalesce((select jsonb_agg(jsonb_build_object('id', p.id, 'bucket', p.bucket, 'price', p.price) order by p.bucket) from (${pricesInForceSql}) p), '[]') as prices,
            exists (select from budgets g where g.workspace_id = ?) as has_budget,
            exists (select from budgets g where g.workspace_id = ? and g.is_enforced and g.limit_amount is not null) as is_bounded,
            exists (select from budget_windows b where b.cap_key = any (?) and b.closed_at is null) as has_cap`,
    [model.id, standardTier, model.currency, place.workspaceId, place.workspaceId, [...place.caps]],
  );
  if (!found) throw new Error('the terms of a call gave no row');
  return { at: new Date(found.at), prices: found.prices, isCounted: found.has_budget || found.has_cap, isBounded: found.is_bounded };
}
