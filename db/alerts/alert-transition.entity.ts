import { defineEntity, p } from '@mikro-orm/core';
import { decimalColumn, idColumn, timeColumn, uuidColumn } from '../columns.ts';
import { index, tenantIndexes } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';
import { alertSeverities } from './alert-state.entity.ts';
import { alertStatuses } from './alert.entity.ts';

/** The previous status of an alert: `ok` when it opens. */
export const transitionOrigins = ['ok', ...alertStatuses] as const;

const schema = defineEntity({
  name: 'AlertTransition',
  tableName: 'alert_transitions',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('alert_transitions', 'tenant'),
  indexes: [...tenantIndexes('alert_transitions'), index('alert_transitions', 'alert', '(alert_id, at)')],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn().strictNullable(),
    alertId: uuidColumn(),
    at: timeColumn(),
    fromStatus: p.enum(transitionOrigins),
    toStatus: p.enum(alertStatuses),
    severity: p.enum(alertSeverities),
    value: decimalColumn(44, 9).strictNullable(),
    byUserId: uuidColumn().strictNullable(),
  },
});

/** One change of an alert. */
export class AlertTransition extends schema.class {}
schema.setClass(AlertTransition);
