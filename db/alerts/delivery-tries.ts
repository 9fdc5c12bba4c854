import { sql } from 'kysely';
import { query } from '../query.ts';
import { change, row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** A delivery whose next try is due, counted already. */
export type DueDelivery = NonNullable<Awaited<ReturnType<typeof claimTry>>>;

/** Counts a try of a delivery that is due, before it is made. Null: it is over, gone, or not due yet. */
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

/** Milliseconds until the next try of a delivery; null when it is over or gone. */
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

/** Where the rule of a delivery lies, and whether it is still in force; null when it is gone. */
export function readRuleOf(tx: TenantTransaction, ruleId: string) {
  return row(
    tx.em,
    query.selectFrom('alert_rules').where('id', '=', ruleId).where('deletedAt', 'is', null).select(['workspaceId', 'isActive']),
  );
}

/** What a try has come to, as it is stored. */
export interface StoredTry {
  readonly status: 'sent' | 'failed' | 'dead';
  readonly lastStatus: number | null;
  readonly lastError: string | null;
  readonly latencyMs: number;
  readonly delayMs: number | null;
}

/** Stores what a try came to; one that was stored by a later try stays. */
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
