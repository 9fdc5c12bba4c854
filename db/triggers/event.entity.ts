import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, idColumn, jsonColumn, timeColumn, uuidColumn } from '../columns.ts';
import { index, tenantIndexes } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';

export const eventSources = ['api', 'webhook', 'platform'] as const;
export type EventSource = (typeof eventSources)[number];

const schema = defineEntity({
  name: 'Event',
  tableName: 'events',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('events', 'tenant'),
  indexes: [
    ...tenantIndexes('events'),
    index('events', 'kind', '(workspace_id, event_kind, id desc)'),
    index('events', 'cause', '(cause_run_id) where cause_run_id is not null'),
    index('events', 'age', '(created_at)'),
    index('events', 'pending', "(id) where fan_out = 'pending'"),
  ],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    eventKind: p.text(),
    source: p.enum(eventSources),
    subject: p.text().strictNullable(),
    payload: jsonColumn<Record<string, unknown>>(() => ({})),
    dedupeKey: p.text().strictNullable(),
    depth: p.integer().default(0),
    /** The event at the root of the chain; its own id where no event caused it. */
    rootEventId: uuidColumn(),
    /** The run that caused it; null: none did. */
    causeRunId: uuidColumn().strictNullable(),
    /** `done`: every trigger that it matches has been judged. */
    fanOut: p.enum(['pending', 'done'] as const).default('pending'),
    /** Its content comes from outside of the deployment. */
    untrusted: p.boolean().default(false),
    /** `read`: its sender is not verified, so runs that it starts may change nothing. */
    maxEffect: p.enum(['read', 'write'] as const).default('write'),
    /** How many hooks its cause has come through. */
    hops: p.smallint().default(0),
    /** For a root: how many runs its chain has started. */
    startedRuns: p.integer().default(0),
    occurredAt: timeColumn(),
    createdAt: createdAtColumn(),
  },
});

/** Something that happened in a workspace, for triggers. */
export class Event extends schema.class {}
schema.setClass(Event);
