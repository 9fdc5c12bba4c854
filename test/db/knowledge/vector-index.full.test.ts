import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { pino } from 'pino';
import { tendVectorIndexes } from '../../../activities/knowledge/vector-index-upkeep.ts';
import type { ActivityDeps } from '../../../activities/deps.ts';
import { newId } from '../../../db/ids.ts';
import { minRetainedChunks, minIndexedChunks, vectorIndexName } from '../../../db/knowledge/search/vector-index.ts';
import { loadBase, type LoadedBase } from '../../knowledge/loaded-base.ts';
import { testDatabase, type TestDatabase } from '../../support/database.ts';

let database: TestDatabase;
let admin: pg.Client;
let large: LoadedBase;

beforeAll(async () => {
  database = await testDatabase();
  admin = new pg.Client({ connectionString: database.adminUrl });
  await admin.connect();
  await admin.query("set session_replication_role = 'replica'");
  // As in a deployment, where the owner of the tables owns the database.
  await admin.query(`alter database ${new URL(database.adminUrl).pathname.slice(1)} owner to longhaul_owner`);
  const tenant = () => ({ organizationId: newId(), workspaceId: newId() });
  large = await loadBase(admin, tenant(), minIndexedChunks + 1);
  await loadBase(admin, tenant(), 400);
});
afterAll(async () => {
  await admin.end();
  await database.drop();
});

/** The indexes over vectors of bases, with the bases' ids. */
async function indexes(): Promise<{ name: string; is_valid: boolean }[]> {
  const { rows } = await admin.query(
    `select k.relname as name, x.indisvalid as is_valid from pg_index x join pg_class k on k.oid = x.indexrelid where k.relname like 'knowledge_vectors_hnsw_%'`,
  );
  return rows;
}

function tend(ownerUrl: string | null = database.ownerUrl): Promise<number> {
  const deps = { db: database.db, env: { databaseOwnerUrl: ownerUrl }, log: pino({ level: 'silent' }) };
  return tendVectorIndexes(deps as unknown as ActivityDeps, new AbortController().signal); // it needs no more of a worker
}

test('past 20,000 chunks a base gets its index from the role that owns the tables, none without its address; below 10,000 it goes', async () => {
  const name = vectorIndexName(large.id);

  expect([await tend(null), await indexes()]).toEqual([0, []]);
  expect([await tend(), await indexes()]).toEqual([1, [{ name, is_valid: true }]]);
  expect(await tend()).toBe(0);
  await admin.query('update pg_index set indisvalid = false where indexrelid = $1::regclass', [name]);
  expect([await tend(), await indexes()]).toEqual([1, [{ name, is_valid: true }]]);
  await admin.query('update knowledge_base_counters set chunks = $2 where kb_id = $1', [large.id, minRetainedChunks]);
  expect(await tend()).toBe(0);
  await admin.query('update knowledge_base_counters set chunks = $2 where kb_id = $1', [large.id, minRetainedChunks - 1]);
  expect([await tend(), await indexes()]).toEqual([1, []]);
});
