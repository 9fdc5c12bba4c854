import { sql } from 'kysely';
import { newId } from '../ids.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { ScheduleRow } from './schedules.ts';

/** One instant as the evaluator returns it. */
export interface Instant {
  readonly kind: 'regular' | 'manual' | 'backfill';
  /** Of kind `backfill`: which one. */
  readonly backfillId?: string;
  readonly nominalAt: Date;
  readonly localTime: string;
  readonly shiftedFrom: string | null;
  /** The second occurrence of a repeated wall time, which does not fire. */
  readonly isSkipped: boolean;
}

interface Claim {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly scheduleId: string;
  readonly kind: Instant['kind'];
  readonly nominalAt: Date;
  readonly localTime: string;
  readonly shiftedFrom: string | null;
  readonly overlap: string;
  readonly backfillId: string | null;
}

const claimed = prepared((instant: ParametersOf<Claim>) =>
  query
    .insertInto('schedule_occurrences')
    .columns([
      'id',
      'organizationId',
      'workspaceId',
      'scheduleId',
      'kind',
      'nominalAt',
      'localTime',
      'shiftedFrom',
      'status',
      'overlap',
      'backfillId',
      'createdAt',
    ])
    .expression(
      query
        .selectNoFrom([
          sql<string>`${instant.id}::uuid`.as('id'),
          sql<string>`${instant.organizationId}::uuid`.as('organizationId'),
          sql<string>`${instant.workspaceId}::uuid`.as('workspaceId'),
          sql<string>`${instant.scheduleId}::uuid`.as('scheduleId'),
          sql<string>`${instant.kind}::text`.as('kind'),
          sql<string>`${instant.nominalAt}::timestamptz`.as('nominalAt'),
          sql<string>`${instant.localTime}::text`.as('localTime'),
          sql<string | null>`${instant.shiftedFrom}::text`.as('shiftedFrom'),
          sql.lit('missed').as('status'),
          sql<string>`${instant.overlap}::text`.as('overlap'),
          sql<string | null>`${instant.backfillId}::uuid`.as('backfillId'),
          sql<string>`clock_timestamp()`.as('createdAt'),
        ])
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom('schedule_occurrences as x')
                .where('x.scheduleId', '=', instant.scheduleId)
                .where('x.nominalAt', '=', sql<string>`${instant.nominalAt}::timestamptz`)
                .where(sql<boolean>`${instant.kind}::text <> 'manual'`)
                .where('x.kind', '<>', 'manual')
                .where('x.kind', '<>', instant.kind)
                .where(({ eb, or }) => or([eb('x.runId', 'is not', null), eb('x.status', '=', 'buffered')])),
            ),
          ),
        ),
    )
    .onConflict((conflict) =>
      conflict
        .columns(['scheduleId', 'kind', 'nominalAt'])
        .doUpdateSet(({ ref }) => ({ backfillId: ref('excluded.backfillId'), overlap: ref('excluded.overlap'), reason: null }))
        .where('schedule_occurrences.kind', '=', 'backfill')
        .where('schedule_occurrences.runId', 'is', null)
        .whereRef('schedule_occurrences.backfillId', '<>', 'excluded.backfillId'),
    )
    .returning('id'),
);

/**
 * Claims an instant of a locked schedule: returns the id of its row, or null when it is already claimed. A backfill takes over an instant that started no run
 * in an earlier backfill; an instant that a backfill has started is not started again when its regular time is caught up with, nor the other way round.
 */
export async function claim(tx: TenantTransaction, schedule: ScheduleRow, instant: Instant, overlap: string): Promise<string | null> {
  const { id: scheduleId, organizationId, workspaceId } = schedule;
  const { kind, nominalAt, localTime, shiftedFrom, backfillId = null } = instant;
  const at = { kind, nominalAt, localTime, shiftedFrom, overlap, backfillId };
  const found = await row(tx.em, claimed({ id: newId(), organizationId, workspaceId, scheduleId, ...at }));
  return found?.id ?? null;
}
