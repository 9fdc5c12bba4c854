import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, idColumn, timeColumn, updatedAtColumn, uuidColumn, versionColumn } from '../columns.ts';
import { index, tenantIndexes, uniqueIndex } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';

export const overlaps = ['skip', 'buffer_one', 'cancel_other', 'allow_all'] as const;
export type Overlap = (typeof overlaps)[number];
/** The subject for which the runs of a schedule work; `id` is a template. */
export interface SubjectTemplate {
  readonly kind: 'user' | 'guest';
  readonly id: string;
}

export const scheduleSyncStates = ['synced', 'pending', 'error'] as const;

const schema = defineEntity({
  name: 'Schedule',
  tableName: 'schedules',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('schedules', 'tenant'),
  indexes: [
    ...tenantIndexes('schedules'),
    index('schedules', 'workspace', '(workspace_id, id desc)'),
    index('schedules', 'agent', '(agent_id)'),
    uniqueIndex('schedules', 'tool_call', '(tool_call_id) where tool_call_id is not null'),
  ],
  uniques: [{ name: 'schedules_tenant_key', properties: ['id', 'organizationId'] }],
  checks: [{ name: 'schedules_one_cadence', expression: 'num_nonnulls(cron, every_seconds, run_at) = 1' }],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    agentId: uuidColumn(),
    name: p.text(),
    description: p.text(),
    cron: p.text().strictNullable(),
    everySeconds: p.integer().strictNullable(),
    runAt: timeColumn().strictNullable(),
    timezone: p.text().default('UTC'),
    dst: p.json<{ gap: 'shift' | 'skip'; repeat: 'once' | 'twice' }>(),
    promptTemplate: p.text(),
    inputTemplate: p.json<Record<string, unknown>>().strictNullable(),
    sessionKeyTemplate: p.text().strictNullable(),
    personaSlugTemplate: p.text().strictNullable(),
    subjectTemplate: p.json<SubjectTemplate>().strictNullable(),
    overlap: p.enum(overlaps).default('skip'),
    catchUpSeconds: p.integer().default(600),
    jitterSeconds: p.integer().default(0),
    startsAt: timeColumn().strictNullable(),
    endsAt: timeColumn().strictNullable(),
    pauseAfterFailures: p.integer().default(0),
    isActive: p.boolean().default(true),
    pauseReason: p.text().strictNullable(),
    nextRunAt: timeColumn().strictNullable(),
    lastOccurrenceAt: timeColumn().strictNullable(),
    syncState: p.enum(scheduleSyncStates).default('pending'),
    compiled: p.json<Record<string, unknown>>(),
    evaluatedUntil: timeColumn(),
    /** The schedule does not fire for instants up to here: it was created, resumed or given other times since. Null: no bound. */
    firesAfter: timeColumn().strictNullable(),
    syncedVersion: p.integer().default(0),
    failureStreak: p.integer().default(0),
    createdByUserId: uuidColumn().strictNullable(),
    /** Set when a run's tool created it: the call (at most one schedule per call) and the tool. */
    toolCallId: uuidColumn().strictNullable(),
    toolId: uuidColumn().strictNullable(),
    version: versionColumn(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
    deletedAt: timeColumn().strictNullable(),
  },
});

/** A clock that starts runs of an agent. */
export class Schedule extends schema.class {}
schema.setClass(Schedule);
