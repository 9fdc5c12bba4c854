import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, idColumn, timeColumn, uuidColumn } from '../columns.ts';
import { index, tenantIndexes, uniqueIndex } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';

/**
 * `started`: a run has its data; `coalescing`: waits for others; `merged`: a run with the data of others stands for it; `dropped`: its trigger was deleted or
 * stopped before its group closed; `filtered`: the trigger's filter rejects it; `depth_exceeded`: too many runs precede it in its chain; `capped`: its root has
 * started its last run; `failed`: no run could be started.
 */
export const matchOutcomes = ['started', 'coalescing', 'merged', 'dropped', 'filtered', 'depth_exceeded', 'capped', 'failed'] as const;
export type MatchOutcome = (typeof matchOutcomes)[number];

const schema = defineEntity({
  name: 'EventMatch',
  tableName: 'event_matches',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('event_matches', 'tenant'),
  indexes: [
    ...tenantIndexes('event_matches'),
    uniqueIndex('event_matches', 'event', '(event_id, trigger_id)'),
    index('event_matches', 'run', '(run_id) where run_id is not null'),
    index('event_matches', 'coalescing', "(trigger_id, coalesce_hash) where outcome = 'coalescing'"),
    index('event_matches', 'closed', '(trigger_id, coalesce_hash, closed_at) where closed_at is not null'),
  ],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    eventId: uuidColumn(),
    triggerId: uuidColumn(),
    outcome: p.enum(matchOutcomes),
    runId: uuidColumn().strictNullable(),
    errorCode: p.text().strictNullable(),
    /** The event's own time, or that of its payload: decides which of a group is first and last. */
    occurredAt: timeColumn(),
    /** Size of the payload, while it waits for others. */
    bodyBytes: p.integer().default(0),
    /** SHA-256 of its key; null: nothing is coalesced. */
    coalesceHash: p.blob().$type<Buffer>().strictNullable(),
    /** The group with which it became a run; set when the group is taken. */
    groupId: uuidColumn().strictNullable(),
    /** When a run of its key was started with it. */
    closedAt: timeColumn().strictNullable(),
    createdAt: createdAtColumn(),
  },
});

/** The outcome of an event for one trigger of its kind. */
export class EventMatch extends schema.class {}
schema.setClass(EventMatch);
