import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { Condition } from '../../db/condition.ts';
import { newId } from '../../db/ids.ts';
import { listSearchedBases } from '../../db/knowledge/search/search-bases.ts';
import { lexemePrefix } from '../../db/knowledge/search/lexeme-prefix.ts';
import { systemActor, withAutocommit, workspaceTenant } from '../../db/transaction.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { searchBases, type SearchDeps } from '../../domain/knowledge/search/search.ts';
import { searchModes } from '../../domain/knowledge/search/fusion.ts';
import type { SearchRequest } from '../../domain/knowledge/search/search-plan.ts';
import type { EmbeddingModel } from '../../ports/embeddings/index.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';
import { indexedCount, indexVectors, loadBase, loadedDim, loadedModel, shares, type LoadedBase } from './loaded-base.ts';

const questionVector = Float32Array.from({ length: loadedDim }, (_, d) => Math.sin(7 * (d + 2) * 0.37));
const statements: string[] = [];
let database: TestDatabase;
let admin: pg.Client;
let indexed: LoadedBase;
let foreign: LoadedBase;

beforeAll(async () => {
  database = await testDatabase({ onQuery: (sql) => statements.push(sql) });
  admin = new pg.Client({ connectionString: database.adminUrl });
  await admin.connect();
  await admin.query("set session_replication_role = 'replica'");
  const tenant = () => ({ organizationId: newId(), workspaceId: newId() });
  indexed = await loadBase(admin, tenant(), indexedCount);
  foreign = await loadBase(admin, tenant(), 400);
  await indexVectors(admin, indexed);
});

afterAll(async () => {
  await admin.end();
  await database.drop();
});

describe('a base with an index over its vectors', () => {
  test.each(shares)(
    'filters that %d of 1000 chunks pass give min(top_k, matches) hits in each mode, with and without the index',
    async (share) => {
      const matching = await matches(share);
      for (const mode of searchModes) {
        for (const isExact of [true, false]) {
          for (const topK of [1, 10, 100]) {
            const { hits } = await search(indexed, { mode, isExact, topK, query: 'w7 common', filters: { tags_any: [`share-${share}`] } });

            expect({ mode, isExact, topK, hits: hits.length }).toEqual({ mode, isExact, topK, hits: Math.min(topK, matching) });
            expect(new Set(hits.map(({ row }) => row.itemId)).size).toBe(hits.length);
          }
        }
      }
    },
  );

  test('the index finds what the exact scan finds', async () => {
    const exact = await search(indexed, { mode: 'vector', isExact: true, topK: 10 });
    const approximate = await search(indexed, { mode: 'vector', isExact: false, topK: 10 });

    const found = new Set(exact.hits.map(({ row }) => row.id));
    expect(approximate.hits.filter(({ row }) => found.has(row.id)).length).toBeGreaterThanOrEqual(9);
  });

  test('lexemes in over 30 % of the chunks generate candidates only where the others give too few', async () => {
    const { hits } = await search(indexed, { mode: 'lexical', topK: 100, query: 'rare common' });

    expect(hits).toHaveLength(100);
    expect(hits.slice(0, 5).every(({ ranks }) => (ranks.lexical?.score ?? 0) > 5)).toBe(true);
    expect(hits[5]?.ranks.lexical?.score).toBeLessThan(1);
  });

  test('a search is one statement for its bases, one for both legs and one for its hits', async () => {
    statements.length = 0;
    await search(indexed, { mode: 'hybrid', topK: 10, query: 'rare w7' });
    expect(statements.filter((sql) => !sql.startsWith('select set_config'))).toHaveLength(3);
  });
});

const asked = (bases: readonly LoadedBase[], more: object) =>
  JSON.stringify(
    bases.map(({ id, lexNo }) => ({ kb_id: id, chunk_count: 1_000_000, states: ['reviewed'], prefix: lexemePrefix(lexNo), ...more })),
  );
const legsOf = (bases: readonly LoadedBase[], more: object) =>
  `gate_knowledge_legs('${asked(bases, more)}', '{"en": ["rare"]}', array['[${questionVector.join(',')}]'], '{}', false)`;
