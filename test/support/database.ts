import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import pino from 'pino';
import { connectDatabases } from '../../db/orm.ts';
import type { Databases } from '../../db/databases.ts';
import { testServices } from './services.ts';
import { clonePrefix, testPasswords, withAdmin } from './template.ts';

export interface TestDatabase {
  readonly db: Databases;
  readonly appUrl: string;
  readonly sweeperUrl: string;
  readonly ownerUrl: string;
  /** Superuser, past every policy: for looking at what is really there. */
  readonly adminUrl: string;
  /** Closes `db` and drops the clone. */
  drop(): Promise<void>;
}

export interface TestDatabaseOptions {
  /** Sees every statement, for counting. */
  readonly onQuery?: (sql: string, parameters: readonly unknown[]) => void;
  readonly poolMax?: number;
  /** Waits for a connection as a deployment does. */
  readonly hasUsualTimeouts?: boolean;
}

/** Where processes on a test database anchor its audit log: never beside the deployment of whoever runs the tests. */
export function anchorFileOf({ appUrl }: Pick<TestDatabase, 'appUrl'>): string {
  return join(tmpdir(), 'longhaul-tests', `${new URL(appUrl).pathname.slice(1)}.jsonl`);
}

/** An empty, migrated database of its own: a clone of the template, made once a test file. */
export async function testDatabase(options: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const { databaseUrl, templateDatabase } = testServices();
  const name = `${clonePrefix}${process.pid}_${randomBytes(6).toString('hex')}`;
  await withAdmin(databaseUrl, (admin) => admin.query(`create database ${name} template ${templateDatabase} strategy file_copy`));

  const urlOf = (role: keyof typeof testPasswords) => databaseUrlOf(databaseUrl, name, role, testPasswords[role]);
  const urls = { appUrl: urlOf('longhaul_app'), sweeperUrl: urlOf('longhaul_sweeper'), ownerUrl: urlOf('longhaul_owner') };
  const db = await connectDatabases({
    ...urls,
    poolMax: options.poolMax ?? 7,
    sweeperPoolMax: 3,
    applicationName: 'longhaul-test',
    // A machine that is busy with other tests is no outage.
    ...(options.hasUsualTimeouts ? {} : { acquireTimeoutMs: 15_000 }),
    log: pino({ level: 'silent' }),
    onQuery: options.onQuery,
  });

  return {
    db,
    ...urls,
    adminUrl: databaseUrlOf(databaseUrl, name),
    drop: async () => {
      await db.close();
      await withAdmin(databaseUrl, (admin) => dropDatabase(admin, name));
    },
  };
}

/**
 * A pool's end doesn't wait for its sockets. By itself PostgreSQL waits some seconds for connections that are going; forced it would send
 * them an error, which nobody hears any more, and that ends the process. Only what stays is forced.
 */
async function dropDatabase(admin: pg.Client, name: string): Promise<void> {
  await admin.query(`drop database if exists ${name}`).catch(() => admin.query(`drop database if exists ${name} with (force)`));
}

function databaseUrlOf(adminUrl: string, name: string, user?: string, password?: string): string {
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  if (user !== undefined) url.username = user;
  if (password !== undefined) url.password = password;
  return url.href;
}
