import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type pg from 'pg';
import pino from 'pino';
import { migrate, ownerOrm } from '../../cli/migrate.ts';
import { lookupFunction } from '../../db/identity/lookup/lookup-parts.sql.ts';
import { applyDefinerFunctions } from '../../db/migrations/apply-functions.ts';
import { migrationNames } from '../../db/migrations/index.ts';
import { definerStatements, sqlFiles } from '../../db/migrations/statements.ts';
import { connectDatabases, pendingMigrations } from '../../db/orm.ts';
import { definerFunctions, definerSql } from '../../db/definer-functions.ts';
import { keyName, keySql, tenantKeys } from '../../db/tenancy/keys/tenant-keys.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';
import { testServices } from '../support/services.ts';
import { testPasswords, withAdmin } from '../support/template.ts';

const log = pino({ level: 'silent' });
const password = 'longhaul-test';
let database: TestDatabase;

beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

test('after migrate the schema comparator finds no difference, beside the keys that tenant-keys lists', async () => {
  const orm = await ownerOrm(database.ownerUrl, log);

  const statements = (await orm.schema.getUpdateSchemaSQL()).split(';\n').map((statement) => statement.trim());

  const known = new Set(tenantKeys.map((key) => `alter table "${key.table}" drop constraint "${keyName(key)}"`));
  expect(statements.filter((statement) => statement !== '' && !statement.startsWith('set names') && !known.has(statement))).toEqual([]);
  await orm.close(true);
});

test('the foreign keys of the database are those of tenant-keys', async () => {
  const found = await withAdmin(database.adminUrl, (admin) =>
    admin.query<{ sql: string }>(
      `select format('alter table %s add constraint %s %s', conrelid::regclass, conname, lower(pg_get_constraintdef(oid))) as sql
       from pg_constraint where contype = 'f'`,
    ),
  );

  expect(found.rows.map((row) => row.sql).toSorted()).toEqual(tenantKeys.map(keySql).toSorted());
});

test('the definer functions of the database are those of the code', async () => {
  await withAdmin(database.adminUrl, async (admin) => {
    const definitions = async () => {
      const { rows } = await admin.query<{ name: string; definition: string }>(
        `select oid::regprocedure::text as name, pg_get_functiondef(oid) as definition from pg_proc where prosecdef and pronamespace = 'public'::regnamespace order by 1`,
      );
      return rows;
    };

    const migrated = await definitions();
    await admin.query('begin');
    for (const statement of definerStatements(definerSql, definerFunctions)) await admin.query(statement);
    const written = await definitions();
    await admin.query('rollback');

    expect(migrated.length).toBe(definerFunctions.length);
    expect(written).toEqual(migrated);
  });
});

test('a definer function that has changed in the code is replaced at the next migration, and no other', async () => {
  await withAdmin(database.adminUrl, async (admin) => {
    const run = async (sql: string, parameters: readonly unknown[] = []) => (await admin.query(sql, [...parameters])).rows;
    const version = (answer: number) => ({
      signature: 'gate_probe(uuid)',
      sql: lookupFunction('gate_probe(p_id uuid)', `select to_jsonb(${answer})`),
    });
    const answer = async () => (await admin.query<{ answer: number }>('select gate_probe(null) as answer')).rows[0]?.answer;

    await admin.query('begin');
    const unchanged = await applyDefinerFunctions(run);
    const made = [await applyDefinerFunctions(run, [version(1)]), await answer(), await applyDefinerFunctions(run, [version(1)])];
    const replaced = [await applyDefinerFunctions(run, [version(2)]), await answer()];
    const { rows } = await admin.query<{ owner: string; everybody: boolean; app: boolean }>(
      `select proowner::regrole::text as owner, has_function_privilege('longhaul_app', oid, 'execute') as app,
              exists (select from aclexplode(proacl) a where a.grantee = 0) as everybody from pg_proc where proname = 'gate_probe'`,
    );
    await admin.query('rollback');

    expect(unchanged).toEqual([]);
    expect(made).toEqual([['gate_probe(uuid)'], 1, []]);
    expect(replaced).toEqual([['gate_probe(uuid)'], 2]);
    expect(rows).toEqual([{ owner: 'longhaul_gate', app: true, everybody: false }]);
  });
});

