import { defineEntity, p } from '@mikro-orm/core';
import {
  bigintColumn,
  createdAtColumn,
  currencyColumn,
  decimalColumn,
  idColumn,
  timeColumn,
  uuidArrayColumn,
  uuidColumn,
} from '../../columns.ts';
import { index, uniqueIndex } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';

export const usageSourceKinds = ['run', 'evaluation', 'review', 'maintenance', 'search', 'tool_test', 'adjustment'] as const;
export const usageKinds = ['llm', 'embedding', 'rerank', 'tool', 'search', 'adjustment'] as const;

const schema = defineEntity({
  name: 'UsageEntry',
  tableName: 'usage_entries',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('usage_entries', 'append'),
  indexes: [
    uniqueIndex('usage_entries', 'call', '(call_key, kind)'),
    index('usage_entries', 'workspace', '(workspace_id, occurred_at desc, id desc)'),
    index('usage_entries', 'run', '(run_id) where run_id is not null'),
    index('usage_entries', 'organization', '(organization_id, occurred_at)'),
  ],
  properties: {
    id: idColumn(),
    callKey: p.text(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    occurredAt: timeColumn(),
    reservedAt: timeColumn(),
    sourceKind: p.enum(usageSourceKinds),
    sourceId: uuidColumn(),
    runId: uuidColumn().strictNullable(),
    agentId: uuidColumn().strictNullable(),
    agentRevisionId: uuidColumn().strictNullable(),
    userId: uuidColumn().strictNullable(),
    serviceKeyId: uuidColumn().strictNullable(),
    step: p.integer().strictNullable(),
    attempt: p.integer().default(1),
    kind: p.enum(usageKinds),
    model: p.text().strictNullable(),
    provider: p.text().strictNullable(),
    tier: p.text().strictNullable(),
    providerRequestId: p.text().strictNullable(),
    inputTokens: bigintColumn().default(0),
    cachedReadTokens: bigintColumn().default(0),
    cachedWriteTokens: bigintColumn().default(0),
    outputTokens: bigintColumn().default(0),
    reasoningTokens: bigintColumn().default(0),
    units: decimalColumn(20, 9).strictNullable(),
    cost: decimalColumn(20, 9),
    currency: currencyColumn(),
    estimated: p.boolean().default(false),
    unpriced: p.boolean().default(false),
    priceIds: uuidArrayColumn()
      .onCreate(() => [])
      .defaultRaw("'{}'"),
    correlationId: uuidColumn().strictNullable(),
    createdAt: createdAtColumn(),
  },
});

/** One row of the ledger: what a call cost. Never changed; a correction is a row of kind `adjustment`. */
export class UsageEntry extends schema.class {}
schema.setClass(UsageEntry);
