import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { row } from './sql.ts';

/** Returns the current time from the database: which prices are in force and which starts are early must not depend on a process's clock. */
export async function databaseTime(em: SqlEntityManager): Promise<Date> {
  const found = await row<{ now: string }>(em, 'select clock_timestamp() as now', []);
  if (!found) throw new Error('the clock gave no row');
  return new Date(found.now);
}
