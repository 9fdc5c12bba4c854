import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, idColumn, timeColumn, uuidColumn } from '../../columns.ts';
import { uniqueIndex } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';

const schema = defineEntity({
  name: 'DataKey',
  tableName: 'data_keys',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('data_keys', 'open', { hasWorkspace: false }),
  indexes: [uniqueIndex('data_keys', 'live', '(organization_id) nulls not distinct where retired_at is null')],
  properties: {
    id: idColumn(),
    /** Null: the platform's own key. */
    organizationId: uuidColumn().strictNullable(),
    /** The key, encrypted under the deployment key `kekId`. */
    wrapped: p.blob().$type<Buffer>(),
    kekId: p.text(),
    retiredAt: timeColumn().strictNullable(),
    createdAt: createdAtColumn(),
  },
});

/** The key under which an organization's secrets are encrypted, itself wrapped by a deployment key. */
export class DataKey extends schema.class {}
schema.setClass(DataKey);
