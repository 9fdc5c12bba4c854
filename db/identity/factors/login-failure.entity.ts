import { defineEntity, p } from '@mikro-orm/core';
import { idColumn, writtenAtColumn, uuidColumn } from '../../columns.ts';
import { index } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';

const schema = defineEntity({
  name: 'LoginFailure',
  tableName: 'login_failures',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('login_failures', 'open', { hasWorkspace: false }),
  indexes: [index('login_failures', 'organization', '(organization_id, at)')],
  properties: {
    id: idColumn(),
    at: writtenAtColumn(),
    accountHash: p.blob().$type<Buffer>(),
    userId: uuidColumn().strictNullable(),
    organizationId: uuidColumn().strictNullable(),
    ipTruncated: p.text(),
    reason: p.text(),
  },
});

/** A failed sign-in; it has its own retention and never appears in the audit log. */
export class LoginFailure extends schema.class {}
schema.setClass(LoginFailure);