const call = (bases: readonly LoadedBase[], more: object) =>
  `select kb_id, string_to_table(chunk_ids, ',') as chunk_id from ${legsOf(bases, more)}`;
const lexicalCall = (bases: readonly LoadedBase[]) => call(bases, { language: 'en' });
const nearestCall = (bases: readonly LoadedBase[]) => call(bases, { dim: loadedDim, embedding: 1, use_index: false });

describe.each([
  { leg: 'lexical', call: lexicalCall, found: 5 },
  { leg: 'vector', call: nearestCall, found: 50 },
])('the function of the legs, asked for the $leg one,', ({ call: legCall, found }) => {
  test('gives no row of another tenant', async () => {
    const own = await asApp(foreign, (client) => client.query(legCall([foreign])));
    const others = await asApp(foreign, (client) => client.query(legCall([indexed, { ...indexed, id: newId() }])));

    expect(own.rows.length).toBeGreaterThanOrEqual(5);
    expect(others.rows).toEqual([]);
  });

  test('gives no row of an item that another tenant has, whatever the base says', async () => {
    const some = await loadBase(admin, { organizationId: foreign.organizationId, workspaceId: foreign.workspaceId }, 50);
    await admin.query(`update knowledge_items set organization_id = $2 where kb_id = $1 and metadata ->> 'n' = '3'`, [some.id, newId()]);

    expect(chunksIn(await asApp(some, (client) => client.query(legCall([some]))))).toBe(found - 1);
  });

  test('fails without the settings of a tenant, also on a connection that had one before', async () => {
    const client = new pg.Client({ connectionString: database.appUrl });
    await client.connect();

    await expect(client.query(legCall([indexed]))).rejects.toThrow(/app\./);
    await client.query(`begin; ${settingsOf(indexed)}; commit`);
    await expect(client.query(legCall([indexed]))).rejects.toThrow();
    await client.end();
  });

  test('shows nothing that is deleted, staged, or of a base that is not there', async () => {
    const some = await loadBase(admin, { organizationId: foreign.organizationId, workspaceId: foreign.workspaceId }, 50);
    const shown = async () => chunksIn(await asApp(some, (client) => client.query(legCall([some]))));
    expect(await shown()).toBe(found);

    await admin.query(`update knowledge_items set deleted_at = now() where kb_id = $1 and metadata ->> 'n' = '3'`, [some.id]);
    expect(await shown()).toBe(found - 1);
    await admin.query(`update knowledge_items set staged_run_id = $2 where kb_id = $1 and metadata ->> 'n' = '13'`, [some.id, newId()]);
    expect(await shown()).toBe(found - 2);
    await admin.query('update knowledge_bases set activated_at = null where id = $1', [some.id]);
    expect(await shown()).toBe(0);
  });
});

describe('the function of the legs', () => {
  test('uses the GIN index when longhaul_app calls it', async () => {
    const before = await scans();
    await asApp(indexed, (client) => client.query(lexicalCall([indexed])));
    await admin.query('select pg_stat_force_next_flush()');

    await expect(until(async () => (await scans()).gin > before.gin)).resolves.toBe(true);
    expect((await scans()).sequential).toBe(before.sequential);
  });

  test('gives of several bases what it gives of each alone', async () => {
    const place = { organizationId: foreign.organizationId, workspaceId: foreign.workspaceId };
    const [some, others] = [await loadBase(admin, place, 300), await loadBase(admin, place, 320)];
    const both = { language: 'en', dim: loadedDim, embedding: 1, use_index: false };
    const rowsOf = async (bases: readonly LoadedBase[]) =>
      (await asApp(foreign, (client) => client.query(`select leg.* from ${legsOf(bases, both)} leg`))).rows;

    const alone = [...(await rowsOf([some])), ...(await rowsOf([others]))];
    expect(alone).toHaveLength(4);
    expect(await rowsOf([some, others])).toEqual(alone);
  });

  test('finds vectors that an earlier release wrote, which do not say their item', async () => {
    const some = await loadBase(admin, { organizationId: foreign.organizationId, workspaceId: foreign.workspaceId }, 300);
    const found = () => asApp(some, (client) => client.query(nearestCall([some])));
    const before = await found();
    await admin.query('update knowledge_vectors set item_id = null where kb_id = $1', [some.id]);

    expect((await found()).rows).toEqual(before.rows);
    expect(before.rows).toHaveLength(200);
  });

  test('the index finds vectors that do not say their item', async () => {
    const { hits: before } = await search(indexed, { mode: 'vector', topK: 10 });
    await admin.query('update knowledge_vectors set item_id = null where kb_id = $1 and chunk_id = any ($2::uuid[])', [
      indexed.id,
      before.map(({ row }) => row.id),
    ]);

    const { hits } = await search(indexed, { mode: 'vector', topK: 10 });
    // The index approximates: an updated vector is put into its graph anew.
    const found = new Set(hits.map(({ row }) => row.id));
    expect(before.filter(({ row }) => found.has(row.id)).length).toBeGreaterThanOrEqual(7);
  });
});

