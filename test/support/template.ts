import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { definerFunctions, definerSql } from '../../db/definer-functions.ts';
import { migrate, type RolePasswords } from '../../cli/migrate.ts';

/** Fixed, since roles belong to the cluster and several runs may share it. */
export const testPasswords: RolePasswords = {
  longhaul_owner: 'longhaul-test',
  longhaul_app: 'longhaul-test',
  longhaul_sweeper: 'longhaul-test',
};

/** Clones are named after the process that made them, so that those of killed runs can be told. */
export const clonePrefix = 'longhaul_test_';

const advisoryLock = 7_405_106_032;
const silent = { info: () => undefined, debug: () => undefined, warn: () => undefined };

/** Migrates a database named after the hash of migrations and definer functions, unless a former run did; gives its name. */
export async function makeTemplate(adminUrl: string): Promise<string> {
  const name = `longhaul_template_${hashOfMigrations()}`;
  const building = `${name}_building`;

  await withAdmin(adminUrl, async (admin) => {
    await admin.query('select pg_advisory_lock($1)', [advisoryLock]);
    const found = await admin.query('select from pg_database where datname = $1', [name]);
    if (found.rowCount) return;

    await admin.query(`drop database if exists ${building} with (force)`);
    await migrate({ databaseUrl: adminUrl, databaseName: building, passwords: testPasswords, log: silent });
    await admin.query(`alter database ${building} rename to ${name}`);
  });
  return name;
}

/** Drops the clones that killed runs left behind. */
export async function dropStaleDatabases(adminUrl: string): Promise<void> {
  await withAdmin(adminUrl, async (admin) => {
    const { rows } = await admin.query<{ datname: string }>('select datname from pg_database where starts_with(datname, $1)', [
      clonePrefix,
    ]);
    const stale = rows.map((row) => row.datname).filter((name) => !isAlive(Number(name.split('_').at(-2))));
    // One with a live connection belongs to somebody after all and stays.
    for (const name of stale) await admin.query(`drop database if exists ${name}`).catch(() => undefined);
  });
}

/** A connection as the cluster's administrator. */
export async function withAdmin<R>(adminUrl: string, work: (admin: pg.Client) => Promise<R>): Promise<R> {
  const admin = new pg.Client({ connectionString: adminUrl, application_name: 'longhaul-test' });
  await admin.connect();
  try {
    return await work(admin);
  } finally {
    await admin.end();
  }
}

/** Statements as the administrator over connections that stay open: a new one costs more than what a condition that is waited for asks. */
export interface KeptAdmin {
  query(sql: string, params?: readonly unknown[]): Promise<Record<string, unknown>[]>;
  close(): Promise<void>;
}

export function keepAdmin(adminUrl: string): KeptAdmin {
  const pool = new pg.Pool({ connectionString: adminUrl, application_name: 'longhaul-test', max: 2 });
  pool.on('error', () => undefined); // a server that goes away; the next statement says so
  return {
    query: async (sql, params = []) => (await pool.query<Record<string, unknown>>(sql, [...params])).rows,
    close: () => pool.end(),
  };
}

function hashOfMigrations(): string {
  const root = fileURLToPath(new URL('../../', import.meta.url));
  const hash = createHash('sha256').update(JSON.stringify([definerFunctions, definerSql]));
  for (const file of filesUnder(join(root, 'db/migrations'))) hash.update(`${file.slice(root.length)}\0`).update(readFileSync(file));
  return hash.digest('hex').slice(0, 16);
}

function filesUnder(path: string): string[] {
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
