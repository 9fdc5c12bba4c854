import type { MikroORM } from '@mikro-orm/postgresql';
import type { QueryResult } from 'kysely';
import type { SettledStatement, Statement } from './postgres/pg-connection.ts';
import type { DatabaseClock } from './database-clock.ts';
import type { PoolDialect, PoolUse } from './postgres/pg-dialect.ts';
import type { Shares } from './shares.ts';

/** The two pools of a process: one that works in the caller's tenant, one for the allow-listed jobs that cross tenants. `connectDatabases` opens them. */
export interface Databases {
  readonly app: MikroORM;
  readonly sweeper: MikroORM;
  /** Shares of the app pool. */
  readonly shares: Shares;
  /** The database's time, which both pools follow. */
  readonly clock: DatabaseClock;
  close(): Promise<void>;
}

const dialects = new WeakMap<MikroORM, PoolDialect>();

/** Registers the dialect that an ORM talks through: MikroORM does not expose it. */
export function nameDialect(orm: MikroORM, dialect: PoolDialect): void {
  dialects.set(orm, dialect);
}

/** Returns the dialect of a pool. Throws for an ORM that `connectDatabases` did not open. */
export function dialectOf(orm: MikroORM): PoolDialect {
  const dialect = dialects.get(orm);
  if (!dialect) throw new Error('a pool that connectDatabases has not opened');
  return dialect;
}

/** Runs one statement outside any transaction and returns its rows: where there is nothing to map, the ORM costs more than the statement. */
export async function runInAutocommit<R>(orm: MikroORM, statement: Statement | SettledStatement): Promise<QueryResult<R>> {
  return dialectOf(orm).runInAutocommit<R>(statement);
}

/** Returns the pool's current use. */
export function poolUse(orm: MikroORM): PoolUse {
  return dialectOf(orm).use();
}
