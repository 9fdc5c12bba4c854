import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { randomKeyRing } from '../../db/key-ring.ts';
import { deleteSome, firstLeft, tablesOfOrganization, tablesOfWorkspace, type Deleted } from '../../db/operator/purge-tables.ts';
import { rehouse } from '../../domain/operator/purge-workspace.ts';
import { sweep } from '../../db/transaction.ts';
import { tenantKeys } from '../../db/tenancy/keys/tenant-keys.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';
import { makeTenant, type TestTenant } from '../support/tenant.ts';
import { fillTables, tenantTables } from '../workflows/row-samples.ts';

let database: TestDatabase;
let admin: pg.Client;
let tenant: TestTenant;

beforeAll(async () => {
  database = await testDatabase();
  admin = new pg.Client({ connectionString: database.adminUrl });
  await admin.connect();
  tenant = await makeTenant(database.db, randomKeyRing());
  await fillTables(admin, tenantTables(database.db), tenant);
});

afterAll(async () => {
  await admin.end();
  await database.drop();
});

test('every table of an organization is deleted or named as outliving it, children before their parents', async () => {
  const tables = await sweep(database.db, async (em) => tablesOfOrganization(em));
  const ofWorkspace = await sweep(database.db, async (em) => tablesOfWorkspace(em));

  expect(tenantTables(database.db).filter((table) => !tables.includes(table))).toEqual([
    'data_keys',
    'purges',
    'usage_entries',
    'usage_rollups',
  ]);
  expect(ofWorkspace.filter((table) => !tables.includes(table))).toEqual([]);
  const late = tenantKeys.filter(
    ({ table, references }) => table !== references && tables.includes(references) && tables.indexOf(table) > tables.indexOf(references),
  );
  // Parents that point at a child: the pointer is let go before the child is deleted.
  expect(late.map((key) => `${key.table}.${key.columns[0]}`)).toEqual([
    'agents.active_revision_id',
    'toolkits.active_revision_id',
    'review_playbooks.active_revision_id',
  ]);
});

test('at most 5,000 rows go in a transaction, found by their runs; a lost position changes nothing', async () => {
  const { organizationId } = tenant;
  await admin.query(
    `insert into messages (id, organization_id, workspace_id, conversation_id, run_id, turn, pos, role, origin, content, tool_call_ids, state, attempt)
     select gen_random_uuid(), m.organization_id, m.workspace_id, m.conversation_id, m.run_id, m.turn, m.pos + n, m.role, m.origin, m.content, m.tool_call_ids, m.state, m.attempt
       from messages m, generate_series(1, 11999) n where m.organization_id = $1`,
    [organizationId],
  );
  const place = { organizationId, workspaceId: null };
  const order = await sweep(database.db, async (em) => tablesOfOrganization(em));
  const clear = async (table: string) => {
    const sizes: number[] = [];
    for (let after: string | null = null, isDone = false; !isDone;) {
      const from: string | null = after;
      const batch: Deleted = await sweep(database.db, (em) => deleteSome(em, { table, tables: order, place }, from));
      sizes.push(batch.deleted);
      isDone = batch.isDone;
      // Forgotten once, as by a worker that was killed.
      after = sizes.length === 2 ? null : batch.after;
    }
    return sizes;
  };

  for (const table of order.slice(0, order.indexOf('messages'))) await clear(table);
  expect(await clear('messages')).toEqual([5000, 5000, 2000, 0, 0]);
  for (const table of order.slice(order.indexOf('messages') + 1)) await clear(table);
  expect(await sweep(database.db, (em) => firstLeft(em, order, place))).toBeNull();
});

test('a workspace that was restored after it had been found due keeps its people', async () => {
  const own = await makeTenant(database.db, randomKeyRing());
  const workspace = { id: own.workspaceId, organizationId: own.organizationId };
  const people = async () => (await admin.query('select id, email from users where workspace_id = $1 order by id', [own.workspaceId])).rows;
  const before = await people();

  expect(await sweep(database.db, (em) => rehouse(em, workspace))).toBe(false);
  expect(before).not.toEqual([]);
  expect(await people()).toEqual(before);
});
