import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, idColumn, timeColumn, uuidColumn } from '../columns.ts';
import { index, tenantIndexes, uniqueIndex } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';

export const occurrenceKinds = ['regular', 'manual', 'backfill'] as const;
export const occurrenceStatuses = [
  'started',
  'buffered',
  'skipped_overlap',
  'skipped_dst',
  'missed',
  'failed',
  'cancelled',
  'succeeded',
] as const;
export type OccurrenceStatus = (typeof occurrenceStatuses)[number];

/** The templates of a schedule, filled in for one instant. */
export interface RenderedStart {
  readonly prompt: string;
  readonly input: Record<string, unknown> | null;
  readonly sessionKey: string | null;
  readonly personaSlug: string | null;
  readonly subject: { readonly kind: 'user' | 'guest'; readonly id: string } | null;
}

const schema = defineEntity({
  name: 'ScheduleOccurrence',
  tableName: 'schedule_occurrences',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('schedule_occurrences', 'tenant'),
  indexes: [
    ...tenantIndexes('schedule_occurrences'),
    uniqueIndex('schedule_occurrences', 'instant', '(schedule_id, kind, nominal_at)'),
    index('schedule_occurrences', 'nominal', '(schedule_id, nominal_at desc, id desc)'),
    index('schedule_occurrences', 'age', '(created_at)'),
    index('schedule_occurrences', 'open', "(schedule_id) where status in ('buffered', 'started')"),
    index('schedule_occurrences', 'missed', "(organization_id, created_at) where status = 'missed'"),
    index('schedule_occurrences', 'run', '(run_id) where run_id is not null'),
  ],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    scheduleId: uuidColumn(),
    kind: p.enum(occurrenceKinds),
    nominalAt: timeColumn(),
    localTime: p.text(),
    shiftedFrom: p.text().strictNullable(),
    status: p.enum(occurrenceStatuses),
    overlap: p.text(),
    runId: uuidColumn().strictNullable(),
    backfillId: uuidColumn().strictNullable(),
    reason: p.text().strictNullable(),
    /** The rendered start of a buffered occurrence. */
    rendered: p.json<RenderedStart>().strictNullable(),
    startedAt: timeColumn().strictNullable(),
    finishedAt: timeColumn().strictNullable(),
    createdAt: createdAtColumn(),
  },
});

/** One instant of a schedule, and its outcome. */
export class ScheduleOccurrence extends schema.class {}
schema.setClass(ScheduleOccurrence);
