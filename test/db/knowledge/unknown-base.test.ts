import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { newId } from '../../../db/ids.ts';
import { countChunks, readBasePair } from '../../../db/knowledge/runs/base-pair.ts';
import { countBase } from '../../../db/knowledge/bases/base-stats.ts';
import { listSameItems } from '../../../db/knowledge/items/insert-items.ts';
import { findWrongCounters, findWrongTerms, recount } from '../../../db/knowledge/upkeep/counts.ts';
import { findOrphanChunks } from '../../../db/knowledge/upkeep/integrity.ts';
import { derivedFrom, itemsOfBase, lockPurged } from '../../../db/knowledge/upkeep/purge-items.ts';
import { copyLinks } from '../../../db/knowledge/runs/copy-links.ts';
import { copyItems, insertCopies, lackingChunks, nextItemIds, settleCopies } from '../../../db/knowledge/runs/reembed-copy.ts';
import { compareBases, countFilledBase } from '../../../db/knowledge/runs/reembed-ends.ts';
import { insertVectors } from '../../../db/knowledge/items/write-chunks.ts';
import { systemActor, transact, workspaceTenant } from '../../../db/transaction.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { loadBase, loadedDim, loadedModel, type LoadedBase } from '../../knowledge/loaded-base.ts';
import { testDatabase, type TestDatabase } from '../../support/database.ts';

const count = 1_500;
/** What a statement over a whole base may look at, for each of its items; one that compares each row with each looks at 1,500. */
const rowsPerItem = 200;
/** The same of a statement about a page of items. */
const rowsPerPaged = 60;
const pageSize = 256;

let database: TestDatabase;
let admin: pg.Client;
let from: LoadedBase;
let statements: { readonly sql: string; readonly parameters: readonly unknown[] }[] = [];

beforeAll(async () => {
  const onQuery = (sql: string, parameters: readonly unknown[]) => void statements.push({ sql, parameters });
  database = await testDatabase({ onQuery });
  admin = new pg.Client({ connectionString: database.adminUrl });
  await admin.connect();
  for (const table of ['items', 'chunks', 'vectors', 'terms', 'relations', 'item_versions'])
    await admin.query(`alter table knowledge_${table} set (autovacuum_enabled = false)`);
  await admin.query("set session_replication_role = 'replica'");
  // What PostgreSQL has counted knows other bases alone.
  await loadBase(admin, { organizationId: newId(), workspaceId: newId() }, 8_000);
  await admin.query('analyze');
  from = await loadBase(admin, { organizationId: newId(), workspaceId: newId() }, count);
  await admin.query(
    `insert into knowledge_relations (id, kb_id, organization_id, workspace_id, from_item_id, to_item_id, type, created_by)
     select gen_random_uuid(), kb_id, organization_id, workspace_id, id, lead(id) over (order by id), 'related', '{"kind":"system","id":null}' from knowledge_items
      where kb_id = $1 order by id limit ${count - 1}`,
    [from.id],
  );
  await admin.query(
    `update knowledge_items i set curation_state = 'superseded', superseded_by_id = o.id from (select id from knowledge_items where kb_id = $1 order by id limit 1) o
      where i.kb_id = $1 and i.id <> o.id and (i.metadata ->> 'n')::int % 3 = 0`,
    [from.id],
  );
});
afterAll(async () => {
  await admin.end();
  await database.drop();
});

function inTenant<R>(work: (tx: TenantTransaction) => Promise<R>): Promise<R> {
  const options = { tenant: workspaceTenant(from.organizationId, from.workspaceId), actor: systemActor, correlationId: newId() };
  return transact(database.db, options, work).then(({ value }) => value);
}

interface PlanNode {
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Join Filter'?: number;
  readonly 'Plans'?: readonly PlanNode[];
}

/** Rows that a plan has looked at, in all of its nodes. */
function lookedAt({ Plans = [], ...node }: PlanNode): number {
  const each = node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Join Filter'] ?? 0);
  return each * node['Actual Loops'] + Plans.reduce((sum, plan) => sum + lookedAt(plan), 0);
}

/** The most that one of the statements of `work` looks at when it runs once more, with the statistics as they are. */
async function maxRows(work: () => Promise<unknown>): Promise<{ rows: number; sql: string }> {
  statements = [];
  await work();
  const ran = statements.filter(({ sql }) => /^\s*(select|with|insert|update|delete)/i.test(sql) && !sql.includes('set_config'));
  expect(ran).not.toEqual([]);
  const client = new pg.Client({ connectionString: database.appUrl });
  await client.connect();
  let most = { rows: 0, sql: '' };
  for (const { sql, parameters } of ran) {
    await client.query('begin');
    await client.query(
      `select set_config('app.org', $1, true), set_config('app.user', 'none', true), set_config('app.ws', $2, true), set_config('app.ws_all', 'off', true), set_config('app.operator', 'off', true)`,
      [from.organizationId, `{${from.workspaceId}}`],
    );
    const { rows } = await client.query<{ 'QUERY PLAN': readonly { Plan: PlanNode }[] }>(`explain (analyze, format json) ${sql}`, [
      ...parameters,
    ]);
    await client.query('rollback');
    const [{ Plan: plan } = { Plan: { 'Actual Rows': 0, 'Actual Loops': 0 } }] = rows[0]?.['QUERY PLAN'] ?? [];
    if (lookedAt(plan) > most.rows) most = { rows: lookedAt(plan), sql };
  }
  await client.end();
  return most;
}

