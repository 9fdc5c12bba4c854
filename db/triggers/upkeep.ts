import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { query } from '../query.ts';
import { rows } from '../sql.ts';

/** A schedule that upkeep checks, with its tenant. */
export type DueSchedule = Awaited<ReturnType<typeof unsyncedSchedules>>[number];

const places = query.selectFrom('schedules as s').select(['s.id', 's.organizationId', 's.workspaceId']);
const firing = places.where('s.isActive', '=', sql.lit(true)).where('s.deletedAt', 'is', null);

/** Returns schedules whose newest version has not reached Temporal for a minute. Sweeper's pool. */
export function unsyncedSchedules(em: SqlEntityManager, limit: number) {
  return rows(
    em,
    places
      .whereRef('s.syncedVersion', '<', 's.version')
      .where('s.updatedAt', '<', sql<string>`now() - interval '1 minute'`)
      .orderBy('s.updatedAt')
      .limit(limit),
  );
}

/** Returns schedules whose next instant passed longer ago than their catch-up time: it did not fire. Sweeper's pool. */
export function overdueSchedules(em: SqlEntityManager, limit: number): Promise<DueSchedule[]> {
  const latest = sql<string>`now() - make_interval(secs => s.catch_up_seconds + s.jitter_seconds + 60)`;
  return rows(em, firing.where('s.nextRunAt', '<', latest).orderBy('s.nextRunAt').limit(limit));
}

/** Returns schedules whose shifted instants were computed over a week ago. Sweeper's pool. */
export function schedulesToCompile(em: SqlEntityManager, limit: number): Promise<DueSchedule[]> {
  const compiledAt = sql<number>`coalesce((s.compiled ->> 'compiledAt')::bigint, 0)`;
  return rows(
    em,
    firing
      .where('s.cron', 'is not', null)
      .where(compiledAt, '<', sql<number>`extract(epoch from now() - interval '7 days') * 1000`)
      .orderBy('s.id')
      .limit(limit),
  );
}

/** Returns schedules that will fire again and that were synced to Temporal minutes ago. Sweeper's pool. */
export function syncedSchedules(em: SqlEntityManager): Promise<DueSchedule[]> {
  return rows(
    em,
    firing
      .where('s.nextRunAt', 'is not', null)
      .whereRef('s.syncedVersion', '=', 's.version')
      .where('s.updatedAt', '<', sql<string>`now() - interval '2 minutes'`)
      .orderBy('s.id'),
  );
}
