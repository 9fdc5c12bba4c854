import { randomBytes } from 'node:crypto';
import { Migrator } from '@mikro-orm/migrations';
import { MikroORM } from '@mikro-orm/postgresql';
import pg from 'pg';
import type { Logger } from 'pino';
import { migrations } from '../db/migrations/index.ts';
import { ormOptions } from '../db/mikro-orm.config.ts';
import { createDialect } from '../db/pg-dialect.ts';
import { databaseRoles, type LoginRole, loginRoles } from '../db/roles.ts';

export type RolePasswords = Readonly<Record<LoginRole, string>>;

export interface MigrateSettings {
  /** A role that may create roles (and, with `databaseName`, databases). */
  readonly databaseUrl: string;
  /** Created when it is missing. Default: the database of the URL. */
  readonly databaseName?: string;
  /** Random ones when left out: then URLs handed out earlier stop working. */
  readonly passwords?: RolePasswords;
  readonly log: Pick<Logger, 'info' | 'debug' | 'warn'>;
}

export interface MigratedDatabase {
  readonly appUrl: string;
  readonly sweeperUrl: string;
  readonly ownerUrl: string;
}

/** Two migrations of one database, or two makings of the cluster's roles, never overlap. */
const advisoryLock = 7_405_106_031;

/**
 * Makes roles and database where they are missing and runs the pending migrations as longhaul_owner. May be repeated at any time and
 * from several processes at once.
 */
export async function migrate({
  databaseUrl,
  databaseName,
  passwords = randomPasswords(),
  log,
}: MigrateSettings): Promise<MigratedDatabase> {
  const name = databaseName ?? databaseOf(databaseUrl);
  await locked(databaseUrl, async (admin) => {
    await makeRoles(admin, passwords);
    await makeDatabase(admin, name);
  });
  await letOwnerCreate(withDatabase(databaseUrl, name));

  const urlOf = (role: LoginRole) => withCredentials(withDatabase(databaseUrl, name), role, passwords[role]);
  const ownerUrl = urlOf('longhaul_owner');
  await locked(ownerUrl, async () => runMigrations(ownerUrl, log));
  return { appUrl: urlOf('longhaul_app'), sweeperUrl: urlOf('longhaul_sweeper'), ownerUrl };
}

/** Runs the pending migrations with a role that owns the tables already: for databases whose roles were made by hand. */
export async function migrateAsOwner({
  ownerUrl,
  log,
}: {
  readonly ownerUrl: string;
  readonly log: MigrateSettings['log'];
}): Promise<void> {
  await locked(ownerUrl, async () => runMigrations(ownerUrl, log));
}

/** Whether the role of this URL may make the four roles. */
export async function canMakeRoles(databaseUrl: string): Promise<boolean> {
  return connected(databaseUrl, async (client) => {
    const { rows } = await client.query<{ may: boolean }>(
      'select rolsuper or rolcreaterole as may from pg_roles where rolname = current_user',
    );
    return rows[0]?.may ?? false;
  });
}

export function randomPasswords(): RolePasswords {
  const password = () => randomBytes(24).toString('base64url');
  return { longhaul_owner: password(), longhaul_app: password(), longhaul_sweeper: password() };
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

async function runMigrations(ownerUrl: string, log: MigrateSettings['log']): Promise<void> {
  const orm = await ownerOrm(ownerUrl, log);
  try {
    const applied = await orm.migrator.up();
    for (const { name } of applied) log.info({ migration: name }, 'migration applied');
  } finally {
    await orm.close(true);
  }
}

async function makeRoles(admin: pg.Client, passwords: RolePasswords): Promise<void> {
  const found = await admin.query<{ rolname: string }>('select rolname from pg_roles where rolname = any($1)', [databaseRoles]);
  const known = new Set(found.rows.map((role) => role.rolname));
  for (const role of databaseRoles) {
    if (!known.has(role)) await admin.query(`create role ${role} nologin`);
  }
  for (const role of loginRoles) await admin.query(`alter role ${role} login password ${pg.escapeLiteral(passwords[role])}`);

  // The owner hands definer functions to the gate and changes rows as the sweeper; it has the rights of neither by itself.
  await admin.query('grant longhaul_sweeper, longhaul_gate to longhaul_owner with inherit false, set true');
}

async function makeDatabase(admin: pg.Client, name: string): Promise<void> {
  const found = await admin.query('select from pg_database where datname = $1', [name]);
  if (found.rowCount) return;

  const { rows } = await admin.query<{ is_super: boolean }>('select rolsuper as is_super from pg_roles where rolname = current_user');
  if (!rows[0]?.is_super) await admin.query('grant longhaul_owner to current_user with inherit true, set true');
  await admin.query(`create database ${pg.escapeIdentifier(name)} owner longhaul_owner`);
}

// In a database that somebody else made, the owner of our tables needs the right to make them, and to lend it to longhaul_gate.
async function letOwnerCreate(url: string): Promise<void> {
  await connected(url, async (client) => {
    const { rows } = await client.query<{ may: boolean }>(
      "select has_schema_privilege('longhaul_owner', 'public', 'create with grant option') as may",
    );
    if (!rows[0]?.may) await client.query('grant usage, create on schema public to longhaul_owner with grant option');
  });
}

async function locked<R>(url: string, work: (client: pg.Client) => Promise<R>): Promise<R> {
  return connected(url, async (client) => {
    // A lock of the session: closing the connection frees it, whatever happens.
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
