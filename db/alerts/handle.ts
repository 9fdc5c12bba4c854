import { query } from '../query.ts';
import { change, row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { Alert } from './alert.entity.ts';
import type { AlertRow } from './alerts.ts';

/** Locks the state of the group that an open alert belongs to, before the alert itself: in the same order as the tick. */
export async function lockStateOf(tx: Pick<TenantTransaction, 'em'>, { ruleId, fingerprint }: Pick<AlertRow, 'ruleId' | 'fingerprint'>) {
  await row(
    tx.em,
    query.selectFrom('alert_states').where('ruleId', '=', ruleId).where('fingerprint', '=', fingerprint).select('ruleId').forUpdate(),
  );
}

/** Resets the group of an alert that a person has resolved: no new alert of it opens before `quietUntil`. */
export async function quietGroup(
  tx: TenantTransaction,
  alertId: string,
  { at, quietUntil }: { readonly at: Date; readonly quietUntil: Date },
) {
  await change(
    tx.em,
    query
      .updateTable('alert_states')
      .set({ state: 'ok', level: null, since: at, fineSince: null, noneSince: null, alertId: null, quietUntil })
      .where('alertId', '=', alertId),
  );
}

/** Stores what users set on an open alert. */
export async function setAlertMarks(
  tx: TenantTransaction,
  alertId: string,
  marks: Partial<Pick<Alert, 'acknowledgedAt' | 'acknowledgedByUserId' | 'snoozedUntil'>>,
): Promise<void> {
  await change(
    tx.em,
    query
      .updateTable('alerts')
      .set(({ eb }) => ({ ...marks, version: eb('version', '+', 1) }))
      .where('id', '=', alertId),
  );
}
