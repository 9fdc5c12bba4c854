import { defineEntity, p } from '@mikro-orm/core';
import { toolkitRevisionOrigins, toolkitRevisionStates } from '../../workflows/contracts/tools/toolkit-sync.ts';
import type { ActorRef } from '../actor-ref.ts';
import type { LeftOut } from './left-out.ts';
import type { ToolkitChange, ToolkitTool } from './toolkit-tool.ts';
import { createdAtColumn, idColumn, jsonColumn, textArrayColumn, timeColumn, updatedAtColumn, uuidColumn } from '../columns.ts';
import { tenantIndexes, uniqueIndex } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';

const schema = defineEntity({
  name: 'ToolkitRevision',
  tableName: 'toolkit_revisions',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('toolkit_revisions', 'child'),
  indexes: [
    ...tenantIndexes('toolkit_revisions'),
    uniqueIndex('toolkit_revisions', 'number', '(toolkit_id, number)'),
    uniqueIndex('toolkit_revisions', 'syncing', "(toolkit_id) where state = 'syncing'"),
  ],
  uniques: [{ name: 'toolkit_revisions_toolkit_key', properties: ['id', 'toolkitId'] }],
  properties: {
    id: idColumn(),
    toolkitId: uuidColumn(),
    organizationId: uuidColumn().strictNullable(),
    workspaceId: uuidColumn().strictNullable(),
    number: p.integer(),
    state: p.enum(toolkitRevisionStates),
    origin: p.enum(toolkitRevisionOrigins),
    tools: jsonColumn<ToolkitTool[]>(() => []),
    diff: jsonColumn<ToolkitChange[]>(() => []),
    quarantined: textArrayColumn()
      .onCreate(() => [])
      .defaultRaw("'{}'"),
    sourceHash: p.text().strictNullable(),
    server: p.json<Record<string, unknown>>().strictNullable(),
    protocolVersion: p.text().strictNullable(),
    error: p.text().strictNullable(),
    note: p.text().strictNullable(),
    createdBy: p.json<ActorRef>(),
    leftOut: jsonColumn<LeftOut[]>(() => []),
    leftOutCount: p.integer().default(0),
    activatedAt: timeColumn().strictNullable(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
  },
});

/** The tools of a toolkit as one sync, document or author supplied them. */
export class ToolkitRevision extends schema.class {}
schema.setClass(ToolkitRevision);
