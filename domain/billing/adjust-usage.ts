import { Decimal } from 'decimal.js';
import { writeAudit } from '../../db/audit/audit.ts';
import type { AdjustedPlace } from '../../db/billing/adjusted-place.ts';
import { findAdjustment, insertAdjustment, type Adjustment } from '../../db/billing/adjustments.ts';
import { money } from '../../db/billing/money.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';

export interface AskedAdjustment extends Adjustment {
  readonly reason: string | null;
}

/** `repeat`: the key has made this very correction before. `other`: it has made another one, and nothing was done. */
export type AdjustmentOutcome =
  | { readonly kind: 'made' | 'repeat'; readonly id: string }
  | { readonly kind: 'other'; readonly cost: string; readonly currency: string };

/**
 * Corrects the ledger of a workspace: a row of kind `adjustment` whose cost, with its sign, counts in the windows and the rollup of its time. Once a key, also
 * when it is asked for twice at once; the audit log says who was corrected, by how much and why. Totals of runs say what was metered and stay.
 */
export async function adjustUsage(
  tx: TenantTransaction,
  place: AdjustedPlace,
  { reason, ...adjustment }: AskedAdjustment,
): Promise<AdjustmentOutcome> {
  const id = await insertAdjustment(tx, place, adjustment);
  if (id === null) return knownOutcome(tx, place, adjustment);
  await writeAudit(tx, {
    action: 'create',
    operationId: null,
    note: {
      resourceType: 'usage_entry',
      resourceId: id,
      organizationId: place.organizationId,
      workspaceId: place.workspaceId,
      changes: {
        cost: { to: money(adjustment.cost) },
        currency: { to: adjustment.currency },
        run_id: { to: place.runId },
        occurred_at: { to: adjustment.at.toISOString() },
        reason: { to: reason },
      },
    },
    ip: null,
    userAgent: null,
  });
  return { kind: 'made', id };
}

async function knownOutcome(tx: TenantTransaction, place: AdjustedPlace, { key, cost, currency }: Adjustment): Promise<AdjustmentOutcome> {
  const known = await findAdjustment(tx, place.workspaceId, key);
  if (!known) throw new Error('an adjustment that is there was not found');
  const isSame = new Decimal(known.cost).equals(cost) && known.currency === currency && known.runId === place.runId;
  return isSame ? { kind: 'repeat', id: known.id } : { kind: 'other', cost: money(known.cost), currency: known.currency };
}
