import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, idColumn, timeColumn, updatedAtColumn, uuidColumn, versionColumn } from '../columns.ts';
import { index, tenantIndexes } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';
import type { Coalescing } from '../webhooks/webhook-endpoint.entity.ts';

const schema = defineEntity({
  name: 'EventTrigger',
  tableName: 'event_triggers',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('event_triggers', 'tenant'),
  indexes: [
    ...tenantIndexes('event_triggers'),
    index('event_triggers', 'agent', '(agent_id)'),
    index('event_triggers', 'live', '(workspace_id) where deleted_at is null'),
  ],
  uniques: [{ name: 'event_triggers_tenant_key', properties: ['id', 'organizationId'] }],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    agentId: uuidColumn(),
    name: p.text(),
    /** Kind of the events that it accepts: `*` stands for one segment, `**` at the end for the rest. */
    eventKind: p.text(),
    /** What an event must meet besides its kind (`domain/events/filter.ts`); null: nothing. */
    filter: p.json<Record<string, unknown>>().strictNullable(),
    promptTemplate: p.text(),
    inputTemplate: p.json<Record<string, unknown>>().strictNullable(),
    sessionKeyTemplate: p.text().strictNullable(),
    personaSlugTemplate: p.text().strictNullable(),
    subjectTemplate: p.json<{ readonly kind: 'user' | 'guest'; readonly id: string }>().strictNullable(),
    /** Null: each event is a run. */
    coalescing: p.json<Coalescing>().strictNullable(),
    /** An event preceded by this many runs in its chain starts no other. */
    maxDepth: p.integer().default(3),
    isActive: p.boolean().default(true),
    createdByUserId: uuidColumn().strictNullable(),
    version: versionColumn(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
    deletedAt: timeColumn().strictNullable(),
  },
});

/** Starts a run of an agent when something happens. */
export class EventTrigger extends schema.class {}
schema.setClass(EventTrigger);
