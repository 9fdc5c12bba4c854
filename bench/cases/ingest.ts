import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { newId } from '../../db/ids.ts';
import { modelFiles } from '../../cli/services/model-files.ts';
import { knowledgeCalls, type KnowledgeCalls } from '../../test/support/knowledge.ts';
import type { Stack } from '../../test/support/stack.ts';
import { ingestedItems, ingestParts, processEnvironment, wheelsDir } from '../env.ts';
import { least, most, type Bench, type BenchOptions, type Finding, type Check, type Outcome } from '../harness/bench.ts';
import { compare, finding, quantile } from '../harness/compare.ts';
import { authorization, databaseUrls, startProduct, using } from '../harness/deployment.ts';
import { load } from '../harness/load.ts';
import { memoryBytes } from '../probe/client.ts';

const itemCount = ingestedItems();
const csvRows = { few: 10_000, many: 350_000 } as const;
/** Rows of one multi-row insert. */
const rowsAtOnce = 500;

/** How long a file takes on its way into a base. */
export const ingest: Bench = {
  name: 'ingest',
  about:
    `${itemCount.toLocaleString('en')} elements of a JSON Lines file with hash-v1, from the request that makes the source until it is ready, against bare inserts of ${rowsAtOnce} rows each of the same rows (items, versions, chunks, vectors, terms) into the same tables by the owner, past the policies. ` +
    'Memory is the most that the worker (without the child that parses) has in use after a collection, heap and buffers, looked at once a second. GET /knowledge-bases by four clients that rest between requests, while minilm-l6-v2 embeds a source and while nothing does.',
  run: (options) => using((keep) => measure(options, keep)),
};

type Keep = Parameters<Parameters<typeof using>[0]>[0];

async function measure({ rounds, log }: BenchOptions, keep: Keep): Promise<Outcome> {
  const files = await modelFiles({ wheelsDir, env: processEnvironment(), log });
  const env = { ATTACHMENT_MAX_BYTES: String(100 * 1024 * 1024), ...(files && { EMBEDDING_MODEL_DIR: files }) };
  const stack = keep(await startProduct(['api', 'worker-bulk'], { env }));
  const admin = new pg.Client({ connectionString: databaseUrls(stack).adminUrl });
  await admin.connect();
  keep({ stop: () => admin.end() });
  const calls = knowledgeCalls(() => stack);

  const parts = ingestParts();
  const of = { stack, admin, calls };

  const throughput = parts.includes('items') ? [await measureItems(of, Math.min(rounds, 3))] : [];
  log('items measured');
  const memory = parts.includes('memory') ? await measureMemory(of) : [];
  log('memory measured');
  const latency = parts.includes('latency') && files !== null ? [await measureLatency(of, Math.min(rounds, 3))] : [];
  if (files === null) log('without the files of minilm-l6-v2 nothing is embedded beside requests');
  return { findings: [...throughput, ...latency], checks: memory };
}

interface Measuring {
  readonly stack: Stack;
  readonly admin: pg.Client;
  readonly calls: KnowledgeCalls;
}

