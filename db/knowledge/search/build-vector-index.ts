import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { vectorIndexName } from './vector-index.ts';

/** Maximum number of base indexes on the table: the planner examines each of them for every plan over it. */
const maxIndexes = 500;
const lockPollMs = 1_000;

export interface VectorIndexBuild {
  /** URL of the role that owns the tables: no other role may build an index. */
  readonly ownerUrl: string;
  readonly kbId: string;
  readonly dim: number;
  readonly signal: AbortSignal;
}

/** What became of a base's index. `there`: it already exists; `full`: the maximum number of indexes is reached. */
export type IndexBuilt = 'built' | 'there' | 'full';

/**
 * Builds the HNSW index over the vectors of one base without blocking writers, after dropping what an aborted build has left behind. There is one builder
 * at a time for each base; the others wait, then find the index. Throws the database's error, or the signal's reason; the statement is then cancelled.
 */
export async function buildVectorIndex({ ownerUrl, kbId, dim, signal }: VectorIndexBuild): Promise<IndexBuilt> {
  return asOwner(ownerUrl, { kbId, signal }, async (client) => {
    const name = vectorIndexName(kbId);
    const state = await stateOf(client, name);
    if (state === 'ready') return 'there';
    if (state === 'broken') await client.query(`drop index concurrently if exists ${name}`);
    if ((await countIndexes(client)) >= maxIndexes) return 'full';
    // The search repeats this predicate and cast; otherwise the planner would not use the index.
    await client.query(
      `create index concurrently ${name} on knowledge_vectors using hnsw ((embedding::halfvec(${Math.trunc(dim)})) halfvec_cosine_ops)
         with (m = 16, ef_construction = 64) where kb_id = '${uuidOf(kbId)}'`,
    );
    return 'built';
  });
}

/** Drops the index of a base, whatever its state. Returns whether there was one. */
export async function dropVectorIndex({ ownerUrl, kbId, signal }: Omit<VectorIndexBuild, 'dim'>): Promise<boolean> {
  return asOwner(ownerUrl, { kbId, signal }, async (client) => {
    const name = vectorIndexName(kbId);
    if ((await stateOf(client, name)) === 'none') return false;
    await client.query(`drop index concurrently if exists ${name}`);
    return true;
  });
}

async function asOwner<R>(
  ownerUrl: string,
  { kbId, signal }: { readonly kbId: string; readonly signal: AbortSignal },
  work: (client: pg.Client) => Promise<R>,
): Promise<R> {
  signal.throwIfAborted();
  const client = new pg.Client({ connectionString: ownerUrl, application_name: 'longhaul-vector-index' });
  client.on('error', () => undefined); // the statement that it breaks reports the error
  await client.connect();
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  const onAbort = () => void cancelStatement(ownerUrl, rows[0]?.pid ?? 0);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await lockBase(client, kbId, signal);
    return await work(client);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', onAbort);
    await client.end().catch(() => undefined);
  }
}

// Polls, because a session that waits for a lock holds a snapshot, and a concurrent build waits for that snapshot.
async function lockBase(client: pg.Client, kbId: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ ok: boolean }>('select pg_try_advisory_lock(hashtextextended($1, 0)) as ok', [
      vectorIndexName(kbId),
    ]);
    if (rows[0]?.ok) return;
    await delay(lockPollMs, undefined, { signal });
  }
}

async function stateOf(client: pg.Client, name: string): Promise<'none' | 'broken' | 'ready'> {
  const { rows } = await client.query<{ is_valid: boolean }>(
    `select x.indisvalid as is_valid from pg_index x join pg_class k on k.oid = x.indexrelid
      where k.relname = $1 and k.relnamespace = 'public'::regnamespace`,
    [name],
  );
  if (rows[0] === undefined) return 'none';
  return rows[0].is_valid ? 'ready' : 'broken';
}

async function countIndexes(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ total: number }>(
    `select count(*)::int as total from pg_class where relkind = 'i' and starts_with(relname, 'knowledge_vectors_hnsw_')`,
  );
  return rows[0]?.total ?? 0;
}

/** Cancels the statement, which closing the connection would not end. */
async function cancelStatement(ownerUrl: string, pid: number): Promise<void> {
  const client = new pg.Client({ connectionString: ownerUrl, application_name: 'longhaul-vector-index' });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('select pg_cancel_backend($1)', [pid]);
  } catch {
    // the build goes on, and the next caller finds it ready or broken
  } finally {
    await client.end().catch(() => undefined);
  }
}

function uuidOf(text: string): string {
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)) throw new Error('a base is named by its id');
  return text;
}
