import { newId } from '../ids.ts';
import { query } from '../query.ts';
import { queueStatement, row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { emitEvent } from '../triggers/events.ts';
import type { AlertRule } from './alert-rule.entity.ts';
import { alertSnapshot } from './alert-snapshot.ts';
import type { AlertSeverity } from './alert-state.entity.ts';
import type { transitionOrigins } from './alert-transition.entity.ts';
import type { AlertLabels, AlertResolution } from './alert.entity.ts';
import { writeDeliveries } from './deliveries.ts';

/** The part of a rule that an event of one of its alerts needs. */
export type EmittingRule = Pick<AlertRule, 'id' | 'organizationId' | 'workspaceId' | 'name' | 'kind' | 'targets'>;

/** What an alert shows while it is open. `value` and `threshold` are decimals. */
interface Reading {
  readonly severity: AlertSeverity;
  readonly title: string;
  readonly value: string | null;
  readonly threshold: string | null;
}

/** Opens an alert. An alert with the same rule, fingerprint and window key, open or not, stays as it is. */
export interface Firing extends Reading {
  readonly event: 'firing';
  /** `firing`, or `no_data` where a value is missing. */
  readonly status: 'firing' | 'no_data';
  readonly fingerprint: string;
  readonly windowKey: string;
  readonly labels: AlertLabels;
  /** Default: the rule's. */
  readonly workspaceId?: string | null;
}

/** An open alert has become critical, or its notice is repeated. */
export interface Renewal extends Reading {
  readonly event: 'escalated' | 'repeated';
  readonly alertId: string;
}

/** An open alert ends. */
export interface Resolving {
  readonly event: 'resolved';
  readonly alertId: string;
  readonly resolution: AlertResolution;
  /** Default: the last value. */
  readonly value?: string | null;
  /** The user who resolved it. */
  readonly byUserId?: string;
}

export type AlertChange = Firing | Renewal | Resolving;

/**
 * Changes an alert in the caller's transaction: its row, its transition, one delivery to each receiver and the starts of their workflows. Nothing is sent
 * before the commit. Returns the alert's id, or null when nothing changed: it was opened before, is no longer open, or is to be repeated but has been
 * acknowledged or snoozed. An end that needs no action (`rule_changed`, `budget_changed`, `window_ended`) is not sent.
 */
export async function emitAlert(tx: TenantTransaction, rule: EmittingRule, asked: AlertChange, at: Date): Promise<string | null> {
  const changed = await changeRow(tx, rule, asked, at);
  if (!changed) return null;

  const { alert, from } = changed;
  if (asked.event !== 'repeated') await writeTransition(tx, alert, { from, at, byUserId: alert.resolvedByUserId });
  if (asked.event === 'firing' || asked.event === 'resolved') await emitAlertEvent(tx, alert, { kind: `alert.${asked.event}`, at });
  if (asked.event !== 'resolved' || isSent(asked.resolution))
    await writeDeliveries(tx, {
      alertId: alert.id,
      seq: alert.nextSeq - 1,
      event: asked.event,
      snapshot: alertSnapshot(alert, rule),
      targets: rule.targets,
    });
  return alert.id;
}

/** Emits an event, for triggers, when an alert of a workspace opens or ends. */
async function emitAlertEvent(
  tx: TenantTransaction,
  { id, organizationId, workspaceId, ruleId }: ChangedAlert,
  { kind, at }: { readonly kind: 'alert.firing' | 'alert.resolved'; readonly at: Date },
): Promise<void> {
  if (workspaceId === null || organizationId === null) return;
  const payload = { alert_id: id, rule_id: ruleId };
  await emitEvent(tx, { organizationId, workspaceId, eventKind: kind, source: 'platform', payload, occurredAt: at });
}

function isSent(resolution: AlertResolution): boolean {
  return resolution === 'recovered' || resolution === 'manual';
}

type ChangedAlert = NonNullable<Awaited<ReturnType<typeof openAlert>>>;
type Origin = (typeof transitionOrigins)[number];

async function changeRow(
  tx: TenantTransaction,
  rule: EmittingRule,
  asked: AlertChange,
  at: Date,
): Promise<{ alert: ChangedAlert; from: Origin } | null> {
  if (asked.event === 'firing') {
    const alert = await openAlert(tx, rule, asked, at);
    return alert && { alert, from: 'ok' };
  }
  // Locked before it is changed: the transition records the previous status.
  const before = await row(
    tx.em,
    query
      .selectFrom('alerts as a')
      .where('a.id', '=', asked.alertId)
      .where('a.ruleId', '=', rule.id)
      .where('a.resolvedAt', 'is', null)
      .select(['a.status', 'a.acknowledgedAt', 'a.snoozedUntil'])
      .forUpdate(),
  );
  if (!before) return null;
  const isMuted = before.acknowledgedAt !== null || (before.snoozedUntil !== null && new Date(before.snoozedUntil) > at);
  if (asked.event === 'repeated' && isMuted) return null;
  const alert = asked.event === 'resolved' ? await closeAlert(tx, asked, at) : await renewAlert(tx, asked, at);
  return alert && { alert, from: before.status };
}

const shown = [
  'id',
  'organizationId',
  'workspaceId',
  'ruleId',
  'labels',
  'status',
  'severity',
  'title',
  'value',
  'threshold',
  'openedAt',
  'lastSeenAt',
  'acknowledgedAt',
  'acknowledgedByUserId',
  'snoozedUntil',
  'resolvedAt',
  'resolvedByUserId',
  'resolution',
  'updatedAt',
  'nextSeq',
] as const;

function openAlert(tx: TenantTransaction, rule: EmittingRule, asked: Firing, at: Date) {
  const { status, severity, fingerprint, windowKey, labels, title, value, threshold } = asked;
  const workspaceId = asked.workspaceId === undefined ? rule.workspaceId : asked.workspaceId;
  const place = { organizationId: rule.organizationId, workspaceId, ruleId: rule.id };
  return row(
    tx.em,
    query
      .insertInto('alerts')
      .values({
        id: newId(),
        ...place,
        fingerprint,
        windowKey,
        labels,
        status,
        severity,
        title,
        value,
        threshold,
        openedAt: at,
        lastSeenAt: at,
        nextSeq: 2,
      })
      .onConflict((conflict) => conflict.columns(['ruleId', 'fingerprint', 'windowKey']).doNothing())
      .returning(shown),
  );
}

function renewAlert(tx: TenantTransaction, { alertId, severity, title, value, threshold }: Renewal, at: Date) {
  return row(
    tx.em,
    query
      .updateTable('alerts')
      .set(({ eb }) => ({
        severity,
        title,
        value,
        threshold,
        lastSeenAt: at,
        nextSeq: eb('nextSeq', '+', 1),
        version: eb('version', '+', 1),
      }))
      .where('id', '=', alertId)
      .returning(shown),
  );
}

function closeAlert(tx: TenantTransaction, { alertId, resolution, value, byUserId }: Resolving, at: Date) {
  return row(
    tx.em,
    query
      .updateTable('alerts')
      .set(({ eb }) => ({
        status: 'resolved' as const,
        resolution,
        resolvedAt: at,
        resolvedByUserId: byUserId ?? null,
        ...(value === undefined ? {} : { value }),
        nextSeq: eb('nextSeq', '+', 1),
        version: eb('version', '+', 1),
      }))
      .where('id', '=', alertId)
      .returning(shown),
  );
}

async function writeTransition(
  tx: TenantTransaction,
  alert: ChangedAlert,
  { from, at, byUserId }: { readonly from: Origin; readonly at: Date; readonly byUserId: string | null },
): Promise<void> {
  const { organizationId, workspaceId, id: alertId, status, severity, value } = alert;
  const change = { alertId, at, fromStatus: from, toStatus: status, severity, value, byUserId };
  await queueStatement(tx.em, query.insertInto('alert_transitions').values({ id: newId(), organizationId, workspaceId, ...change }));
}
