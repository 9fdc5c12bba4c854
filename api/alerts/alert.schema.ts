import Type from 'typebox';
import { deliveryEvents, deliveryStatuses } from '../../db/alerts/alert-delivery.entity.ts';
import { ruleKinds } from '../../db/alerts/alert-rule.entity.ts';
import { alertSnapshot } from '../../db/alerts/alert-snapshot.ts';
import { alertSeverities } from '../../db/alerts/alert-state.entity.ts';
import type { DeliveryTarget } from '../../db/alerts/alert-target.ts';
import { transitionOrigins } from '../../db/alerts/alert-transition.entity.ts';
import { alertResolutions, alertStatuses } from '../../db/alerts/alert.entity.ts';
import type { AlertRow, DeliveryRow, TransitionRow } from '../../db/alerts/alerts.ts';
import { money } from '../../db/money.ts';
import { iso } from '../../db/sql.ts';
import type { TestResult } from '../../domain/alerts/tests.ts';
import {
  atLeastOneOf,
  closed,
  Decimal,
  idOf,
  integer,
  listOf,
  Name,
  nullable,
  oneOf,
  stating,
  text,
  Timestamp,
} from '../http/input/schema.ts';
import { withoutQuery } from './alert-rule.schema.ts';

export const AlertParams = closed({ alert_id: idOf('Alert') });

const Severity = oneOf(alertSeverities, { description: 'The severity never decreases while the alert is open' });
const Value = nullable({ ...Decimal, description: 'The last measured value; null if nothing could be measured' });

const Transition = closed(
  {
    at: { ...Timestamp, description: 'When it changed' },
    from: oneOf(transitionOrigins, { description: 'The state before the change; ok when the alert opens' }),
    to: oneOf(alertStatuses, { description: 'The state after the change' }),
    severity: Severity,
    value: Value,
    by_user_id: nullable(idOf('User', 'Who resolved it')),
  },
  { $id: 'AlertTransition', description: 'One change of an alert' },
);

const Delivery = closed(
  {
    id: idOf('Other', 'Sent in webhook-id and Message-ID, the same on each try'),
    seq: integer({ minimum: 1, description: 'Number of the event within the alert' }),
    event: oneOf(deliveryEvents, { description: 'What the notice reports' }),
    target: closed(
      {
        kind: oneOf(['user', 'webhook', 'slack'], { description: 'By mail to a person, or to an address' }),
        label: text(2_048, { description: 'Id of the user, address without its query, or name of the secret' }),
      },
      { $id: 'AlertDeliveryTarget', description: 'Who was notified' },
    ),
    status: oneOf(deliveryStatuses, { description: 'failed is retried, dead is not' }),
    attempts: integer({ description: 'Number of tries' }),
    last_status: nullable(integer({ description: 'HTTP or SMTP status of the last try' })),
    last_error: nullable(text(300, { description: 'What went wrong, without any content of the reply' })),
    next_attempt_at: nullable({ ...Timestamp, description: 'When it will be retried; null if it will not be' }),
    sent_at: nullable({ ...Timestamp, description: 'When the receiver accepted it' }),
  },
  { $id: 'AlertDelivery', description: 'One notice to one receiver, and its outcome' },
);

export const AlertView = closed(
  {
    id: idOf('Alert'),
    rule_id: idOf('AlertRule'),
    rule_name: Name,
    kind: oneOf(ruleKinds, { description: 'What the rule measures' }),
    managed: Type.Boolean({ description: 'Whether the rule belongs to a budget' }),
    organization_id: idOf('Organization'),
    workspace_id: nullable(idOf('Workspace', 'Of the rule, or of the group where it groups by workspace')),
    labels: Type.Unsafe<Record<string, string>>({
      type: 'object',
      maxProperties: 20,
      additionalProperties: { type: 'string', maxLength: 200 },
      description: 'The group of the rule that it concerns',
    }),
    status: oneOf(alertStatuses, { description: 'no_data: open because nothing could be measured' }),
    severity: Severity,
    title: text(300, { description: 'What happened, in one line' }),
    value: Value,
    threshold: nullable({ ...Decimal, description: 'The threshold that was crossed' }),
    opened_at: { ...Timestamp, description: 'When the breach had lasted for_s' },
    last_seen_at: { ...Timestamp, description: 'When the breach was last measured' },
    acknowledged_at: nullable({ ...Timestamp, description: 'When it was acknowledged' }),
    acknowledged_by_user_id: nullable(idOf('User', 'Who acknowledged it')),
    snoozed_until: nullable({ ...Timestamp, description: 'Until when notifications are not repeated' }),
    resolved_at: nullable({ ...Timestamp, description: 'When it ended; null while it is open' }),
    resolved_by_user_id: nullable(idOf('User', 'Who ended it; null if it ended by itself')),
    resolution: nullable(oneOf(alertResolutions, { description: 'Why it ended' })),
    updated_at: Timestamp,
    transitions: Type.Optional(
      listOf(Transition, { maxItems: 100, description: 'Newest first; only present when a single alert is read' }),
    ),
    deliveries: Type.Optional(listOf(Delivery, { maxItems: 100, description: 'Newest first; only present when a single alert is read' })),
  },
  { $id: 'AlertView', description: 'One incident, from its first breach to its end' },
);

