import { Migrator } from '@mikro-orm/migrations';
import { MikroORM } from '@mikro-orm/postgresql';
import pg from 'pg';
import type { Logger } from 'pino';
import { applyDefinerFunctions } from '../db/migrations/apply-functions.ts';
import { migrations } from '../db/migrations/index.ts';
import { ormOptions } from '../db/mikro-orm.config.ts';
import { createDialect } from '../db/postgres/pg-dialect.ts';
import { dataKeySamples, type StoredKey } from '../db/envelope.ts';
import { databaseRoles, type LoginRole, loginRoles } from '../db/roles.ts';
import { SetupError } from './setup-error.ts';

export type RolePasswords = Readonly<Record<LoginRole, string>>;

export interface MigrateSettings {
  /** A role that may create roles (and, with `databaseName`, databases). */
  readonly databaseUrl: string;
  /** Created if it is missing. Default: the database of the URL. */
  readonly databaseName?: string;
  readonly passwords: RolePasswords;
  /** Sets these passwords for existing roles; without it, roles with other passwords are refused. */
  readonly resetsRoles?: boolean;
  /** Checks the data keys of the database before the passwords of its roles are changed, if the role of the URL may read them. */
  readonly beforeReset?: (dataKeys: readonly StoredKey[]) => void;
  readonly log: Pick<Logger, 'info' | 'debug' | 'warn'>;
}

export interface MigratedDatabase extends MigrationReport {
  readonly appUrl: string;
  readonly sweeperUrl: string;
  readonly ownerUrl: string;
}

/** What a migration has changed: names, in order. */
export interface MigrationReport {
  readonly madeRoles: readonly string[];
  readonly madeDatabase: string | null;
  readonly applied: readonly string[];
}

/** Prevents concurrent migrations of one database and concurrent creation of the cluster's roles. */
const advisoryLock = 7_405_106_031;

/**
 * Creates roles and database if they are missing and runs the pending migrations as longhaul_owner. Can be repeated at any time and
 * by several processes at once.
 * @throws SetupError if a role has another password (running processes use it, so it is only changed on request), or if the
 * database lacks pgvector and the role may not add it.
 */
export async function migrate({
  databaseUrl,
  databaseName,
  passwords,
  resetsRoles = false,
  beforeReset,
  log,
}: MigrateSettings): Promise<MigratedDatabase> {
  const name = databaseName ?? databaseOf(databaseUrl);
  if (resetsRoles && beforeReset) beforeReset(await readableDataKeys(withDatabase(databaseUrl, name)));
  const made = await locked(databaseUrl, async (admin) => {
    const changes = await roleChanges(admin, { databaseUrl, passwords, resetsRoles });
    await makeRoles(admin, changes, passwords);
    return { madeRoles: changes.missing, madeDatabase: (await makeDatabase(admin, name)) ? name : null };
  });
  await letOwnerCreate(withDatabase(databaseUrl, name));
  await addVectors(withDatabase(databaseUrl, name));

  const urlOf = (role: LoginRole) => withCredentials(withDatabase(databaseUrl, name), role, passwords[role]);
  const ownerUrl = urlOf('longhaul_owner');
  const applied = await migrateTables(ownerUrl, log);
  return { ...made, applied, appUrl: urlOf('longhaul_app'), sweeperUrl: urlOf('longhaul_sweeper'), ownerUrl };
}

/** Runs the pending migrations with a role that already owns the tables, for databases whose roles were created manually. */
export async function migrateAsOwner({
  ownerUrl,
  log,
}: {
  readonly ownerUrl: string;
  readonly log: MigrateSettings['log'];
}): Promise<MigrationReport> {
  await addVectors(ownerUrl);
  return { madeRoles: [], madeDatabase: null, applied: await migrateTables(ownerUrl, log) };
}

