import { defineEntity, p } from '@mikro-orm/core';
import { jsonColumn, timeColumn } from '../columns.ts';
import { tenantPolicies } from '../policies.ts';

const schema = defineEntity({
  name: 'SystemTimestamp',
  tableName: 'system_marks',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('system_marks', 'platform'),
  properties: {
    name: p.text().primary(),
    at: timeColumn(),
    detail: jsonColumn<Record<string, unknown>>(() => ({})),
  },
});

/** Times of the last backup, audit seal and retention sweep. */
export class SystemTimestamp extends schema.class {}
schema.setClass(SystemTimestamp);
