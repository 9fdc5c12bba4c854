import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { testDatabase, type TestDatabase } from '../support/database.ts';
import { catalogueFaults, policyFaults, designedPolicies, type Designed } from './checks/catalogue.ts';

let database: TestDatabase;
let admin: pg.Client;
let designed: Designed;
beforeAll(async () => {
  database = await testDatabase();
  admin = new pg.Client({ connectionString: database.adminUrl });
  await admin.connect();
  designed = await designedPolicies(admin);
});
afterAll(async () => {
  await admin.end();
  await database.drop();
});

async function after(change: string, look = catalogueFaults): Promise<string[]> {
  await admin.query('begin');
  try {
    await admin.query(change);
    return await look(admin, designed);
  } finally {
    await admin.query('rollback');
  }
}

test('G10: tables, policies, roles, grants and definer functions are those of the design', async () => {
  expect(await after('select 1')).toEqual([]);
});

test('G13: one policy dropped or opened, of any table, is noticed', async () => {
  const { rows } = await admin.query<{ table: string; name: string }>('select tablename as table, policyname as name from pg_policies');
  const unnoticed: string[] = [];
  for (const { table, name } of rows.filter((policy) => !policy.name.startsWith('gate_')))
    if ((await after(`drop policy ${name} on ${table}`, policyFaults)).length === 0) unnoticed.push(`${name} on ${table}`);

  expect(rows.length).toBeGreaterThan(100);
  expect(unnoticed).toEqual([]);
});

test.each([
  'alter policy app_select on runs using (true)',
  'alter policy app_update on agents using (true)',
  "alter policy app_select on agents using ((select app_operator()) or scope = 'platform')",
  'create policy extra on runs for select to longhaul_app using (true)',
  'create policy extra on runs for select to public using (true)',
  'alter table secrets no force row level security',
  'alter table secrets disable row level security',
  'create table forgotten (id uuid, organization_id uuid)',
  'create view open as select * from runs',
  'alter view knowledge_live_items set (security_invoker = false)',
  'grant update on knowledge_live_chunks to longhaul_app',
  'grant truncate on agents to longhaul_app',
  'grant update on audit_entries to longhaul_app',
  'grant select on users to public',
  'alter table agents owner to longhaul_app',
  'grant create on schema public to longhaul_app',
  'create function lurking() returns int language sql security definer as $$ select 1 $$',
  'grant execute on function gate_session(uuid, uuid, uuid, uuid, uuid) to public',
])('G13: `%s` is noticed', async (change) => {
  expect(await after(change)).not.toEqual([]);
});
