import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { newId } from '../../db/ids.ts';
import { send, startEmbeddingServer, type EmbeddingServer } from '../fakes/embedding-server.ts';
import { registryFile } from '../ports/embeddings/registry.ts';
import { countedAndReal, knowledgeCalls } from '../support/knowledge.ts';
import { pdfOf } from '../support/pdf.ts';
import { startOwnStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';
import { words } from '../workflows/knowledge-world.ts';
import { isWholeMatrix } from './whole.ts';

const dim = 8;
const paid = 'acme/paid';
const files = isWholeMatrix ? 300 : 4;
const rowsOfCsv = isWholeMatrix ? 350_000 : 3_000;
const maxMs = isWholeMatrix ? 1_500_000 : 240_000;
const timeoutMs = isWholeMatrix ? 1_800_000 : 600_000;
let server: EmbeddingServer;
let stack: Stack;
const calls = knowledgeCalls(() => stack);

interface SourceRow {
  readonly state: string;
  readonly error: { readonly code: string } | null;
  readonly item_count: number;
}

beforeAll(async () => {
  server = await startEmbeddingServer(dim);
  const registry = registryFile(server.baseUrl, [{ name: 'paid', dim, max_tokens: 512, max_batch: 4 }]);
  const env = { LONGHAUL_MODEL_REGISTRY: registry, ACME_API_KEY: 'k', RATE_LIMITS: 'principal=100000/60,workspace=100000/60' };
  stack = await startOwnStack({ processes: ['api', 'worker-bulk'], env });
  await calls.sql(
    `insert into model_prices (id, model, tier, bucket, unit, price, currency, effective_from) values (?, ?, 'standard', 'input', '1m_tokens', 20, 'USD', now() - interval '1 minute')`,
    [newId(), paid],
  );
}, 300_000);
beforeEach(() => {
  server.reply = null;
  server.calls.length = 0;
});
afterAll(async () => {
  await stack?.stop();
  await server?.close();
});

async function addFile(kbId: string, bytes: Uint8Array | string, name: string): Promise<string> {
  const attachmentId = await calls.upload(bytes, name);
  return (await calls.asked<{ id: string }>('POST', `/knowledge-bases/${kbId}/sources`, { attachment_id: attachmentId })).id;
}

/** The sources of a base when none is at work any more. */
async function ended(kbId: string): Promise<SourceRow[]> {
  let sources: SourceRow[] = [];
  await until(async () => {
    sources = await calls.sql('select state, error, item_count from knowledge_sources where kb_id = ?', [kbId]);
    return sources.every(({ state }) => state === 'ready' || state === 'failed');
  }, maxMs);
  return sources;
}

async function expectWhole(kbId: string): Promise<void> {
  const [counted, real] = await countedAndReal(calls.sql, kbId);
  expect(counted).toEqual(real);
  const bare = await calls.sql(
    `select 1 from knowledge_chunks c left join knowledge_vectors v on v.chunk_id = c.id where c.kb_id = ? and v.chunk_id is null`,
    [kbId],
  );
  expect(bare).toEqual([]);
}

test(
  `${files} PDFs at once each end ready`,
  async () => {
    const { id } = await calls.makeBase();

    for (let at = 0; at < files; at += 1) await addFile(id, pdfOf([[`Pump ${at} is blue.`], [`Valve ${at} is red.`]]), `pump-${at}.pdf`);
    const sources = await ended(id);

    expect(sources.map(({ state, item_count: items }) => [state, items])).toEqual(Array.from({ length: files }, () => ['ready', 1]));
    await expectWhole(id);
  },
  timeoutMs,
);

test.each([
  ['429 with Retry-After', () => (_: unknown, response: Parameters<typeof send>[0]) => send(response, 429, {}, { 'retry-after': '1' })],
  ['503', () => (_: unknown, response: Parameters<typeof send>[0]) => send(response, 503, {})],
  ['a connection that is cut', () => (_: unknown, response: Parameters<typeof send>[0]) => response.destroy() === response],
])(
  'a provider that answers with %s for a while delays a source, which ends ready and is billed once',
  async (_, fault) => {
    const { id } = await calls.makeBase({ embedding_model: paid, chunking: { size_tokens: 64, overlap_tokens: 0 } });
    let left = 3;
    const fails = fault();
    server.reply = (call, response) => (left > 0 ? ((left -= 1), fails(call, response)) : false);

    await addFile(id, words(newId().slice(-8), 30), 'words.txt');
    const sources = await ended(id);

    expect(sources).toMatchObject([{ state: 'ready', error: null }]);
    expect(left).toBe(0);
    await expectWhole(id);
    const [billed] = await calls.sql<{ entries: number; keys: number }>(
      'select count(*)::int as entries, count(distinct call_key)::int as keys from usage_entries where source_id in (select id from knowledge_runs where kb_id = ?)',
      [id],
    );
    const [chunks] = await calls.sql<{ n: number }>('select count(*)::int as n from knowledge_chunks where kb_id = ?', [id]);
    expect(billed?.entries).toBe(billed?.keys);
    expect(billed?.entries).toBe(Math.ceil((chunks?.n ?? 0) / 4));
  },
  600_000,
);

test('a provider that refuses the text ends the source failed with its reason, and leaves nothing', async () => {
  const { id } = await calls.makeBase({ embedding_model: paid });
  server.reply = (_, response) => send(response, 400, { error: { message: 'no' } });

  await addFile(id, 'A text that nobody wants.', 'words.txt');

  expect(await ended(id)).toMatchObject([{ state: 'failed', error: { code: expect.stringMatching(/^embedding_/) } }]);
  // What was staged goes after the source has said so.
  await until(async () => (await calls.sql('select 1 from knowledge_items where kb_id = ?', [id])).length === 0);
}, 600_000);

test(
  `a CSV of ${rowsOfCsv} rows ends ready with all of them`,
  async () => {
    const { id } = await calls.makeBase();
    const csv = `id,name\n${Array.from({ length: rowsOfCsv }, (_, at) => `${at},part ${at % 4999}\n`).join('')}`;

    await addFile(id, csv, 'rows.csv');

    expect(await ended(id)).toMatchObject([{ state: 'ready', item_count: rowsOfCsv / 500 }]);
    const [rows] = await calls.sql<{ n: number }>(
      "select sum((metadata ->> 'last_row')::int - (metadata ->> 'first_row')::int + 1)::int as n from knowledge_items where kb_id = ?",
      [id],
    );
    expect(rows?.n).toBe(rowsOfCsv);
    await expectWhole(id);
  },
  timeoutMs,
);