/** Whether the role of this URL may create the four roles. */
export async function canMakeRoles(databaseUrl: string): Promise<boolean> {
  return connected(databaseUrl, async (client) => {
    const { rows } = await client.query<{ may: boolean }>(
      'select rolsuper or rolcreaterole as may from pg_roles where rolname = current_user',
    );
    return rows[0]?.may ?? false;
  });
}

/** A MikroORM of the owner: runs migrations, and compares the schema with the entities in development and tests. */
export async function ownerOrm(ownerUrl: string, log: Pick<Logger, 'debug' | 'warn'>): Promise<MikroORM> {
  const dialect = createDialect({
    url: ownerUrl,
    max: 2,
    applicationName: 'longhaul-migrate',
    statementTimeoutMs: null,
    acquireTimeoutMs: 10_000,
    onError: (error) => log.warn({ err: error }, 'database connection lost'),
  });
  return MikroORM.init({
    ...ormOptions({ url: ownerUrl, dialect, log }),
    extensions: [Migrator],
    migrations: { migrationsList: migrations, tableName: 'schema_migrations', snapshot: false, allOrNothing: true, transactional: true },
  });
}

/** Runs the pending migrations, then creates what has changed of the definer functions. Returns the names of the migrations. */
function migrateTables(ownerUrl: string, log: MigrateSettings['log']): Promise<string[]> {
  return locked(ownerUrl, async (client) => {
    const applied = await runMigrations(ownerUrl, log);
    await client.query('begin');
    const functions = await applyDefinerFunctions(async (sql, parameters) => (await client.query(sql, parameters && [...parameters])).rows);
    await client.query('commit');
    if (functions.length > 0) log.info({ functions }, 'definer functions applied');
    return applied;
  });
}

async function runMigrations(ownerUrl: string, log: MigrateSettings['log']): Promise<string[]> {
  const orm = await ownerOrm(ownerUrl, log);
  try {
    const applied = await orm.migrator.up();
    for (const { name } of applied) log.info({ migration: name }, 'migration applied');
    return applied.map(({ name }) => name);
  } finally {
    await orm.close(true);
  }
}

/** Returns none if the database or its tables do not exist yet, or if the role may not read them. */
async function readableDataKeys(url: string): Promise<StoredKey[]> {
  const noDatabase = '3D000';
  const noTable = '42P01';
  const noRight = '42501';
  try {
    return await connected(url, async (client) => (await client.query<StoredKey>(dataKeySamples)).rows);
  } catch (error) {
    if (error instanceof pg.DatabaseError && [noDatabase, noTable, noRight].includes(error.code ?? '')) return [];
    throw error;
  }
}

interface RoleChanges {
  readonly missing: readonly string[];
  /** Roles that get our password: new ones, those that could not log in before, and all of them on request. */
  readonly withPassword: readonly LoginRole[];
}

interface WantedRoles {
  readonly databaseUrl: string;
  readonly passwords: RolePasswords;
  readonly resetsRoles: boolean;
}

async function roleChanges(admin: pg.Client, { databaseUrl, passwords, resetsRoles }: WantedRoles): Promise<RoleChanges> {
  const { rows } = await admin.query<{ name: string; logs_in: boolean }>(
    'select rolname as name, rolcanlogin as logs_in from pg_roles where rolname = any($1)',
    [databaseRoles],
  );
  const known = new Map(rows.map(({ name, logs_in: logsIn }) => [name, logsIn]));
  const inUse = resetsRoles ? [] : loginRoles.filter((role) => known.get(role) === true);
  const fits = await Promise.all(inUse.map((role) => isPasswordOf(databaseUrl, role, passwords[role])));
  const strange = inUse.filter((_, n) => !fits[n]);
  if (strange.length > 0)
    throw new SetupError(
      `This database server has ${strange.join(', ')} already, with passwords other than ${strange.length === 1 ? 'the one' : 'those'} given here, and a running deployment may use them. ` +
        'Run this with the state folder of that deployment (LONGHAUL_STATE_DIR), or with its DATABASE_OWNER_URL, DATABASE_APP_URL and DATABASE_SWEEPER_URL. ' +
        '`longhaul migrate --reset-roles` sets the passwords that are given here; whatever uses the old ones then needs the new ones.',
    );
  return {
    missing: databaseRoles.filter((role) => !known.has(role)),
    withPassword: loginRoles.filter((role) => !inUse.includes(role)),
  };
}