test('what a re-embed does of a base that the statistics do not know grows with its size, and no faster', async () => {
  const to = { ...from, id: newId() };
  await admin.query(
    `insert into knowledge_bases (id, scope, organization_id, workspace_id, slug, name, kind, embedding_model, embedding_dim, predecessor_id, is_frozen)
     select $2, scope, organization_id, workspace_id, 'copy', name, kind, embedding_model, embedding_dim, id, true from knowledge_bases where id = $1`,
    [from.id, to.id],
  );
  await admin.query('insert into knowledge_base_counters (kb_id, organization_id, workspace_id) values ($1, $2, $3)', [
    to.id,
    to.organizationId,
    to.workspaceId,
  ]);
  const pair = await inTenant((tx) => readBasePair(tx, { fromId: from.id, toId: to.id }));
  if (pair === null) throw new Error('no pair');
  const bases = pair;
  for (let after: string | null = null; ;) {
    const last: string | null = after;
    const copied = await inTenant(async (tx) => {
      const ids = await nextItemIds(tx, from.id, last);
      await copyItems(tx, bases, ids);
      const lacking = await lackingChunks(tx, bases, ids);
      const written = await insertCopies(tx, bases.to, lacking.map((chunk) => ({ ...chunk, lexemes: "'k0:x':1", lexLen: 1 }))); // prettier-ignore
      await insertVectors(tx, bases.to, [...written.values()].map((chunkId) => ({ chunkId, embedding: new Float32Array(loadedDim).fill(1) }))); // prettier-ignore
      await settleCopies(tx, bases, ids);
      return ids;
    });
    if (copied.length === 0) break;
    after = copied.at(-1) ?? null;
  }
  expect(await inTenant((tx) => copyLinks(tx, bases))).toBe(count - 1);

  const page = await inTenant((tx) => nextItemIds(tx, from.id, null));
  expect(page).toHaveLength(pageSize);
  const paged = await maxRows(() =>
    inTenant(async (tx) => {
      await copyItems(tx, bases, page);
      await lackingChunks(tx, bases, page);
      await settleCopies(tx, bases, page);
    }),
  );
  expect(paged.rows <= rowsPerPaged * pageSize ? null : paged).toBeNull();

  const whole = await maxRows(() =>
    inTenant(async (tx) => {
      await copyLinks(tx, bases);
      await countChunks(tx, from.id);
      await countFilledBase(tx, to.id);
      const found = await compareBases(tx, { fromId: from.id, toId: to.id }, { model: loadedModel, dim: loadedDim });
      const equal = { newItems: count, equalItems: count, chunks: count, newChunks: count, equalChunks: count, vectors: count };
      expect(found).toMatchObject({
        ...equal,
        relations: count - 1,
        newRelations: count - 1,
        equalRelations: count - 1,
        strangeVectors: 0,
      });
    }),
  );
  expect(whole.rows <= rowsPerItem * count ? null : whole).toBeNull();
});

test('so does what counts, checks, imports into and purges it', async () => {
  const items = await inTenant((tx) => nextItemIds(tx, from.id, null));
  const keys = await admin.query<{ hash: string }>(
    'select content_hash as hash from knowledge_items where kb_id = $1 order by id limit 100',
    [from.id],
  );

  const paged = await maxRows(() =>
    inTenant(async (tx) => {
      expect(await listSameItems(tx, from.id, { hashes: keys.rows.map(({ hash }) => hash), externalIds: ['a', 'b'] })).toHaveLength(100);
      expect(await lockPurged(tx, from.id, items)).toHaveLength(items.length);
      expect((await itemsOfBase(tx, from.id, items)).size).toBe(items.length);
      await derivedFrom(tx, from.id, items);
    }),
  );
  expect(paged.rows <= rowsPerPaged * pageSize ? null : paged).toBeNull();

  const whole = await maxRows(() =>
    inTenant(async (tx) => {
      await countBase(tx, from.id);
      await findWrongTerms(tx, from.id);
      await findOrphanChunks(tx, from.id, { after: null, limit: 100 });
      await recount(tx, from.id);
      expect(await findWrongCounters(tx, from.id)).toEqual([]);
    }),
  );
  expect(whole.rows <= rowsPerItem * count ? null : whole).toBeNull();
});
