import { sql, type SqlBool } from 'kysely';
import { fail } from '../../workflows/contracts/failure.ts';
import type { Condition } from '../condition.ts';
import { preparedList } from '../page-query.ts';
import type { PageRequest } from '../page.ts';
import type { ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { visibleTo, type Scoped } from '../scope.ts';
import { row } from '../sql.ts';
import { ScheduleOccurrence, type occurrenceKinds, type OccurrenceStatus } from '../triggers/schedule-occurrence.entity.ts';

/** An occurrence as it is listed. */
export type OccurrenceRow = Awaited<ReturnType<typeof listOccurrenceRows>>['items'][number];

export interface OccurrenceFilters {
  readonly status?: OccurrenceStatus;
  readonly kind?: (typeof occurrenceKinds)[number];
  readonly from?: string;
  readonly to?: string;
}

function selectOccurrences(scheduleId: ParametersOf<{ readonly scheduleId: string }>['scheduleId'], visible: Condition) {
  return query
    .selectFrom('schedule_occurrences as o')
    .where('o.scheduleId', '=', scheduleId)
    .where(visible)
    .select(['o.id', 'o.scheduleId', 'o.kind', 'o.nominalAt', 'o.localTime', 'o.shiftedFrom', 'o.status', 'o.overlap', 'o.runId'])
    .select(['o.backfillId', 'o.reason', 'o.startedAt', 'o.finishedAt']);
}

const occurrenceList = preparedList(
  ({
    scheduleId,
    status,
    kind,
    from,
    to,
    visible,
  }: ParametersOf<OccurrenceFilters & { readonly scheduleId: string; readonly visible: Condition }>) => {
    let occurrences = selectOccurrences(scheduleId, visible);
    if (status) occurrences = occurrences.where('o.status', '=', status);
    if (kind) occurrences = occurrences.where('o.kind', '=', kind);
    if (from) occurrences = occurrences.where(sql<SqlBool>`o.nominal_at >= ${from}::timestamptz`);
    if (to) occurrences = occurrences.where(sql<SqlBool>`o.nominal_at < ${to}::timestamptz`);
    return occurrences;
  },
  [
    { column: 'o.nominalAt', type: 'timestamptz', descending: true },
    { column: 'o.id', type: 'uuid', descending: true },
  ],
);

/** Returns occurrences of a schedule that the caller sees, latest first. */
export function listOccurrenceRows(ctx: Scoped, scheduleId: string, filters: OccurrenceFilters, page: PageRequest) {
  return occurrenceList(ctx.em, { ...filters, scheduleId, visible: visibleTo(ctx, ScheduleOccurrence, 'o') }, page);
}

/** Returns one occurrence of a schedule. Throws 404. */
export async function readOccurrence(ctx: Scoped, scheduleId: string, occurrenceId: string) {
  const found = await row(
    ctx.em,
    selectOccurrences(sql.val(scheduleId), visibleTo(ctx, ScheduleOccurrence, 'o')).where('o.id', '=', occurrenceId),
  );
  if (!found) throw fail('not_found');
  return found;
}