test('migrations are numbered without a gap', () => {
  expect(migrationNames.map((name) => Number(name.slice(0, 4)))).toEqual(migrationNames.map((_, at) => at + 1));
  expect(migrationNames.length).toBeGreaterThanOrEqual(12);
});

test('two migrations of a fresh database at once make it once, and a repeat changes nothing', async () => {
  const { databaseUrl } = testServices();
  const name = `longhaul_test_${process.pid}_${randomBytes(6).toString('hex')}`;
  const settings = { databaseUrl, databaseName: name, passwords: testPasswords, log };

  const [first, second] = await Promise.all([migrate(settings), migrate(settings)]);
  const third = await migrate(settings);

  const urlsOf = ({ appUrl, sweeperUrl, ownerUrl }: typeof first) => ({ appUrl, sweeperUrl, ownerUrl });
  expect([second, third].map(urlsOf)).toEqual([urlsOf(first), urlsOf(first)]);
  // Whoever comes second finds nothing to do.
  expect([first, second].map(({ madeDatabase }) => madeDatabase).toSorted()).toEqual([name, null]);
  expect([first, second].map(({ applied }) => applied.length).toSorted((a, b) => a - b)).toEqual([0, migrationNames.length]);
  expect(third).toMatchObject({ madeRoles: [], madeDatabase: null, applied: [] });
  const { rows } = await withAdmin(third.ownerUrl, (owner) =>
    owner.query<{ name: string }>('select name from schema_migrations order by name'),
  );
  expect(rows.map((row) => row.name)).toEqual(migrationNames);
  await withAdmin(databaseUrl, (admin) => admin.query(`drop database ${name} with (force)`));
});

test('a grant hangs on a user of its own organization; the migration keeps those that do and deletes the others', async () => {
  const [keys = ''] = sqlFiles(new URL('../../db/migrations/0007-credentials/', import.meta.url)).filter((sql) =>
    sql.includes('users_tenant_key'),
  );

  const { kept, refused } = await withAdmin(database.adminUrl, async (admin) => {
    await admin.query('begin');
    const organizations = await admin.query<{ id: string }>(
      `insert into organizations (id, name, slug) select gen_random_uuid(), 'O', 'o-' || n from generate_series(1, 2) n returning id`,
    );
    const [own, other] = organizations.rows.map(({ id }) => id);
    const user = await idOf(
      admin,
      `insert into users (id, email, role, scope, organization_id) values (gen_random_uuid(), 'a@b.test', 'owner', 'organization', $1)`,
      [own],
    );
    const roomOf = (id: string | undefined) =>
      idOf(admin, `insert into workspaces (id, organization_id, slug, name) values (gen_random_uuid(), $1, 'w', 'W')`, [id]);
    const [here, there] = [await roomOf(own), await roomOf(other)];
    const grant = 'insert into workspace_grants (workspace_id, user_id, organization_id, role) values ($1, $2, $3, $4)';
    await admin.query(grant, [here, user, own, 'viewer']);
    await admin.query('savepoint before');
    await admin.query('set constraints all immediate');
    const fault = await admin.query(grant, [there, user, other, 'viewer']).then(
      () => null,
      (error: Error) => error.message,
    );
    await admin.query('rollback to savepoint before');

    // As it was before, with a grant that nothing should ever have written.
    await admin.query('set constraints all immediate');
    await admin.query('alter table workspace_grants drop constraint workspace_grants_user_organization_fkey');
    await admin.query('alter table users drop constraint users_tenant_key');
    await admin.query('alter table workspace_grants add constraint workspace_grants_user_fkey foreign key (user_id) references users(id)');
    await admin.query(grant, [there, user, other, 'viewer']);
    await admin.query(keys);
    const left = await admin.query<{ workspace_id: string }>('select workspace_id from workspace_grants where user_id = $1', [user]);
    await admin.query('rollback');
    return { kept: left.rows.map((row) => row.workspace_id === here), refused: fault };
  });

  expect(kept).toEqual([true]);
  expect(refused).toContain('workspace_grants_user_organization_fkey');
});

async function idOf(admin: pg.Client, insert: string, params: readonly unknown[]): Promise<string> {
  const { rows } = await admin.query<{ id: string }>(`${insert} returning id`, [...params]);
  return rows[0]?.id ?? '';
}

