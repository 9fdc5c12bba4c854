import { readFileSync } from 'node:fs';
import type pg from 'pg';
import { Condition } from '../../db/condition.ts';
import type { Databases } from '../../db/databases.ts';
import { newId } from '../../db/ids.ts';
import { listSearchedBases } from '../../db/knowledge/search/search-bases.ts';
import { minIndexedChunks } from '../../db/knowledge/search/vector-index.ts';
import { rows } from '../../db/sql.ts';
import { systemActor, withAutocommit, workspaceTenant } from '../../db/transaction.ts';
import { searchBases, type SearchDeps } from '../../domain/knowledge/search/search.ts';
import type { SearchRequest } from '../../domain/knowledge/search/search-plan.ts';
import type { EmbeddingModel } from '../../ports/embeddings/index.ts';
import { loadedDim, loadedModel, type LoadedBase } from '../../test/knowledge/loaded-base.ts';
import type { Sample } from './bench.ts';
import { median } from './compare.ts';

/** What is searched for: a lexeme that the loaded bases hold, a vector, and the share of the items that the filter lets through (null: no filter). */
export interface Question {
  readonly word: string;
  readonly vector: Float32Array;
  readonly share: number | null;
}

/** Searches of one base by one side, each on one connection that keeps its plans. */
export interface SearchSide {
  readonly search: (question: Question) => Promise<void>;
  /** Milliseconds of processor that its connection's server process has used. */
  readonly serverMs: () => Promise<number>;
}

/** The vector of a question; the first is near item 7. */
export function questionVector(at: number): Float32Array {
  return Float32Array.from({ length: loadedDim }, (_, d) => Math.sin((7 + 13 * at) * (d + 2) * 0.37) + 0.1 * Math.cos(at * d));
}

/**
 * The same search as three statements written by hand: past the policies, without a base to resolve or a right to judge, with the base's id and its lexeme's
 * stored name known beforehand. Candidates by GIN and their ranks, the nearest by comparison or by HNSW and their distances, both of live items in a shown state
 * that are valid now, then ten hits.
 */
export async function floorSide(admin: pg.Client, base: LoadedBase, count: number): Promise<SearchSide> {
  const { rows: found } = await admin.query<{ lex_no: number; pid: number }>(
    'select lex_no, pg_backend_pid() as pid from knowledge_bases where id = $1',
    [base.id],
  );
  const { lex_no = 0, pid = 0 } = found[0] ?? {};
  await admin.query("set hnsw.ef_search = 200; set hnsw.iterative_scan = 'strict_order'");
  const statement = (name: string, text: string, values: unknown[]) =>
    admin.query<{ id: string }>({ name: `${name}_${base.id.replaceAll('-', '')}`, text, values });
  const search = async ({ word, vector, share }: Question): Promise<void> => {
    const isShown = `i.deleted_at is null and i.staged_run_id is null and i.curation_state in ('reviewed', 'promoted')
      and (i.valid_from is null or i.valid_from <= now()) and (i.valid_until is null or i.valid_until > now())${share === null ? '' : ' and i.tags && $2::text[]'}`;
    const kind = share === null ? 'all' : 'some';
    const tags = share === null ? [] : [[`share-${share}`]];
    await statement(
      `lexical_${kind}`,
      `select c.id, ts_rank(c.lexemes, $1::tsquery, 1) as score from knowledge_chunks c join knowledge_items i on i.id = c.item_id
        where c.lexemes @@ $1::tsquery and ${isShown} order by 2 desc, c.id limit 200`,
      [`'k${lex_no.toString(36)}:${word}'`, ...tags],
    );
    const joined = 'join knowledge_chunks c on c.id = n.chunk_id join knowledge_items i on i.id = c.item_id';
    const distance = `n.embedding::halfvec(${loadedDim}) <=> $1::halfvec(${loadedDim})`;
    // Without an index the best plan sorts first and looks the items up after it, where no filter drops many of them.
    const nearest =
      count > minIndexedChunks || share !== null
        ? `select n.chunk_id as id, ${distance} as score from knowledge_vectors n ${joined} where n.kb_id = '${base.id}' and ${isShown} order by ${distance} limit 200`
        : `select n.chunk_id as id, n.distance as score from (select n.chunk_id, ${distance} as distance from knowledge_vectors n where n.kb_id = '${base.id}' order by 2 limit 250) n
           ${joined} where ${isShown} order by n.distance limit 200`;
    const near = await statement(`nearest_${kind}`, nearest, [`[${vector.join(',')}]`, ...tags]);
    await statement(
      'hits',
      `select c.id, c.kb_id, c.item_id, c.text, c.char_start, c.char_end, c.page, i.source_id, i.title, s.uri, s.title as source_title, i.curation_state, i.trust,
              i.valid_from, i.valid_until, i.superseded_by_id, i.last_used_at
       from knowledge_chunks c join knowledge_items i on i.id = c.item_id left join knowledge_sources s on s.id = i.source_id where c.id = any($1::uuid[])`,
      [near.rows.slice(0, 10).map(({ id }) => id)],
    );
  };
  return { search, serverMs: async () => serverMs(pid) };
}

