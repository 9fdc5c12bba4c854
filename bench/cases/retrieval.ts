import { existsSync } from 'node:fs';
import MiniSearch from 'minisearch';
import pg from 'pg';
import { modelFiles } from '../../cli/services/model-files.ts';
import { Condition } from '../../db/condition.ts';
import { newId } from '../../db/ids.ts';
import { listSearchedBases } from '../../db/knowledge/search/search-bases.ts';
import { systemActor, withAutocommit, workspaceTenant } from '../../db/transaction.ts';
import { searchModes, type SearchMode } from '../../domain/knowledge/search/fusion.ts';
import { searchBases, type SearchDeps } from '../../domain/knowledge/search/search.ts';
import { createEmbedder, type Embedder } from '../../ports/embeddings/index.ts';
import { embedQuery } from '../../ports/embeddings/query.ts';
import { loadModelRegistry } from '../../ports/models/models.ts';
import { testDatabase, type TestDatabase } from '../../test/support/database.ts';
import { collectionsFolder, processEnvironment, wheelsDir } from '../env.ts';
import { least, type Bench, type BenchOptions, type Finding, type Check, type Outcome } from '../harness/bench.ts';
import { readCollections, type Collection } from '../harness/collections.ts';
import { using } from '../harness/deployment.ts';
import { loadCorpus, type CorpusBase } from '../harness/knowledge-corpus.ts';
import { meanMetrics, type RetrievalMetrics } from '../harness/retrieval-metrics.ts';

/** What searches find, on collections with known answers. */
export const retrieval: Bench = {
  name: 'retrieval',
  about:
    'Search of a base that holds a public collection, an item a document: each leg alone and both fused, against a plain BM25 (minisearch, as it comes) and against the nearest vectors that pgvector gives by itself. ' +
    'Collections are read from the folder that RETRIEVAL_COLLECTIONS names (BEIR or SMART form, a folder each): none ships with this project, and without the variable nothing is measured.',
  run: (options) => using((keep) => measure(options, keep)),
};

type Keep = Parameters<Parameters<typeof using>[0]>[0];
type Rankings = ReadonlyMap<string, readonly string[]>;

async function measure({ log }: BenchOptions, keep: Keep): Promise<Outcome> {
  const folder = collectionsFolder();
  if (folder === null || !existsSync(folder)) {
    log('RETRIEVAL_COLLECTIONS names no folder: nothing is measured');
    return { findings: [], checks: [] };
  }
  const database = await testDatabase();
  keep({ stop: () => database.drop() });
  const admin = new pg.Client({ connectionString: database.adminUrl });
  await admin.connect();
  keep({ stop: () => admin.end() });
  await admin.query("set session_replication_role = 'replica'");
  const embedder = createEmbedder(await embeddingModels(log));
  keep({ stop: () => embedder.close() });

  const outcomes: Outcome[] = [];
  for (const collection of readCollections(folder)) outcomes.push(await measureOne({ database, admin, embedder, log }, collection));
  return { findings: outcomes.flatMap(({ findings }) => findings), checks: outcomes.flatMap(({ checks }) => checks) };
}

/** The deployment's embedding models, with the one on board if its files can be had. */
async function embeddingModels(log: (line: string) => void) {
  const env = processEnvironment();
  const files = await modelFiles({ wheelsDir, env, log });
  const models = { LONGHAUL_MODEL_BASE_URL: 'http://127.0.0.1:9', LONGHAUL_MODEL: 'none', ...env };
  return loadModelRegistry({ ...models, ...(files && { EMBEDDING_MODEL_DIR: files }) }, { info: () => undefined }).embeddings;
}

interface Measuring {
  readonly database: TestDatabase;
  readonly admin: pg.Client;
  readonly embedder: Embedder;
  readonly log: (line: string) => void;
}