export const AlertUpdate = stating(
  closed(
    {
      acknowledged: Type.Optional(
        Type.Boolean({ description: 'true: acknowledged, so notifications are not repeated; false withdraws the acknowledgement' }),
      ),
      snooze_until: Type.Optional(
        nullable({
          ...Timestamp,
          description:
            'Notifications are not repeated before this time, at most 30 days ahead; null ends the snooze. An alert that becomes critical is notified all the same',
        }),
      ),
      resolve: Type.Optional(Type.Unsafe<true>({ type: 'boolean', const: true, description: 'Ends the alert' })),
    },
    { $id: 'AlertUpdate', description: 'At least one' },
  ),
  atLeastOneOf('acknowledged', 'snooze_until', 'resolve'),
);

export const AlertFilters = closed({
  status: Type.Optional(oneOf(alertStatuses, { description: 'Only alerts of this status' })),
  severity: Type.Optional(oneOf(alertSeverities, { description: 'Only alerts of this severity' })),
  rule_id: Type.Optional(idOf('AlertRule')),
  from: Type.Optional({ ...Timestamp, description: 'Opened at this time or later' }),
  to: Type.Optional({ ...Timestamp, description: 'Opened at this time or earlier' }),
});

export const AlertTestView = closed(
  {
    results: listOf(
      closed(
        {
          target_index: integer({ maximum: 9, description: 'Position in the targets of the rule' }),
          kind: oneOf(['admins', 'user', 'webhook', 'slack'], { description: 'Kind of the target' }),
          outcome: oneOf(['sent', 'failed', 'pending'], { description: 'pending: not known within 20 seconds' }),
          status_code: nullable(integer({ description: 'HTTP or SMTP status of the answer' })),
          latency_ms: nullable(integer({ description: 'Milliseconds until the receiver answered' })),
          error: nullable(text(300, { description: 'What went wrong, without anything of the reply' })),
        },
        { $id: 'AlertTestResult', description: 'Outcome of the test for one target' },
      ),
      { maxItems: 10 },
    ),
  },
  { $id: 'AlertTestView', description: 'Outcome of a test, target by target' },
);

/** The wire form of an alert, as lists have it. */
export function toAlertView(row: AlertRow) {
  const { id } = row;
  return { ...alertSnapshot(row, row), id };
}

/** The wire form of a change. */
export function toTransitionView(row: TransitionRow) {
  return {
    at: iso(row.at),
    from: row.fromStatus,
    to: row.toStatus,
    severity: row.severity,
    value: row.value === null ? null : money(row.value),
    by_user_id: row.byUserId,
  };
}

/** The wire form of a delivery. */
export function toDeliveryView(row: DeliveryRow) {
  return {
    id: row.id,
    seq: row.seq,
    event: row.event,
    target: { kind: row.target.kind, label: labelOf(row.target) },
    status: row.status,
    attempts: row.attempts,
    last_status: row.lastStatus,
    last_error: row.lastError,
    next_attempt_at: iso(row.nextAttemptAt),
    sent_at: iso(row.sentAt),
  };
}

function labelOf(target: DeliveryTarget): string {
  switch (target.kind) {
    case 'user':
      return target.user_id;
    case 'webhook':
      return withoutQuery(target.url);
    case 'slack':
      return target.secret_name;
    default:
      return target satisfies never;
  }
}

/** The wire form of a test's results. */
export function toAlertTestView(results: readonly TestResult[]) {
  return {
    results: results.map((result) => ({
      target_index: result.targetIndex,
      kind: result.kind,
      outcome: result.outcome,
      status_code: result.statusCode,
      latency_ms: result.latencyMs,
      error: result.error,
    })),
  };
}
