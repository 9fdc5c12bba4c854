import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, timeColumn, uuidColumn } from '../columns.ts';
import { index } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';

export const ruleStates = ['unknown', 'ok', 'pending', 'firing', 'no_data'] as const;
export type RuleState = (typeof ruleStates)[number];
export const alertSeverities = ['warning', 'critical'] as const;
export type AlertSeverity = (typeof alertSeverities)[number];

const schema = defineEntity({
  name: 'AlertState',
  tableName: 'alert_states',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('alert_states', 'tenant'),
  indexes: [index('alert_states', 'organization', '(organization_id)')],
  properties: {
    ruleId: uuidColumn().primary(),
    /** Which group of the rule: `all`, `workspace:<id>`, `agent:<id>`, `other`. */
    fingerprint: p.text().primary(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn().strictNullable(),
    state: p.enum(ruleStates).default('unknown'),
    level: p.enum(alertSeverities).strictNullable(),
    since: timeColumn(),
    /** Since when a firing group has recovered, or a group has had no value. */
    fineSince: timeColumn().strictNullable(),
    noneSince: timeColumn().strictNullable(),
    /** The newest tick that was judged: a tick that is not newer changes nothing. */
    lastTick: timeColumn(),
    lastEmitAt: timeColumn().strictNullable(),
    /** Set after a person has resolved the alert: no new one opens before this time. */
    quietUntil: timeColumn().strictNullable(),
    /** The open alert. */
    alertId: uuidColumn().strictNullable(),
    createdAt: createdAtColumn(),
  },
});

/** The state of one group of a rule. */
export class AlertState extends schema.class {}
schema.setClass(AlertState);