async function measureOne({ database, admin, embedder, log }: Measuring, collection: Collection): Promise<Outcome> {
  const model = embedder.defaultModel;
  const base = await loadCorpus({ db: database.db, admin, embedder, model }, collection.documents);
  await admin.query('analyze');
  log(`${collection.name}: ${collection.documents.length} documents, ${collection.judged.size} queries, vectors by ${model}`);

  const plain = meanMetrics(collection.judged, plainBm25(collection));
  const nearest = meanMetrics(collection.judged, await pgvectorAlone({ admin, embedder, model }, base, collection));
  const own = new Map<SearchMode, RetrievalMetrics>();
  for (const mode of searchModes)
    own.set(mode, meanMetrics(collection.judged, await searched({ database, embedder }, base, { collection, mode })));
  const of = (mode: SearchMode) => own.get(mode) ?? { ndcg10: 0, recall10: 0, mrr: 0 };
  const table: readonly (readonly [string, RetrievalMetrics, RetrievalMetrics])[] = [
    ['lexical to minisearch', plain, of('lexical')],
    ['vector to pgvector alone', nearest, of('vector')],
    ['hybrid to minisearch', plain, of('hybrid')],
    ['hybrid to its better leg', of('lexical').ndcg10 > of('vector').ndcg10 ? of('lexical') : of('vector'), of('hybrid')],
  ];
  return {
    findings: table.flatMap(([what, floor, product]) => findingsOf(`${collection.name}, ${what}`, floor, product)),
    checks: checksOf(collection.name, of),
  };
}

function findingsOf(what: string, floor: RetrievalMetrics, product: RetrievalMetrics): Finding[] {
  return (['ndcg10', 'recall10', 'mrr'] as const).map((metric) => {
    const ratio = product[metric] / floor[metric];
    const spread = { median: ratio, min: ratio, max: ratio };
    return { what: `${what}, ${metric}`, unit: '', floor: floor[metric], product: product[metric], ratio: spread, rounds: 1, budget: null };
  });
}

function checksOf(name: string, of: (mode: SearchMode) => RetrievalMetrics): Check[] {
  const fused = {
    what: `${name}: nDCG@10 of hybrid over the lexical leg`,
    value: of('hybrid').ndcg10 - of('lexical').ndcg10,
    budget: least(-0.005),
  };
  const isCranfield = name.toLowerCase().startsWith('cran');
  return isCranfield ? [{ what: `${name}: nDCG@10 of the lexical leg`, value: of('lexical').ndcg10, budget: least(0.51) }, fused] : [fused];
}

function plainBm25({ documents, queries }: Collection): Rankings {
  const index = new MiniSearch({ fields: ['title', 'text'], idField: 'id' });
  index.addAll([...documents]);
  return new Map([...queries].map(([id, text]) => [id, index.search(text).map((hit) => String(hit.id))]));
}

async function pgvectorAlone(
  { admin, embedder, model }: { readonly admin: pg.Client; readonly embedder: Embedder; readonly model: string },
  base: CorpusBase,
  { queries }: Collection,
): Promise<Rankings> {
  const rankings = new Map<string, readonly string[]>();
  for (const [id, text] of queries) {
    const answer = await embedQuery(embedder, model, text);
    if (!('vector' in answer)) continue;
    const { rows } = await admin.query<{ item_id: string }>(
      'select c.item_id from knowledge_vectors v join knowledge_chunks c on c.id = v.chunk_id where v.kb_id = $1 order by v.embedding <=> $2::halfvec limit 100',
      [base.id, `[${answer.vector.join(',')}]`],
    );
    rankings.set(
      id,
      documentsOf(
        base,
        rows.map((row) => row.item_id),
      ),
    );
  }
  return rankings;
}

async function searched(
  { database, embedder }: Pick<Measuring, 'database' | 'embedder'>,
  base: CorpusBase,
  { collection, mode }: { readonly collection: Collection; readonly mode: SearchMode },
): Promise<Rankings> {
  const options = { tenant: workspaceTenant(base.organizationId, base.workspaceId), actor: systemActor, correlationId: newId() };
  const deps: SearchDeps = {
    read: (work) => withAutocommit(database.db, options, work),
    models: embedder,
    embed: (model, text) => embedQuery(embedder, model, text),
    now: () => new Date(),
  };
  const rankings = new Map<string, readonly string[]>();
  for (const [id, text] of collection.queries) {
    const bases = await deps.read((tx) =>
      listSearchedBases(tx, { visible: new Condition('true'), canRead: new Condition('true'), kbIds: [base.id], limit: 1 }),
    );
    const { hits } = await searchBases(deps, bases, {
      query: text,
      mode,
      topK: 100,
      minScore: null,
      filters: {},
      validAt: null,
      latestOnly: true,
      includePending: null,
      isExact: false,
    });
    rankings.set(
      id,
      documentsOf(
        base,
        hits.map(({ row }) => row.itemId),
      ),
    );
  }
  return rankings;
}

function documentsOf({ documents }: CorpusBase, itemIds: readonly string[]): string[] {
  return [...new Set(itemIds.map((id) => documents.get(id) ?? ''))];
}
