import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { prepared } from './prepared.ts';
import { query } from './query.ts';
import { row } from './sql.ts';

const clock = prepared(() => query.selectNoFrom(sql<string>`clock_timestamp()`.as('now')));

/** Returns the current time from the database: which prices are in force and which starts are early must not depend on a process's clock. */
export async function databaseTime(em: SqlEntityManager): Promise<Date> {
  const found = await row(em, clock({}));
  if (!found) throw new Error('the clock gave no row');
  return new Date(found.now);
}
