import { sql } from 'kysely';
import { Condition } from '../condition.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { preparedList } from '../page-query.ts';
import type { PageRequest } from '../page.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { workspacesOf } from '../caller-scope.ts';
import { visibleToSql, visibleTo, type Scoped } from '../scope.ts';
import { row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { AlertSeverity } from './alert-state.entity.ts';
import { Alert, type AlertStatus } from './alert.entity.ts';

/** An alert as it is read, with name and kind of its rule. */
export type AlertRow = NonNullable<Awaited<ReturnType<typeof readAlertRow>>>;

export interface AlertFilters {
  readonly status?: AlertStatus;
  readonly severity?: AlertSeverity;
  readonly ruleId?: string;
  /** Bounds of `opened_at`, both inclusive. */
  readonly from?: string;
  readonly to?: string;
}

function selectAlerts(visible: Condition) {
  return query
    .selectFrom('alerts as a')
    .innerJoin('alert_rules as r', 'r.id', 'a.ruleId')
    .where(visible)
    .select(['a.id', 'a.organizationId', 'a.workspaceId', 'a.ruleId', 'a.fingerprint', 'a.labels', 'a.status', 'a.severity', 'a.title'])
    .select(['a.value', 'a.threshold', 'a.openedAt', 'a.lastSeenAt', 'a.acknowledgedAt', 'a.acknowledgedByUserId', 'a.snoozedUntil'])
    .select(['a.resolvedAt', 'a.resolvedByUserId', 'a.resolution', 'a.version', 'a.updatedAt', 'r.name', 'r.kind']);
}

const oneAlert = prepared(({ alertId, visible }: ParametersOf<{ readonly alertId: string; readonly visible: Condition }>) =>
  selectAlerts(visible).where('a.id', '=', alertId),
);

function readAlertRow(ctx: Scoped, alertId: string) {
  return row(ctx.em, oneAlert({ alertId, visible: shownTo(ctx, visibleToSql(ctx, Alert, 'a')) }));
}

/** An alert without a workspace shows what all workspaces together, or agents of any, have used: only callers of the whole organization see it. */
function shownTo({ caller }: Scoped, visible: Condition): Condition {
  return workspacesOf(caller) === null ? visible : new Condition(`(${visible.sql} and a.workspace_id is not null)`, visible.params);
}

/** Returns one alert that the caller sees. Throws 404. */
export async function readAlert(ctx: Scoped, alertId: string): Promise<AlertRow> {
  const found = await readAlertRow(ctx, alertId);
  if (!found) throw fail('not_found');
  return found;
}

const alertList = preparedList(
  ({ status, severity, ruleId, from, to, visible }: ParametersOf<AlertFilters & { readonly visible: Condition }>) => {
    let alerts = selectAlerts(visible);
    if (status) alerts = alerts.where('a.status', '=', status);
    if (severity) alerts = alerts.where('a.severity', '=', severity);
    if (ruleId) alerts = alerts.where('a.ruleId', '=', ruleId);
    if (from) alerts = alerts.where('a.openedAt', '>=', from);
    if (to) alerts = alerts.where('a.openedAt', '<=', to);
    return alerts;
  },
  [{ column: 'a.id', type: 'uuid', descending: true }],
);

/** Returns the alerts that the caller sees, newest first. */
export function listAlertRows(ctx: Scoped, filters: AlertFilters, page: PageRequest) {
  return alertList(ctx.em, { ...filters, visible: shownTo(ctx, visibleTo(ctx, Alert, 'a')) }, page);
}

/** Number of the newest transitions and deliveries that one alert shows. */
const maxShown = 100;

export type TransitionRow = Awaited<ReturnType<typeof listTransitions>>[number];
export type DeliveryRow = Awaited<ReturnType<typeof listDeliveries>>[number];

const transitionsOf = prepared(({ alertId }: ParametersOf<{ readonly alertId: string }>) =>
  query
    .selectFrom('alert_transitions as t')
    .where('t.alertId', '=', alertId)
    .select(['t.at', 't.fromStatus', 't.toStatus', 't.severity', 't.value', 't.byUserId'])
    .orderBy('t.at', 'desc')
    .orderBy('t.id', 'desc')
    .limit(sql.lit(maxShown)),
);

/** Returns the transitions of an alert that the caller has been shown, newest first. */
export function listTransitions(tx: Pick<TenantTransaction, 'em'>, alertId: string) {
  return rows(tx.em, transitionsOf({ alertId }));
}

const deliveriesOf = prepared(({ alertId }: ParametersOf<{ readonly alertId: string }>) =>
  query
    .selectFrom('alert_deliveries as d')
    .where('d.alertId', '=', alertId)
    .select([
      'd.id',
      'd.seq',
      'd.event',
      'd.target',
      'd.status',
      'd.attempts',
      'd.lastStatus',
      'd.lastError',
      'd.nextAttemptAt',
      'd.sentAt',
    ])
    .orderBy('d.seq', 'desc')
    .orderBy('d.id', 'desc')
    .limit(sql.lit(maxShown)),
);

/** Returns the deliveries of an alert that the caller has been shown, newest first. */
export function listDeliveries(tx: Pick<TenantTransaction, 'em'>, alertId: string) {
  return rows(tx.em, deliveriesOf({ alertId }));
}
