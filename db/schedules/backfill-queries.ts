import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { query } from '../query.ts';
import { row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { SchedulePlace } from './wake-backfills.ts';

/** A backfill as its workflow needs it. */
export type BackfillRow = NonNullable<Awaited<ReturnType<typeof readBackfill>>>;

function selectBackfill(id: string) {
  return query
    .selectFrom('schedule_backfills')
    .where('id', '=', id)
    .select(['id', 'organizationId', 'workspaceId', 'scheduleId', 'rangeFrom', 'rangeTo', 'overlap', 'status', 'reached']);
}

/** Returns a backfill, or null when it is purged or another tenant's. */
export function readBackfill(tx: Pick<TenantTransaction, 'em'>, id: string) {
  return row(tx.em, selectBackfill(id));
}

/** The same, locked until the end of the transaction. */
export function lockBackfill(tx: Pick<TenantTransaction, 'em'>, id: string) {
  return row(tx.em, selectBackfill(id).forNoKeyUpdate());
}

/**
 * Returns schedules with a backfill that was created over ten minutes ago and has not ended: Temporal may have lost its workflow, or a signal. Sweeper's pool.
 */
export function schedulesWithOpenBackfills(em: SqlEntityManager, limit: number): Promise<SchedulePlace[]> {
  return rows(
    em,
    query
      .selectFrom('schedule_backfills as b')
      .where('b.status', 'in', ['queued', 'running'])
      .where('b.createdAt', '<', sql<string>`now() - interval '10 minutes'`)
      .select(['b.scheduleId as id', 'b.organizationId', 'b.workspaceId'])
      .distinct()
      .orderBy('b.scheduleId')
      .limit(limit),
  );
}

/** Whether a run of any backfill of a schedule is live. */
export async function hasLiveBackfillRun(tx: Pick<TenantTransaction, 'em'>, scheduleId: string): Promise<boolean> {
  const live = await row(
    tx.em,
    query
      .selectFrom('schedule_occurrences')
      .where('scheduleId', '=', scheduleId)
      .where('status', '=', 'started')
      .where('kind', '=', 'backfill')
      .select('id')
      .limit(1),
  );
  return live !== null;
}

/** Occurrences in a range, both ends included, that have started a run or will, whether at their own time or by a backfill. */
function runsWithin(scheduleId: string, { from, to }: { readonly from: Date; readonly to: Date }) {
  return query
    .selectFrom('schedule_occurrences as o')
    .where('o.scheduleId', '=', scheduleId)
    .where('o.nominalAt', '>=', from.toISOString())
    .where('o.nominalAt', '<=', to.toISOString())
    .where('o.kind', '<>', 'manual')
    .where(({ eb, or }) => or([eb('o.runId', 'is not', null), eb('o.status', '=', 'buffered')]));
}

/** Returns the instants of such occurrences, in milliseconds since 1970. */
export async function readRunInstants(
  tx: Pick<TenantTransaction, 'em'>,
  scheduleId: string,
  range: { readonly from: Date; readonly to: Date },
): Promise<ReadonlySet<number>> {
  const found = await rows(tx.em, runsWithin(scheduleId, range).select('o.nominalAt'));
  return new Set(found.map(({ nominalAt }) => new Date(nominalAt).getTime()));
}

/** Returns how many such instants there are. */
export async function countRunInstants(
  tx: Pick<TenantTransaction, 'em'>,
  scheduleId: string,
  range: { readonly from: Date; readonly to: Date },
): Promise<number> {
  const found = await row(tx.em, runsWithin(scheduleId, range).select(sql<number>`count(distinct o.nominal_at)::int`.as('n')));
  return found?.n ?? 0;
}
