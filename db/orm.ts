import { setTimeout as delay } from 'node:timers/promises';
import { MikroORM } from '@mikro-orm/postgresql';
import type { Logger } from 'pino';
import { followClock, nameClock } from './database-clock.ts';
import { dialectOf, nameDialect, type Databases } from './databases.ts';
import { isUnavailable } from './errors.ts';
import { migrationNames } from './migrations/index.ts';
import { ormOptions } from './mikro-orm.config.ts';
import { createDialect } from './postgres/pg-dialect.ts';
import { definerFunctions } from './definer-functions.ts';
import { databaseRoles, type DatabaseRole } from './roles.ts';
import { createShares } from './shares.ts';

export interface DatabaseSettings {
  readonly appUrl: string;
  readonly sweeperUrl: string;
  readonly poolMax: number;
  readonly sweeperPoolMax?: number;
  readonly applicationName: string;
  /** Null (the default): no limit. The API sets 10 s. */
  readonly statementTimeoutMs?: number | null;
  /** How long a statement may wait for a connection before it fails with 503; 2 s unless given. */
  readonly acquireTimeoutMs?: number;
  readonly log: Logger;
  /** Receives the text of every statement of both pools. */
  readonly onQuery?: (sql: string, parameters: readonly unknown[]) => void;
}

const acquireTimeoutMs = 2_000;
/** How long a starting process waits for a database that is busy, frozen or just starting. */
const startPatienceMs = 60_000;
const startPauseMs = 500;

/**
 * Opens both pools and waits up to a minute for a database that does not answer. Refuses a role that could get past the policies: a superuser, or one that
 * may bypass them, owns a table, or is a member of another of the four roles.
 */
export async function connectDatabases(settings: DatabaseSettings): Promise<Databases> {
  const app = await connect(settings, settings.appUrl, settings.poolMax);
  const sweeper = await connect(settings, settings.sweeperUrl, settings.sweeperPoolMax ?? 4);
  const closePools = async () => {
    await Promise.all([app.close(true), sweeper.close(true)]);
  };

  try {
    await whenDatabaseAnswers(() => refuseUnsafeRole(app, 'longhaul_app'));
    await whenDatabaseAnswers(() => refuseUnsafeRole(sweeper, 'longhaul_sweeper'));
    const clock = await whenDatabaseAnswers(() => followClock(() => askTime(sweeper)));
    for (const orm of [app, sweeper]) nameClock(orm, clock);
    const close = async () => {
      clock.stop();
      await closePools();
    };
    return { app, sweeper, shares: sharesOf(settings), clock, close };
  } catch (error) {
    await closePools();
    throw error;
  }
}

function sharesOf({ poolMax, acquireTimeoutMs: waitMs = acquireTimeoutMs }: DatabaseSettings) {
  return createShares({ poolMax, waitMs });
}

async function askTime(orm: MikroORM): Promise<Date> {
  const { rows } = await dialectOf(orm).runInAutocommit<{ now: string }>({ sql: 'select clock_timestamp() as now', parameters: [] });
  const [told] = rows;
  if (!told) throw new Error('the clock gave no row');
  return new Date(told.now);
}

/**
 * Runs a process's start-up work against the database, retrying for a minute while the database does not answer. A process that exited instead would be
 * restarted and ask the same of a database that is just as busy. `work` must be safe to run twice.
 */
export async function whenDatabaseAnswers<R>(work: () => Promise<R>): Promise<R> {
  for (const end = performance.now() + startPatienceMs; ; await delay(startPauseMs)) {
    try {
      return await work();
    } catch (error) {
      if (!isUnavailable(error) || performance.now() > end) throw error;
    }
  }
}

/**
 * Names of migrations and signatures of definer functions in the code that the database lacks (none: the process fits it), and of migrations that only the
 * database knows.
 */
export async function compareMigrations(db: Databases): Promise<{ readonly pending: string[]; readonly unknown: string[] }> {
  const found: { name: string | null; missing: string | null }[] = await db.sweeper.em.getConnection().execute(
    `select name, null as missing from schema_migrations
     union all select null, s from jsonb_array_elements_text(?::jsonb) s where to_regprocedure(s) is null order by 1, 2`,
    [JSON.stringify(definerFunctions)],
  );
  const names = found.flatMap(({ name }) => name ?? []);
  return {
    pending: [...migrationNames.filter((name) => !names.includes(name)), ...found.flatMap(({ missing }) => missing ?? [])],
    unknown: names.filter((name) => !migrationNames.includes(name)),
  };
}

/** Returns only the pending migrations of `compareMigrations`. */
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
  nameDialect(orm, dialect);
  return orm;
}

/** Throws the error that prevents either pool from opening new connections; open connections may keep working for a long time. */
export async function refuseLostAccess({ app, sweeper }: Pick<Databases, 'app' | 'sweeper'>): Promise<void> {
  await Promise.all([app, sweeper].map((orm) => dialectOf(orm).openOnce()));
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
