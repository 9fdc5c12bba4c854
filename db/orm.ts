import { setTimeout as delay } from 'node:timers/promises';
import { MikroORM } from '@mikro-orm/postgresql';
import type { QueryResult } from 'kysely';
import type { Logger } from 'pino';
import { isAway } from './faults.ts';
import { migrationNames } from './migrations/index.ts';
import { ormOptions } from './mikro-orm.config.ts';
import type { SettledStatement, Statement } from './pg-connection.ts';
import { createDialect, type PoolDialect, type PoolUse } from './pg-dialect.ts';
import { databaseRoles, type DatabaseRole } from './roles.ts';
import { createShares, type Shares } from './shares.ts';

export interface DatabaseSettings {
  readonly appUrl: string;
  readonly sweeperUrl: string;
  readonly poolMax: number;
  readonly sweeperPoolMax?: number;
  readonly applicationName: string;
  /** Null (the default): no limit. The API sets 10 s. */
  readonly statementTimeoutMs?: number | null;
  /** How long a statement may wait for a connection before it is answered 503; 2 s unless given. */
  readonly acquireTimeoutMs?: number;
  readonly log: Logger;
  /** Sees the text of every statement of both pools. */
  readonly onQuery?: (sql: string) => void;
}

export type { PoolUse } from './pg-dialect.ts';

const acquireTimeoutMs = 2_000;
/** A database that is busy, frozen or just starting gets so long at the start of a process. */
const startPatienceMs = 20_000;
const startPauseMs = 500;

/** The two pools of a process: one in the caller's tenant, one for the allow-listed jobs across tenants. */
export interface Databases {
  readonly app: MikroORM;
  readonly sweeper: MikroORM;
  /** Of the first pool. */
  readonly shares: Shares;
  close(): Promise<void>;
}

/**
 * Opens both pools; waits up to 20 s for a database that does not answer. Refuses a role that could pass the policies: a superuser, one that may
 * bypass them, owns a table, or is a member of another of the four roles.
 */
export async function connectDatabases(settings: DatabaseSettings): Promise<Databases> {
  const app = await connect(settings, settings.appUrl, settings.poolMax);
  const sweeper = await connect(settings, settings.sweeperUrl, settings.sweeperPoolMax ?? 4);
  const close = async () => {
    await Promise.all([app.close(true), sweeper.close(true)]);
  };

  try {
    await patiently(() => refuseUnsafeRole(app, 'longhaul_app'));
    await patiently(() => refuseUnsafeRole(sweeper, 'longhaul_sweeper'));
  } catch (error) {
    await close();
    throw error;
  }
  const shares = createShares({ poolMax: settings.poolMax, waitMs: settings.acquireTimeoutMs ?? acquireTimeoutMs });
  return { app, sweeper, shares, close };
}

async function patiently(work: () => Promise<void>): Promise<void> {
  for (const end = performance.now() + startPatienceMs; ; await delay(startPauseMs)) {
    try {
      return await work();
    } catch (error) {
      if (!isAway(error) || performance.now() > end) throw error;
    }
  }
}

/** Names of migrations in the code that the database has not seen (empty: the process fits it), and of those that only the database knows. */
export async function compareMigrations(db: Databases): Promise<{ readonly pending: string[]; readonly unknown: string[] }> {
  const applied: { name: string }[] = await db.sweeper.em.getConnection().execute('select name from schema_migrations order by name');
  const names = applied.map(({ name }) => name);
  return {
    pending: migrationNames.filter((name) => !names.includes(name)),
    unknown: names.filter((name) => !migrationNames.includes(name)),
  };
}

/** The first of the two alone. */
export async function pendingMigrations(db: Databases): Promise<string[]> {
  return (await compareMigrations(db)).pending;
}

async function connect(settings: DatabaseSettings, url: string, max: number): Promise<MikroORM> {
  const dialect = createDialect({
    url,
    max,
    applicationName: settings.applicationName,
    statementTimeoutMs: settings.statementTimeoutMs ?? null,
    acquireTimeoutMs: settings.acquireTimeoutMs ?? acquireTimeoutMs,
    onError: (error) => settings.log.warn({ err: error }, 'database connection lost'),
  });
  const orm = await MikroORM.init(ormOptions({ url, dialect, log: settings.log, onQuery: settings.onQuery }));
  dialects.set(orm, dialect);
  return orm;
}

const dialects = new WeakMap<MikroORM, PoolDialect>();

/** Runs one statement outside any transaction of ours and gives its rows: where there is nothing to map, the ORM costs more than the statement. */
export async function runAlone<R>(orm: MikroORM, statement: Statement | SettledStatement): Promise<QueryResult<R>> {
  return dialectOf(orm).runAlone<R>(statement);
}

/** How the pool is used at this moment. */
export function poolUse(orm: MikroORM): PoolUse {
  return dialectOf(orm).use();
}

function dialectOf(orm: MikroORM): PoolDialect {
  const dialect = dialects.get(orm);
  if (!dialect) throw new Error('a pool that connectDatabases has not opened');
  return dialect;
}

/** Throws what keeps new connections of either pool from being opened; those that are open may go on for long. */
export async function refuseLostAccess({ app, sweeper }: Pick<Databases, 'app' | 'sweeper'>): Promise<void> {
  await Promise.all([app, sweeper].map((orm) => dialects.get(orm)?.openOnce()));
}

async function refuseUnsafeRole(orm: MikroORM, role: DatabaseRole): Promise<void> {
  const others = databaseRoles.filter((name) => name !== role);
  const [found]: { name: string; is_super: boolean; bypasses: boolean; owns: boolean; is_ours: boolean; member_of: string[] }[] =
    await orm.em.getConnection().execute(
      `select r.rolname as name, r.rolsuper as is_super, r.rolbypassrls as bypasses,
         exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.relowner = r.oid and n.nspname = 'public') as owns,
         pg_has_role(r.oid, ?, 'MEMBER') as is_ours,
         coalesce((select json_agg(o.rolname order by o.rolname) from pg_roles o where o.rolname in (?) and pg_has_role(r.oid, o.oid, 'MEMBER')), '[]') as member_of
       from pg_roles r where r.rolname = session_user`,
      [role, others],
    );
  if (!found) throw new Error('The role of the database connection is unknown');

  const faults = [
    found.is_super && 'is a superuser',
    found.bypasses && 'may bypass row-level security',
    found.owns && 'owns tables',
    !found.is_ours && `is not ${role} or a member of it`,
    // A superuser counts as a member of everything.
    !found.is_super && found.member_of.length > 0 && `is a member of ${found.member_of.join(', ')}`,
  ].filter((fault) => fault !== false);
  if (faults.length > 0) throw new Error(`Database role ${found.name} can't be used: it ${faults.join(', ')}`);
}
