import { money } from '../money.ts';
import { iso } from '../sql.ts';
import type { AlertRule } from './alert-rule.entity.ts';
import type { Alert } from './alert.entity.ts';

/** An alert in its wire form, without transitions and deliveries: what webhooks carry and `GET /alerts` lists. */
export interface AlertSnapshot {
  /** Null in the message of a test. */
  readonly id: string | null;
  readonly rule_id: string;
  readonly rule_name: string;
  readonly kind: AlertRule['kind'];
  readonly managed: boolean;
  readonly organization_id: string;
  readonly workspace_id: string | null;
  readonly labels: Alert['labels'];
  readonly status: Alert['status'];
  readonly severity: Alert['severity'];
  readonly title: string;
  readonly value: string | null;
  readonly threshold: string | null;
  readonly opened_at: string;
  readonly last_seen_at: string;
  readonly acknowledged_at: string | null;
  readonly acknowledged_by_user_id: string | null;
  readonly snoozed_until: string | null;
  readonly resolved_at: string | null;
  readonly resolved_by_user_id: string | null;
  readonly resolution: Alert['resolution'];
  readonly updated_at: string;
}

type Time = Date | string;

/** The columns of an alert that its wire form shows; times as the entity or a query returns them. */
export interface AlertColumns extends Pick<
  Alert,
  | 'organizationId'
  | 'workspaceId'
  | 'ruleId'
  | 'labels'
  | 'status'
  | 'severity'
  | 'title'
  | 'value'
  | 'threshold'
  | 'acknowledgedByUserId'
  | 'resolvedByUserId'
  | 'resolution'
> {
  readonly id: string | null;
  readonly openedAt: Time;
  readonly lastSeenAt: Time;
  readonly acknowledgedAt: Time | null;
  readonly snoozedUntil: Time | null;
  readonly resolvedAt: Time | null;
  readonly updatedAt: Time;
}

/** What the wire form shows of the rule. */
export type RuleOfAlert = Pick<AlertRule, 'name' | 'kind'>;

/** Returns the wire form of an alert. */
export function alertSnapshot(alert: AlertColumns, rule: RuleOfAlert): AlertSnapshot {
  return {
    id: alert.id,
    rule_id: alert.ruleId,
    rule_name: rule.name,
    kind: rule.kind,
    managed: rule.kind === 'budget',
    organization_id: alert.organizationId,
    workspace_id: alert.workspaceId,
    labels: alert.labels,
    status: alert.status,
    severity: alert.severity,
    title: alert.title,
    value: alert.value === null ? null : money(alert.value),
    threshold: alert.threshold === null ? null : money(alert.threshold),
    opened_at: iso(alert.openedAt),
    last_seen_at: iso(alert.lastSeenAt),
    acknowledged_at: iso(alert.acknowledgedAt),
    acknowledged_by_user_id: alert.acknowledgedByUserId,
    snoozed_until: iso(alert.snoozedUntil),
    resolved_at: iso(alert.resolvedAt),
    resolved_by_user_id: alert.resolvedByUserId,
    resolution: alert.resolution,
    updated_at: iso(alert.updatedAt),
  };
}