test('a process knows which migrations and functions its database lacks', async () => {
  expect(await pendingMigrations(database.db)).toEqual([]);
  const [lost = ''] = definerFunctions;
  await withAdmin(database.adminUrl, (admin) => admin.query(`alter function ${lost} rename to moved`));
  expect(await pendingMigrations(database.db)).toEqual([lost]);
  await withAdmin(database.adminUrl, (admin) => admin.query(`alter function moved rename to ${lost.slice(0, lost.indexOf('('))}`));

  await withAdmin(database.adminUrl, (admin) => admin.query("update schema_migrations set name = 'another'"));
  expect(await pendingMigrations(database.db)).toEqual(migrationNames);
});

test.each([
  ['a superuser', () => database.adminUrl, 'is a superuser'],
  ['the owner of the tables', () => database.ownerUrl, 'owns tables'],
  ["the sweeper in the app's place", () => database.sweeperUrl, 'is not longhaul_app'],
])('%s is refused at the start', async (_name, url, fault) => {
  await expect(connect(url())).rejects.toThrow(fault);
});

test.each([
  ['may bypass policies', 'bypassrls', 'longhaul_app', 'may bypass row-level security'],
  ['is a member of the sweeper', '', 'longhaul_app, longhaul_sweeper', 'is a member of longhaul_sweeper'],
  ['is a member of the owner', '', 'longhaul_app, longhaul_owner', 'longhaul_owner, longhaul_sweeper'],
])('a role made by hand that %s is refused', async (_name, attribute, groups, fault) => {
  const role = `lh_${randomBytes(6).toString('hex')}`;
  await withAdmin(database.adminUrl, (admin) =>
    admin.query(`create role ${role} login ${attribute} password '${password}' in role ${groups}`),
  );

  await expect(connect(urlFor(role))).rejects.toThrow(fault);

  await withAdmin(database.adminUrl, (admin) => admin.query(`drop role ${role}`));
});

test('a role made by hand that is in longhaul_app alone is taken', async () => {
  const role = `lh_${randomBytes(6).toString('hex')}`;
  await withAdmin(database.adminUrl, (admin) => admin.query(`create role ${role} login password '${password}' in role longhaul_app`));

  const db = await connect(urlFor(role));

  await db.close();
  await withAdmin(database.adminUrl, (admin) => admin.query(`drop role ${role}`));
});

test('the definitions of the definer functions stand in the order of their signatures', () => {
  const defined = definerSql.map((sql) => /create or replace function (\w+)/.exec(sql)?.[1]);

  expect(defined).toEqual(definerFunctions.map((signature) => signature.slice(0, signature.indexOf('('))));
});

test('definer functions are those of the list, belong to the gate and are for the app alone', async () => {
  const found = await definers(database.adminUrl);

  expect(found.map((row) => row.name).toSorted()).toEqual([...definerFunctions].map((name) => name.replaceAll(', ', ',')).toSorted());
  for (const row of found)
    expect(row).toMatchObject({ owner: 'longhaul_gate', has_path: true, app: true, sweeper: false, everybody: false });
});

interface Definer {
  readonly name: string;
  readonly owner: string;
  readonly has_path: boolean;
  readonly app: boolean;
  readonly sweeper: boolean;
  readonly everybody: boolean;
}

async function definers(url: string): Promise<Definer[]> {
  const { rows } = await withAdmin(url, (admin: pg.Client) =>
    admin.query<Definer>(
      `select p.oid::regprocedure::text as name, p.proowner::regrole::text as owner,
         coalesce(p.proconfig::text like '%search_path%', false) as has_path,
         has_function_privilege('longhaul_app', p.oid, 'execute') as app,
         has_function_privilege('longhaul_sweeper', p.oid, 'execute') as sweeper,
         exists (select from aclexplode(p.proacl) a where a.grantee = 0) as everybody
       from pg_proc p where p.pronamespace = 'public'::regnamespace and p.prosecdef`,
    ),
  );
  return rows;
}

function connect(appUrl: string) {
  return connectDatabases({ appUrl, sweeperUrl: database.sweeperUrl, poolMax: 1, applicationName: 'longhaul-test', log });
}

function urlFor(role: string): string {
  const url = new URL(database.appUrl);
  url.username = role;
  url.password = password;
  return url.href;
}
