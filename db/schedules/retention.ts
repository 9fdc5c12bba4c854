import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { change } from '../sql.ts';

/** Maximum number of rows per statement. */
export const rowsAStatement = 1_000;
const days = 400;

const old = (table: string) =>
  `delete from ${table} where ctid = any (array(select x.ctid from ${table} x where x.created_at < now() - make_interval(days => ${days}) limit ${rowsAStatement}))`;

/** Deletes occurrences older than 400 days; returns how many. Sweeper's pool. */
export function eraseOccurrencesByAge(em: SqlEntityManager): Promise<number> {
  return change(em, old('schedule_occurrences'));
}

/** Deletes backfills older than 400 days; returns how many. Sweeper's pool. */
export function eraseBackfillsByAge(em: SqlEntityManager): Promise<number> {
  return change(em, old('schedule_backfills'));
}
