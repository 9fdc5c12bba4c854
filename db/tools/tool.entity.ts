import { defineEntity, p } from '@mikro-orm/core';
import { scopes } from '../../workflows/contracts/access.ts';
import { toolKinds } from '../../workflows/contracts/runs/runs.ts';
import { toolConcurrencies, toolEffects } from '../../workflows/contracts/tools/toolkit-sync.ts';
import {
  createdAtColumn,
  idColumn,
  jsonColumn,
  textArrayColumn,
  timeColumn,
  updatedAtColumn,
  uuidColumn,
  versionColumn,
} from '../columns.ts';
import { rowScopeCheck, scopedIndexes, slugIndexes, uniqueIndex } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';

export { toolConcurrencies, toolEffects };

const schema = defineEntity({
  name: 'Tool',
  tableName: 'tools',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('tools', 'scoped'),
  indexes: [
    ...scopedIndexes('tools'),
    ...slugIndexes('tools'),
    uniqueIndex('tools', 'remote_name', '(toolkit_id, remote_name) where toolkit_id is not null'),
  ],
  uniques: [{ name: 'tools_tenant_key', properties: ['id', 'organizationId'] }],
  checks: [
    rowScopeCheck('tools'),
    { name: 'tools_timeout_bounds', expression: 'timeout_s >= 1 and timeout_s <= 86400' },
    { name: 'tools_response_bounds', expression: 'response_max_chars >= 100 and response_max_chars <= 200000' },
  ],
  properties: {
    id: idColumn(),
    scope: p.enum(scopes),
    organizationId: uuidColumn().strictNullable(),
    workspaceId: uuidColumn().strictNullable(),
    slug: p.text(),
    kind: p.enum(toolKinds),
    displayName: p.text().strictNullable(),
    description: p.text(),
    inputSchema: p.json<Record<string, unknown>>(),
    config: jsonColumn<Record<string, unknown>>(() => ({})),
    secretsRequired: textArrayColumn()
      .onCreate(() => [])
      .defaultRaw("'{}'"),
    concurrency: p.enum(toolConcurrencies),
    effect: p.enum(toolEffects),
    critical: p.boolean().default(false),
    clientOwned: p.boolean().default(false),
    /** A remote write that was approved as safe to repeat. */
    isIdempotent: p.boolean().default(false),
    responseMaxChars: p.integer().default(20_000),
    timeoutS: p.integer().fieldName('timeout_s').default(60),
    isActive: p.boolean().default(true),
    toolkitId: uuidColumn().strictNullable(),
    remoteName: p.text().strictNullable(),
    /** Hash of the descriptor that was approved (toolkits only). */
    remoteHash: p.text().strictNullable(),
    quarantinedAt: timeColumn().strictNullable(),
    rowVersion: versionColumn(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
    deletedAt: timeColumn().strictNullable(),
  },
});

/** What an agent may call, under declared effect, approval, secrets and bounds. */
export class Tool extends schema.class {}
schema.setClass(Tool);