/** False only if the server rejects the password: a role that may not use this database, for example, has authenticated before that check. */
async function isPasswordOf(databaseUrl: string, role: LoginRole, password: string): Promise<boolean> {
  const invalidPassword = '28P01';
  try {
    await connected(withCredentials(databaseUrl, role, password), () => Promise.resolve());
    return true;
  } catch (error) {
    return !(error instanceof pg.DatabaseError && error.code === invalidPassword);
  }
}

async function makeRoles(admin: pg.Client, { missing, withPassword }: RoleChanges, passwords: RolePasswords): Promise<void> {
  for (const role of missing) await admin.query(`create role ${role} nologin`);
  for (const role of withPassword) await admin.query(`alter role ${role} login password ${pg.escapeLiteral(passwords[role])}`);

  // The owner transfers definer functions to the gate and changes rows as the sweeper; it does not inherit the rights of either.
  await admin.query('grant longhaul_sweeper, longhaul_gate to longhaul_owner with inherit false, set true');
}

/** Returns whether it was missing. */
async function makeDatabase(admin: pg.Client, name: string): Promise<boolean> {
  const found = await admin.query('select from pg_database where datname = $1', [name]);
  if (found.rowCount) return false;

  const { rows } = await admin.query<{ is_super: boolean }>('select rolsuper as is_super from pg_roles where rolname = current_user');
  if (!rows[0]?.is_super) await admin.query('grant longhaul_owner to current_user with inherit true, set true');
  await admin.query(`create database ${pg.escapeIdentifier(name)} owner longhaul_owner`);
  return true;
}

// In a database created by another role, the owner of our tables needs the right to create them, and to grant it to longhaul_gate.
async function letOwnerCreate(url: string): Promise<void> {
  await connected(url, async (client) => {
    const { rows } = await client.query<{ may: boolean }>(
      "select has_schema_privilege('longhaul_owner', 'public', 'create with grant option') as may",
    );
    if (!rows[0]?.may) await client.query('grant usage, create on schema public to longhaul_owner with grant option');
  });
}

/** pgvector is not a trusted extension: a role that may add it does so here, or an administrator has added it before. */
async function addVectors(url: string): Promise<void> {
  const noRight = '42501';
  const noFile = '0A000';
  try {
    await locked(url, (client) => client.query('create extension if not exists vector'));
  } catch (error) {
    if (!(error instanceof pg.DatabaseError && [noRight, noFile].includes(error.code ?? ''))) throw error;
    throw new SetupError(
      `The database ${databaseOf(url)} lacks pgvector, and this role is not allowed to add it (${error.message}). ` +
        'Install pgvector on its server and run `create extension vector` in this database as a superuser, then try again.',
    );
  }
}

async function locked<R>(url: string, work: (client: pg.Client) => Promise<R>): Promise<R> {
  return connected(url, async (client) => {
    // A session-level lock: closing the connection releases it in any case.
    await client.query('select pg_advisory_lock($1)', [advisoryLock]);
    return work(client);
  });
}

async function connected<R>(url: string, work: (client: pg.Client) => Promise<R>): Promise<R> {
  const client = new pg.Client({ connectionString: url, application_name: 'longhaul-migrate' });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

function databaseOf(url: string): string {
  const name = decodeURIComponent(new URL(url).pathname.slice(1));
  if (name === '') throw new Error('The database URL names no database');
  return name;
}

function withDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${encodeURIComponent(name)}`;
  return changed.href;
}

function withCredentials(url: string, user: string, password: string): string {
  const changed = new URL(url);
  changed.username = user;
  changed.password = encodeURIComponent(password);
  return changed.href;
}
