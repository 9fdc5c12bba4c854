import { sql } from 'kysely';
import { query } from '../query.ts';
import { change, row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** A delivery whose next try is due and already counted. */
export type DueDelivery = NonNullable<Awaited<ReturnType<typeof claimTry>>>;

/** Counts a try of a due delivery before it is made. Returns null when it is over, deleted or not due yet. */
export function claimTry(tx: TenantTransaction, deliveryId: string) {
  return row(
    tx.em,
    query
      .updateTable('alert_deliveries')
      .set(({ eb }) => ({ attempts: eb('attempts', '+', 1) }))
      .where('id', '=', deliveryId)
      .where('status', 'in', ['queued', 'failed'])
      .where(({ eb, or }) => or([eb('nextAttemptAt', 'is', null), eb('nextAttemptAt', '<=', sql<string>`clock_timestamp()`)]))
      .returning(['id', 'organizationId', 'workspaceId', 'ruleId', 'event', 'target', 'snapshot', 'attempts', 'createdAt'])
      .returning((eb) =>
        eb.selectFrom('workspaces as w').whereRef('w.id', '=', 'alert_deliveries.workspaceId').select('w.name').as('workspaceName'),
      ),
  );
}

/** Returns the milliseconds until the next try of a delivery, or null when it is over or deleted. */
export async function waitOf(tx: TenantTransaction, deliveryId: string): Promise<number | null> {
  const found = await row(
    tx.em,
    query
      .selectFrom('alert_deliveries')
      .where('id', '=', deliveryId)
      .where('status', 'in', ['queued', 'failed'])
      .select(sql<number>`greatest(0, ceil(extract(epoch from next_attempt_at - clock_timestamp()) * 1000))::int`.as('waitMs')),
  );
  return found && (found.waitMs ?? 0);
}

/** Returns the workspace of a delivery's rule and whether the rule is active, or null when it is deleted. */
export function readRuleOf(tx: TenantTransaction, ruleId: string) {
  return row(
    tx.em,
    query.selectFrom('alert_rules').where('id', '=', ruleId).where('deletedAt', 'is', null).select(['workspaceId', 'isActive']),
  );
}

/** The outcome of a try, as it is stored. */
export interface StoredTry {
  readonly status: 'sent' | 'failed' | 'dead';
  readonly lastStatus: number | null;
  readonly lastError: string | null;
  readonly latencyMs: number;
  readonly delayMs: number | null;
}

/** Stores the outcome of a try; the outcome of a later try is not overwritten. */
export async function storeTry(
  tx: TenantTransaction,
  { id, attempts }: Pick<DueDelivery, 'id' | 'attempts'>,
  made: StoredTry,
): Promise<void> {
  const { status, lastStatus, lastError, latencyMs, delayMs } = made;
  const inDelay = delayMs === null ? null : sql<string>`clock_timestamp() + make_interval(secs => ${delayMs / 1_000}::float8)`;
  await change(
    tx.em,
    query
      .updateTable('alert_deliveries')
      .set({
        status,
        lastStatus,
        lastError: lastError?.slice(0, 300) ?? null,
        latencyMs,
        nextAttemptAt: inDelay,
        sentAt: status === 'sent' ? sql<string>`clock_timestamp()` : null,
      })
      .where('id', '=', id)
      .where('attempts', '=', attempts)
      .where('status', 'in', ['queued', 'failed']),
  );
}
