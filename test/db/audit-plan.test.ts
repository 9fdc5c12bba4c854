import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { listAuditRows, type AuditFilters } from '../../db/audit/entries.ts';
import type { Caller } from '../../db/caller.ts';
import { randomKeyRing } from '../../db/key-ring.ts';
import { newId } from '../../db/ids.ts';
import { openTransaction, systemActor, sweep, tenantOf } from '../../db/transaction.ts';
import { change, rows } from '../../db/sql.ts';
import { runRetention } from '../../domain/retention.ts';
import { callerOf } from '../support/caller.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';
import { withAdmin } from '../support/template.ts';
import { silent } from '../support/worker.ts';
import { makeWorld } from './world.ts';

const foreignRows = 200_000;
const small = { organizationId: newId(), workspaceId: newId() };
const large = { organizationId: newId(), workspaceId: newId() };
const user = newId();
const statements: { sql: string; params: readonly unknown[] }[] = [];
let database: TestDatabase;

beforeAll(async () => {
  database = await testDatabase();
  const write = (count: number, place: typeof small, every: number) =>
    sweep(database.db, (em) =>
      change(
        em,
        `insert into audit_entries (id, organization_id, workspace_id, actor_kind, actor_id, acting_user_id, action, resource_type, created_at, seq, seal_no)
         select gen_random_uuid(), ?::uuid, case when n % 2 = 0 then ?::uuid end, 'user', case when n % ?::int = 0 then ?::uuid else gen_random_uuid() end,
           null, 'update', case when n % ?::int = 0 then 'rare' else 'agent' end, now() - n * interval '1 second', n, 1
         from generate_series(1, ?::int) n`,
        [place.organizationId, place.workspaceId, every, user, every, count],
      ),
    );
  await write(foreignRows, large, 50_000);
  await write(10, small, 3);
  await withAdmin(database.adminUrl, (admin) => admin.query('analyze audit_entries'));
});
afterAll(() => database.drop());

const ofOrganization = (place: typeof small) => callerOf({ organizationId: place.organizationId, workspaceId: null, role: 'admin' });
const ofWorkspace = (place: typeof small) => callerOf({ ...place, role: 'admin' });
const operator: Caller = callerOf({ organizationId: null, workspaceId: null, role: 'operator', scope: 'platform' });

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Plans'?: readonly PlanNode[];
}

/** Runs the list as that caller and gives how its statement was executed: the kinds of nodes, and the rows that were read. */
async function planOf(caller: Caller, filters: AuditFilters): Promise<{ nodes: string[]; read: number; found: number }> {
  const open = await openTransaction(database.db, { tenant: tenantOf(caller), actor: systemActor, correlationId: newId() });
  const { config } = open.tx.em;
  const before = config.get('onQuery');
  statements.length = 0;
  config.set('onQuery', (sql, params) => {
    statements.push({ sql, params: [...params] });
    return before(sql, params);
  });
  try {
    const page = { limit: 50, offset: null, after: null };
    const found = await listAuditRows({ ...open.tx, caller, floor: 'admin' }, filters, page);
    const statement = statements.find(({ sql }) => sql.includes('from "audit_entries"'));
    config.set('onQuery', before);
    const [explained] = await rows<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
      open.tx.em,
      `explain (analyze, format json) ${(statement?.sql ?? '').replaceAll(/\$\d+/g, '?')}`,
      statement?.params,
    );
    const nodes = flat(explained?.['QUERY PLAN'][0].Plan ?? fail());
    const read = nodes
      .filter((node) => node['Relation Name'] === 'audit_entries')
      .reduce((sum, node) => sum + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'], 0);
    return { nodes: nodes.map((node) => node['Node Type']), read, found: found.items.length };
  } finally {
    config.set('onQuery', before);
    await open.rollback();
  }
}

test.each<[string, () => Caller, AuditFilters, number]>([
  ['a small organization beside 200,000 foreign entries', () => ofOrganization(small), {}, 10],
  ['its workspace', () => ofWorkspace(small), {}, 5],
  ['its entries of one type', () => ofOrganization(small), { resource_type: 'agent' }, 7],
  ['its entries of one actor', () => ofOrganization(small), { actor_id: user }, 3],
  ['its entries of a span of time', () => ofOrganization(small), { from: '2020-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z' }, 10],
  ['a large organization', () => ofOrganization(large), {}, 50],
  ['the workspace of a large one', () => ofWorkspace(large), {}, 50],
  ['few entries of one actor among many', () => ofOrganization(large), { actor_id: user }, 4],
  ['few entries of one type among many', () => ofOrganization(large), { resource_type: 'rare' }, 4],
  ['an operator, over all organizations', () => operator, {}, 50],
])('%s: read through an index, at most 100 rows', async (_name, caller, filters, found) => {
  const plan = await planOf(caller(), filters);

  expect(plan.nodes).not.toContain('Seq Scan');
  expect(plan.found).toBe(found);
  expect(plan.read).toBeLessThanOrEqual(100);
});

test('retention finds what is due without reading the seals that were purged before', async () => {
  const { organizationId } = await makeWorld(database.db);
  await sweep(database.db, (em) => change(em, 'insert into organization_settings (organization_id) values (?)', [organizationId]));
  await sweep(database.db, (em) =>
    change(
      em,
      `insert into audit_seals (chain, seal_no, organization_id, first_seq, last_seq, entries, mac, entry_macs, key_id, purged_at)
       select ?, n, ?::uuid, n, n, 1, '', '', 'k', case when n < 20000 then now() end from generate_series(1, 20000) n`,
      [organizationId, organizationId],
    ),
  );
  await withAdmin(database.adminUrl, (admin) => admin.query('analyze audit_seals'));
  const { config } = database.db.sweeper.em;
  const before = config.get('onQuery');
  statements.length = 0;
  config.set('onQuery', (sql, params) => {
    statements.push({ sql, params: [...params] });
    return before(sql, params);
  });
  await runRetention(database.db, randomKeyRing(), { log: silent, signal: new AbortController().signal }).finally(() =>
    config.set('onQuery', before),
  );

  const search = statements.find(({ sql }) => sql.includes('from "audit_seals"'));
  const [explained] = await sweep(database.db, (em) =>
    rows<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(em, `explain (analyze, format json) ${search?.sql ?? ''}`),
  );
  const read = flat(explained?.['QUERY PLAN'][0].Plan ?? fail()).filter((node) => node['Relation Name'] === 'audit_seals');
  expect(read.length).toBeGreaterThan(0);
  expect(read.every((node) => node['Node Type'] !== 'Seq Scan' && (node['Rows Removed by Filter'] ?? 0) === 0)).toBe(true);
});

function flat(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(flat)];
}

function fail(): never {
  throw new Error('no plan');
}