/** The product's search from the resolution of the base to its hits. `db` has a pool of one connection. */
export async function productSide(db: Databases, base: LoadedBase): Promise<SearchSide> {
  const options = { tenant: workspaceTenant(base.organizationId, base.workspaceId), actor: systemActor, correlationId: newId() };
  return {
    search: async (question) => {
      const hits = await searched(db, base, { ...question, mode: 'hybrid', topK: 10, isExact: false });
      if (hits.length < (question.share === 1 ? 1 : 10)) throw new Error(`a search gave ${hits.length} hits`);
    },
    // Asked each time: a pool gives up a connection that was idle while the floor took its time.
    serverMs: async () => {
      const [backend] = await withAutocommit(db, options, (tx) => rows<{ pid: number }>(tx.em, 'select pg_backend_pid() as pid'));
      return serverMs(backend?.pid ?? 0);
    },
  };
}

/** Chunks that a search gives, best first. */
export async function searched(
  db: Databases,
  base: LoadedBase,
  { word, vector, share, ...how }: Question & Pick<SearchRequest, 'mode' | 'topK' | 'isExact'>,
): Promise<string[]> {
  const options = { tenant: workspaceTenant(base.organizationId, base.workspaceId), actor: systemActor, correlationId: newId() };
  // As a request: its statements stand alone and have one entity manager.
  const { hits } = await withAutocommit(db, options, async (tx) => {
    const deps: SearchDeps = {
      read: (work) => work(tx),
      models: { find: () => model },
      embed: async () => ({ vector }),
      now: () => new Date(),
    };
    const bases = await listSearchedBases(tx, { visible: always, canRead: always, kbIds: [base.id], limit: 1 });
    const filters = share === null ? {} : { tags_any: [`share-${share}`] };
    const usual = { minScore: null, validAt: deps.now(), latestOnly: true, includePending: null } as const;
    return searchBases(deps, bases, { ...usual, ...how, query: word, filters });
  });
  return hits.map(({ row }) => row.id);
}

const always = new Condition('true');

/** So many searches, one after the other: median time, and mean processor of this process and the server's together. */
export async function sampleOf({ search, serverMs: used }: SearchSide, question: Question, searches: number): Promise<Sample> {
  const took: number[] = [];
  const before = { server: await used(), own: process.cpuUsage() };
  for (let at = 0; at < searches; at += 1) {
    const begun = performance.now();
    await search(question);
    took.push(performance.now() - begun);
  }
  const own = process.cpuUsage(before.own);
  return { ms: median(took), processor: ((await used()) - before.server + (own.user + own.system) / 1_000) / searches };
}

const model: EmbeddingModel = {
  id: loadedModel,
  provider: 'bench',
  dim: loadedDim,
  maxTokens: 100,
  fusionWeight: 1,
  revision: '1',
  free: true,
  inProcess: true,
  isCached: false,
  maxBatch: 1,
  countTokens: () => 1,
};

/** What Linux has counted for a process. */
function serverMs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1_000_000;
}