/** Has a file ingested into a new base; gives the base and how long it took. Throws unless it is ready. */
async function ingested({ calls }: Measuring, file: { readonly name: string; readonly text: string; readonly model?: string }) {
  const base = await calls.makeBase({ embedding_model: file.model ?? 'hash-v1' });
  const attachmentId = await calls.upload(file.text, file.name);
  const begun = performance.now();
  const source = await calls.asked<{ id: string; run_id: string }>('POST', `/knowledge-bases/${base.id}/sources`, {
    attachment_id: attachmentId,
  });
  for (;;) {
    const [row] = await calls.sql<{ state: string; error: unknown }>('select state, error from knowledge_sources where id = ?', [
      source.id,
    ]);
    if (row?.state === 'ready') return { kbId: base.id, ms: performance.now() - begun };
    if (row?.state === 'failed') throw new Error(`the source failed: ${JSON.stringify(row.error)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const nouns = ['pump', 'valve', 'seal', 'harbour', 'otter', 'engine', 'river', 'bridge', 'sensor', 'cable', 'filter', 'tank'];

function sentence(seed: number): string {
  const word = (at: number) => nouns[(seed * 7 + at * 5 + ((seed * at) % 11)) % nouns.length];
  return `The ${word(1)} number ${seed} of the ${word(2)} stands behind the ${word(3)}, and its ${word(4)} was replaced with that of ${word(5)} ${seed % 997}.`;
}

async function measureItems(of: Measuring, rounds: number): Promise<Finding> {
  const line = (at: number) =>
    JSON.stringify({ content: `${sentence(at)} ${sentence(at + 3)}`, title: `Part ${at}`, external_id: `part-${at}` });
  const text = Array.from({ length: itemCount }, (_, at) => line(at)).join('\n');
  const perSecond = (ms: number) => ({ perSecond: (itemCount * 1_000) / ms });
  // The rows to write are those of an ingestion.
  const first = await ingested(of, { name: 'items.jsonl', text });
  const rows = await rowsOf(of.admin, first.kbId);
  const sides = {
    bare: async () => perSecond(await insertBare(of.admin, rows)),
    product: async () => perSecond((await ingested(of, { name: 'items.jsonl', text })).ms),
  };
  const measured = await compare({ rounds, warmUps: 0, sides });
  const what = `${itemCount.toLocaleString('en')} items with hash-v1, bare inserts of the same rows`;
  return finding(measured, { what, unit: 'items/s', metric: 'perSecond', floor: 'bare', product: 'product', budget: least(0.3) });
}

const tables = [
  'knowledge_bases',
  'knowledge_base_counters',
  'knowledge_items',
  'knowledge_item_versions',
  'knowledge_chunks',
  'knowledge_vectors',
  'knowledge_terms',
] as const;

interface TableRows {
  readonly table: string;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly rows: readonly (readonly (string | null)[])[];
}

/** All rows of a base as texts. */
async function rowsOf(admin: pg.Client, kbId: string): Promise<TableRows[]> {
  const found: TableRows[] = [];
  for (const table of tables) {
    const { rows: columns } = await admin.query<{ name: string; type: string }>(
      `select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute
        where attrelid = $1::regclass and attnum > 0 and not attisdropped and attname not in ('lex_no', 'slug', 'source_id') order by attnum`,
      [table],
    );
    const key = table === 'knowledge_bases' ? 'id' : 'kb_id';
    const listed = columns.map(({ name }) => `${name}::text`).join(', ');
    const { rows } = await admin.query<(string | null)[]>({
      text: `select ${listed} from ${table} where ${key} = $1`,
      values: [kbId],
      rowMode: 'array',
    });
    found.push({ table, columns, rows });
  }
  return found;
}

/** Writes the rows under new ids, a transaction for each insert; gives the milliseconds of the inserts alone. */
async function insertBare(admin: pg.Client, found: readonly TableRows[]): Promise<number> {
  const ids = new Map<string, string>();
  const idColumns = ['id', 'kb_id', 'item_id', 'chunk_id'];
  const fresh = (old: string) => ids.get(old) ?? (ids.set(old, newId()).get(old) as string); // has just been set
  let ms = 0;
  for (const { table, columns, rows } of found) {
    const names = [...columns.map(({ name }) => name), ...(table === 'knowledge_bases' ? ['slug'] : [])];
    const values = columns.map(({ type }, at) => `v.c${at}::${type}`);
    const extra = table === 'knowledge_bases' ? ['v.c0'] : [];
    const statement = `insert into ${table} (${names.join(', ')}) select ${[...values, ...extra].join(', ')} from unnest(${columns.map((_, at) => `$${at + 1}::text[]`).join(', ')}) as v (${columns.map((_, at) => `c${at}`).join(', ')})`;
    for (let at = 0; at < rows.length; at += rowsAtOnce) {
      const part = rows.slice(at, at + rowsAtOnce);
      const arrays = columns.map(({ name }, column) =>
        part.map((row) => {
          const value = row[column] ?? null;
          return idColumns.includes(name) && value !== null ? fresh(value) : value;
        }),
      );
      const begun = performance.now();
      await admin.query(statement, arrays);
      ms += performance.now() - begun;
    }
  }
  return ms;
}

async function measureMemory(of: Measuring): Promise<Check[]> {
  const csv = (rows: number) =>
    `id,name,note\n${Array.from({ length: rows }, (_, at) => `${at},${nouns[at % 12]} ${at % 997},of lot ${at % 4999}\n`).join('')}`;
  const pid = of.stack.pid('worker-bulk');
  const peaks: number[] = [];
  for (const rows of [csvRows.few, csvRows.many]) {
    let isDone = false;
    const work = ingested(of, { name: 'rows.csv', text: csv(rows) }).finally(() => (isDone = true));
    peaks.push(await peakMb(pid, () => isDone));
    await work;
  }
  const [few = 0, many = 0] = peaks;
  const what = `MiB more that the worker holds for ${csvRows.many.toLocaleString('en')} rows of CSV than for ${csvRows.few.toLocaleString('en')} (${Math.round(few)})`;
  return [{ what, value: Math.round(many - few), budget: most(64) }];
}

/** The most that a process has in use after a collection, looked at once a second until it is done. */
async function peakMb(pid: number, isDone: () => boolean): Promise<number> {
  let peak = 0;
  while (!isDone()) {
    peak = Math.max(peak, (await memoryBytes(pid)) / 1024 ** 2);
    await delay(1_000);
  }
  return peak;
}

async function measureLatency(of: Measuring, rounds: number): Promise<Finding> {
  const requests = {
    origin: of.stack.url(),
    path: '/knowledge-bases',
    requests: 800,
    concurrency: 4,
    pauseMs: 20,
    headers: authorization(of.stack),
    status: 200,
  };
  const p99 = async () => ({ ms: quantile((await load(requests)).times, 0.99) });
  const text = Array.from({ length: 600 }, (_, at) => sentence(at)).join('\n\n');
  let [round, isDone] = [0, false];
  const measured = await compare({
    rounds,
    warmUps: 1,
    sides: {
      idle: p99,
      embedding: async () => {
        isDone = false;
        const work = ingested(of, {
          name: `text-${(round += 1)}.md`,
          text: `${round} ${text.replaceAll('number', `number ${round}`)}`,
          model: 'minilm-l6-v2',
        });
        void work.then(() => (isDone = true));
        const sample = await p99();
        if (isDone) throw new Error('the source was ready before the requests were');
        await work;
        return sample;
      },
    },
  });
  return finding(measured, {
    what: 'GET p99 while a source is embedded on board',
    unit: 'ms',
    metric: 'ms',
    floor: 'idle',
    product: 'embedding',
    budget: most(1.5),
  });
}