const testModel: EmbeddingModel = {
  id: loadedModel,
  provider: 'test',
  dim: loadedDim,
  maxTokens: 100,
  fusionWeight: 1,
  revision: '1',
  free: true,
  inProcess: true,
  isCached: false,
  maxBatch: 10,
  countTokens: () => 1,
};

function depsOf(base: LoadedBase): SearchDeps {
  const options = { tenant: workspaceTenant(base.organizationId, base.workspaceId), actor: systemActor, correlationId: newId() };
  return {
    read: (work) => withAutocommit(database.db, options, work),
    models: { find: (id) => (id === loadedModel ? testModel : null) },
    embed: async () => ({ vector: questionVector }),
    now: () => new Date(),
  };
}

const plain: SearchRequest = {
  query: 'w7',
  mode: 'hybrid',
  topK: 10,
  minScore: null,
  filters: {},
  validAt: null,
  latestOnly: true,
  includePending: null,
  isExact: false,
};

async function search(base: LoadedBase, request: Partial<SearchRequest>) {
  const deps = depsOf(base);
  const bases = await deps.read((tx: TenantTransaction) =>
    listSearchedBases(tx, { visible: new Condition('true'), canRead: new Condition('true'), kbIds: [base.id], limit: 2 }),
  );
  return searchBases(deps, bases, { ...plain, ...request });
}

async function matches(share: number): Promise<number> {
  const { rows } = await admin.query<{ count: number }>(
    'select count(*)::int as count from knowledge_items where kb_id = $1 and tags @> $2::text[]',
    [indexed.id, [`share-${share}`]],
  );
  return rows[0]?.count ?? 0;
}

function settingsOf({ organizationId, workspaceId }: LoadedBase): string {
  const settings = {
    'app.org': organizationId,
    'app.user': 'none',
    'app.ws': `{${workspaceId}}`,
    'app.ws_all': 'off',
    'app.operator': 'off',
  };
  return `select ${Object.entries(settings)
    .map(([name, value]) => `set_config('${name}', '${value}', true)`)
    .join(', ')}`;
}

async function asApp<R>(base: LoadedBase, work: (client: pg.Client) => Promise<R>): Promise<R> {
  const client = new pg.Client({ connectionString: database.appUrl });
  await client.connect();
  try {
    await client.query('begin');
    await client.query(settingsOf(base));
    const result = await work(client);
    await client.query('commit');
    return result;
  } finally {
    await client.end();
  }
}

/** Chunks that a leg may give more than once. */
function chunksIn({ rows }: pg.QueryResult): number {
  return new Set(rows.map(({ chunk_id }: { readonly chunk_id: string }) => chunk_id)).size;
}

async function scans(): Promise<{ gin: number; sequential: number }> {
  const { rows } = await admin.query<{ gin: number; sequential: number }>(
    `select (select idx_scan from pg_stat_user_indexes where indexrelname = 'knowledge_chunks_lexemes_idx')::int as gin,
            (select seq_scan from pg_stat_user_tables where relname = 'knowledge_chunks')::int as sequential`,
  );
  return rows[0] ?? { gin: 0, sequential: 0 };
}

async function until(holds: () => Promise<boolean>): Promise<boolean> {
  for (let tries = 0; tries < 200; tries += 1) {
    if (await holds()) return true;
    await new Promise((resolve) => {
      setTimeout(resolve, 25);
    });
  }
  return false;
}
