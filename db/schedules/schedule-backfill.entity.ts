import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, idColumn, timeColumn, uuidColumn } from '../columns.ts';
import { index, tenantIndexes } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';

/** `sequential`: one run at a time; `allow_all`: concurrently. */
export const backfillOverlaps = ['sequential', 'allow_all'] as const;
export type BackfillOverlap = (typeof backfillOverlaps)[number];
export const backfillStatuses = ['queued', 'running', 'done', 'cancelled'] as const;
export type BackfillStatus = (typeof backfillStatuses)[number];

const schema = defineEntity({
  name: 'ScheduleBackfill',
  tableName: 'schedule_backfills',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('schedule_backfills', 'tenant'),
  indexes: [
    ...tenantIndexes('schedule_backfills'),
    index('schedule_backfills', 'open', "(schedule_id) where status in ('queued', 'running')"),
    index('schedule_backfills', 'age', '(created_at)'),
  ],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    scheduleId: uuidColumn(),
    /** Both inclusive. */
    rangeFrom: timeColumn(),
    rangeTo: timeColumn(),
    overlap: p.enum(backfillOverlaps),
    /** Instants that were to start when it was created, and those omitted because they had a run. */
    planned: p.integer(),
    alreadyRun: p.integer(),
    status: p.enum(backfillStatuses).default('queued'),
    /** Instants up to here have been started or omitted. */
    reached: timeColumn(),
    started: p.integer().default(0),
    failed: p.integer().default(0),
    createdAt: createdAtColumn(),
    finishedAt: timeColumn().strictNullable(),
  },
});

/** Requested runs of past instants of a schedule. */
export class ScheduleBackfill extends schema.class {}
schema.setClass(ScheduleBackfill);
