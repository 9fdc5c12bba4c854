import { defineEntity, p } from '@mikro-orm/core';
import { bigintColumn, createdAtColumn, currencyColumn, decimalColumn, idColumn, timeColumn, uuidColumn } from '../../columns.ts';
import { index, uniqueIndex } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';
import { usageKinds } from './usage-entry.entity.ts';

const schema = defineEntity({
  name: 'UsageRollup',
  tableName: 'usage_rollups',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('usage_rollups', 'tenant'),
  indexes: [
    uniqueIndex(
      'usage_rollups',
      'group',
      '(workspace_id, bucket_start, agent_id, model, kind, user_id, service_key_id, currency) nulls not distinct',
    ),
    index('usage_rollups', 'organization', '(organization_id, bucket_start)'),
  ],
  properties: {
    /** The id of the ledger row that opened it. */
    id: idColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    /** A quarter of an hour in UTC: the days of every zone are sums of them. */
    bucketStart: timeColumn(),
    agentId: uuidColumn().strictNullable(),
    model: p.text().strictNullable(),
    kind: p.enum(usageKinds),
    userId: uuidColumn().strictNullable(),
    serviceKeyId: uuidColumn().strictNullable(),
    currency: currencyColumn(),
    /** Does not count adjustments. */
    calls: bigintColumn().default(0),
    inputTokens: bigintColumn().default(0),
    cachedReadTokens: bigintColumn().default(0),
    cachedWriteTokens: bigintColumn().default(0),
    outputTokens: bigintColumn().default(0),
    reasoningTokens: bigintColumn().default(0),
    cost: decimalColumn(26, 9).defaultRaw('0'),
    /** The part of the cost that no provider reported. */
    estimatedCost: decimalColumn(26, 9).defaultRaw('0'),
    createdAt: createdAtColumn(),
  },
});

/** The ledger's sums of a quarter of an hour, one row per workspace, agent, model, kind, user, service key and currency. */
export class UsageRollup extends schema.class {}
schema.setClass(UsageRollup);
