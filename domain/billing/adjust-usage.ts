import { followedTime } from '../../db/database-clock.ts';
import { Decimal } from 'decimal.js';
import { writeAudit } from '../../db/audit/audit.ts';
import type { AdjustedPlace } from '../../db/billing/ledger/adjusted-place.ts';
import { findAdjustment, insertAdjustment, type Adjustment } from '../../db/billing/ledger/adjustments.ts';
import { money } from '../../db/money.ts';
import { iso } from '../../db/sql.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';

export interface AskedAdjustment extends Omit<Adjustment, 'at'> {
  /** Null: now, or the time of the correction that this key has already made. */
  readonly at: Date | null;
  readonly reason: string | null;
}

/** How the existing correction of a key differs from the requested one; null: no difference. */
export interface AdjustmentDifference {
  /** Cost and currency. */
  readonly amount: string | null;
  /** `none` for the workspace as a whole. */
  readonly run: string | null;
  readonly at: Date | null;
}

/** `repeat`: the key has already made this very correction. `other`: it has made a different one, and nothing was done. */
export type AdjustmentOutcome =
  | { readonly kind: 'made' | 'repeat'; readonly id: string; readonly at: Date }
  | { readonly kind: 'other'; readonly difference: AdjustmentDifference };

/**
 * Corrects the ledger of a workspace: adds a row of kind `adjustment` whose signed cost counts in the windows and the rollup of its time. Once per key, even
 * for concurrent requests; the audit log records the workspace, the amount and the reason. Totals of runs state what was metered and stay.
 */
export async function adjustUsage(
  tx: TenantTransaction,
  place: AdjustedPlace,
  { reason, ...asked }: AskedAdjustment,
): Promise<AdjustmentOutcome> {
  const adjustment = { ...asked, at: asked.at ?? followedTime(tx.em) };
  const id = await insertAdjustment(tx, place, adjustment);
  if (id === null) return knownOutcome(tx, place, asked);
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
  return { kind: 'made', id, at: adjustment.at };
}

async function knownOutcome(
  tx: TenantTransaction,
  place: AdjustedPlace,
  { key, cost, currency, at }: Omit<AskedAdjustment, 'reason'>,
): Promise<AdjustmentOutcome> {
  const known = await findAdjustment(tx, place.workspaceId, key);
  if (!known) throw new Error('an adjustment that is there was not found');
  const knownAt = new Date(iso(known.at));
  const isAmount = new Decimal(known.cost).equals(cost) && known.currency === currency;
  const [isRun, isTime] = [known.runId === place.runId, at === null || knownAt.getTime() === at.getTime()];
  if (isAmount && isRun && isTime) return { kind: 'repeat', id: known.id, at: knownAt };
  const difference = {
    amount: isAmount ? null : `${money(known.cost)} ${known.currency}`,
    run: isRun ? null : (known.runId ?? 'none'),
    at: isTime ? null : knownAt,
  };
  return { kind: 'other', difference };
}
