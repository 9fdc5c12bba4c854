import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { loadCorpus, type CorpusBase } from '../../bench/harness/knowledge-corpus.ts';
import { meanMetrics } from '../../bench/harness/retrieval-metrics.ts';
import { Condition } from '../../db/condition.ts';
import { newId } from '../../db/ids.ts';
import { listSearchedBases } from '../../db/knowledge/search/search-bases.ts';
import { systemActor, withAutocommit, workspaceTenant } from '../../db/transaction.ts';
import { searchBases, type SearchDeps } from '../../domain/knowledge/search/search.ts';
import type { SearchRequest } from '../../domain/knowledge/search/search-plan.ts';
import { createEmbedder, type Embedder } from '../../ports/embeddings/index.ts';
import { embedQuery } from '../../ports/embeddings/query.ts';
import { loadModelRegistry } from '../../ports/models/models.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';

interface Passage {
  readonly id: string;
  readonly language: string;
  readonly text: string;
  readonly questions: string[];
}

const passages = readPassages();
const languages = [...new Set(passages.map(({ language }) => language))];
/** nDCG@10 over the thirty questions of a language: a little below what its lexer reaches. */
const leastLexical: Readonly<Record<string, number>> = {
  zh: 0.98,
  ja: 0.98,
  ko: 0.97,
  th: 0.98,
  de: 0.98,
  ru: 0.97,
  ar: 0.98,
  hi: 0.98,
  es: 0.95,
  fi: 0.93,
};

let database: TestDatabase;
let admin: pg.Client;
let embedder: Embedder;

beforeAll(async () => {
  database = await testDatabase();
  admin = new pg.Client({ connectionString: database.adminUrl });
  await admin.connect();
  await admin.query("set session_replication_role = 'replica'");
  embedder = createEmbedder(
    loadModelRegistry({ LONGHAUL_MODEL_BASE_URL: 'http://127.0.0.1:9', LONGHAUL_MODEL: 'none' }, { info: () => undefined }).embeddings,
  );
});

afterAll(async () => {
  await embedder.close();
  await admin.end();
  await database.drop();
});

test('there are 300 questions in ten languages', () => {
  expect(languages).toHaveLength(10);
  expect(passages.flatMap(({ questions }) => questions)).toHaveLength(300);
});

// Each base holds the passages of all languages: scripts that two of them share are told apart by words alone.
describe.each(languages)('questions in %s', (language) => {
  test('find their passage by words, and no worse with vectors', async () => {
    const documents = passages.map(({ id, text }) => ({ id, title: '', text }));
    const base = await loadCorpus({ db: database.db, admin, embedder, model: 'hash-v1', language }, documents);
    const own = passages.filter((passage) => passage.language === language);
    const judged = new Map(own.flatMap(({ id, questions }) => questions.map((question) => [question, new Map([[id, 1]])] as const)));

    expect(judged.size).toBe(30);
    const lexical = meanMetrics(judged, await rankings(base, [...judged.keys()], 'lexical'));
    const hybrid = meanMetrics(judged, await rankings(base, [...judged.keys()], 'hybrid'));

    expect(lexical.ndcg10).toBeGreaterThanOrEqual(leastLexical[language] ?? 1);
    expect(hybrid.ndcg10).toBeGreaterThanOrEqual(lexical.ndcg10);
    expect(hybrid.recall10).toBeGreaterThanOrEqual(lexical.recall10);
  }, 240_000);
});

async function rankings(base: CorpusBase, questions: readonly string[], mode: SearchRequest['mode']): Promise<Map<string, string[]>> {
  const options = { tenant: workspaceTenant(base.organizationId, base.workspaceId), actor: systemActor, correlationId: newId() };
  const deps: SearchDeps = {
    read: (work) => withAutocommit(database.db, options, work),
    models: embedder,
    embed: (model, text) => embedQuery(embedder, model, text),
    now: () => new Date(),
  };
  const always = new Condition('true');
  const bases = await deps.read((tx) => listSearchedBases(tx, { visible: always, canRead: always, kbIds: [base.id], limit: 1 }));
  const usual = { topK: 10, minScore: null, filters: {}, validAt: null, latestOnly: true, includePending: null, isExact: false } as const;
  const found = new Map<string, string[]>();
  for (const query of questions) {
    const { hits } = await searchBases(deps, bases, { ...usual, query, mode });
    found.set(
      query,
      hits.map(({ row }) => base.documents.get(row.itemId) ?? ''),
    );
  }
  return found;
}

/** The fixture: `# language`, then passages that begin with `=`, each with its questions below it. */
function readPassages(): Passage[] {
  const read: Passage[] = [];
  let language = '';
  for (const line of readFileSync(new URL('../fixtures/questions/languages.txt', import.meta.url), 'utf8')
    .trim()
    .split('\n')) {
    if (line.startsWith('# ')) language = line.slice(2);
    else if (line.startsWith('= ')) read.push({ id: String(read.length), language, text: line.slice(2), questions: [] });
    else read.at(-1)?.questions.push(line);
  }
  return read;
}
