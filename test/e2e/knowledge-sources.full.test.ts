import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { rows } from '../../db/sql.ts';
import { sweep } from '../../db/transaction.ts';
import { fixtures } from '../support/parsed-file.ts';
import { freePort, startOwnStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';

interface Source {
  readonly id: string;
  readonly state: string;
  readonly item_count: number;
  readonly chunk_count: number;
  readonly run_id: string;
  readonly error: { readonly code: string; readonly stage: string } | null;
  readonly warnings: readonly { readonly code: string; readonly detail: string }[];
}

let stack: Stack;
let site: Server;
let port: number;
let page = '<html><body><h1>Pump</h1><p>The pump is blue.</p></body></html>';

beforeAll(async () => {
  port = await freePort();
  site = createServer((_, reply) => reply.setHeader('content-type', 'text/html').end(page)).listen(port, '127.0.0.1');
  stack = await startOwnStack({ processes: ['api', 'worker-bulk'], egressPorts: [port], env: { EGRESS_ALLOW_HTTP: 'true' } });
});
afterAll(async () => {
  await stack?.stop();
  site?.close();
});

const sql = <T>(text: string, params: readonly unknown[]): Promise<T[]> => sweep(stack.db, (em) => rows<T>(em, text, params));

async function asked<T>(method: string, path: string, body?: unknown): Promise<T> {
  const reply = await stack.request(method, path, body === undefined ? {} : { body });
  if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`);
  return reply.body as T;
}

async function makeBase(): Promise<string> {
  const slug = `base-${Math.random().toString(36).slice(2)}`;
  return (await asked<{ id: string }>('POST', '/knowledge-bases', { slug, name: 'Base', embedding_model: 'hash-v1', scope: 'workspace' }))
    .id;
}

async function upload(file: string): Promise<string> {
  const form = new FormData();
  form.set('purpose', 'knowledge');
  form.set('file', new Blob([readFileSync(join(fixtures, file))]), file.split('/').at(-1));
  const reply = await fetch(`${stack.url()}/attachments`, {
    method: 'POST',
    body: form,
    headers: { authorization: `Bearer ${stack.tenant.serviceKey.plaintext}` },
  });
  return ((await reply.json()) as { id: string }).id;
}

async function ended(id: string): Promise<Source> {
  let source: Source | null = null;
  await until(async () => {
    source = await asked<Source>('GET', `/knowledge-sources/${id}`);
    return source.state === 'ready' || source.state === 'failed';
  });
  return source ?? Promise.reject(new Error('no source'));
}

const added = async (kbId: string, body: unknown) => ended((await asked<Source>('POST', `/knowledge-bases/${kbId}/sources`, body)).id);
const itemsOf = (sourceId: string) =>
  sql<{ id: string; content: string; trust: string; pages: number[] }>(
    `select id, content, trust, array(select page from knowledge_chunks c where c.item_id = i.id order by ord) as pages from knowledge_items i
      where source_id = ? and deleted_at is null and staged_run_id is null order by content`,
    [sourceId],
  );

/** Counters are what is really there, every chunk has its vector, and nothing is left staged. */
async function expectWhole(kbId: string): Promise<void> {
  const [counted] = await sql(
    `select chunks, tokens, lex_len, reviewed + pending as items, (select coalesce(sum(df), 0)::int from knowledge_terms where kb_id = c.kb_id) as df from knowledge_base_counters c where kb_id = ?`,
    [kbId],
  );
  const [real] = await sql(
    `select count(*)::int as chunks, coalesce(sum(token_count), 0)::int as tokens, coalesce(sum(lex_len), 0)::int as lex_len,
            (select count(*)::int from knowledge_live_items where kb_id = ?) as items, coalesce(sum(length(lexemes)), 0)::int as df from knowledge_chunks where kb_id = ?`,
    [kbId, kbId],
  );
  expect(counted).toEqual(real);
  const [left] = await sql(
    `select (select count(*)::int from knowledge_items where kb_id = ? and staged_run_id is not null) as staged,
            (select count(*)::int from knowledge_chunks c left join knowledge_vectors v on v.chunk_id = c.id where c.kb_id = ? and v.chunk_id is null) as bare`,
    [kbId, kbId],
  );
  expect(left).toEqual({ staged: 0, bare: 0 });
}

test('a PDF becomes items whose chunks know their page; a scan fails with its reason', async () => {
  const kbId = await makeBase();

  const source = await added(kbId, { attachment_id: await upload('pdf/reportlab-three-pages.pdf') });
  const scan = await added(kbId, { attachment_id: await upload('pdf/reportlab-scanned.pdf') });

  expect(source).toMatchObject({ state: 'ready', item_count: 1, error: null });
  expect((await itemsOf(source.id))[0]?.pages).toEqual([1, 2, 3]);
  expect(scan).toMatchObject({ state: 'failed', error: { code: 'no_text', stage: 'parsing' }, item_count: 0 });
  await expectWhole(kbId);
});

test('pages stay when an item is cut anew: by other settings, a new title, a restore, an export and import, a re-embed', async () => {
  const kbId = await makeBase();
  const source = await added(kbId, { attachment_id: await upload('pdf/reportlab-three-pages.pdf') });
  const [item] = await itemsOf(source.id);
  const pagesOf = async (id: unknown) =>
    (await asked<{ items: { page: number }[] }>('GET', `/knowledge-items/${String(id)}/chunks`)).items.map(({ page }) => page);
  const isReady = (base: string) => async () =>
    (await sql("select 1 from knowledge_items where kb_id = ? and index_state = 'pending' and deleted_at is null", [base])).length === 0;
  const ran = async (path: string, body: unknown) => {
    const run = await asked<{ id: string }>('POST', path, body);
    await until(
      async () => (await sql('select 1 from knowledge_runs where id = ? and finished_at is not null', [run.id])).length > 0,
      240_000,
    );
    return asked<{ status: string; attachment_id: string }>('GET', `/knowledge-maintenance-runs/${run.id}`);
  };

  await asked('PATCH', `/knowledge-items/${item?.id}`, { title: 'Three pages' });
  expect(await pagesOf(item?.id)).toEqual([1, 2, 3]);
  await asked('PATCH', `/knowledge-bases/${kbId}`, { chunking: { size_tokens: 100 }, retrieval: { language: 'de' } });
  await until(async () => (await sql('select 1 from knowledge_bases where id = ? and relexed_to is null', [kbId])).length > 0, 240_000);
  await until(isReady(kbId), 240_000);
  expect(await pagesOf(item?.id)).toEqual([1, 2, 3]);
  await stack.request('DELETE', `/knowledge-items/${item?.id}`);
  await asked('POST', `/knowledge-items/${item?.id}/restore`);
  expect(await pagesOf(item?.id)).toEqual([1, 2, 3]);
  await expectWhole(kbId);

  const exported = await ran(`/knowledge-bases/${kbId}/export`, {});
  const other = await makeBase();
  expect((await ran(`/knowledge-bases/${other}/import`, { attachment_id: exported.attachment_id })).status).toBe('succeeded');
  const [imported] = await sql<{ id: string }>('select id from knowledge_live_items where kb_id = ?', [other]);
  expect(await pagesOf(imported?.id)).toEqual([1, 2, 3]);
  const made = await asked<{ id: string }>('POST', `/knowledge-bases/${kbId}/reembed`, {
    slug: `next-${kbId}`,
    embedding_model: 'hash-v1',
  });
  await until(
    async () => (await sql('select 1 from knowledge_bases where id = ? and activated_at is not null', [made.id])).length > 0,
    240_000,
  );
  const [copied] = await sql<{ id: string }>('select id from knowledge_live_items where kb_id = ?', [made.id]);
  expect(await pagesOf(copied?.id)).toEqual([1, 2, 3]);
  await asked('PATCH', `/knowledge-items/${copied?.id}`, { title: 'Cut again' });
  expect(await pagesOf(copied?.id)).toEqual([1, 2, 3]);
  await asked('PATCH', `/knowledge-items/${copied?.id}`, { content: 'Words that are of no page.' });
  expect(await pagesOf(copied?.id)).toEqual([null]);
});

test('an uploaded file in UTF-16 or another encoding, or with U+0000, becomes a source', async () => {
  const kbId = await makeBase();

  const sheet = await added(kbId, { attachment_id: await upload('csv/python-excel-utf-16.tsv') });
  const sound = await added(kbId, { attachment_id: await upload('csv/python-shift-jis.csv') });
  const rough = await added(kbId, { attachment_id: await upload('csv/bad-rows.csv') });

  expect([sheet.state, sound.state, rough.state]).toEqual(['ready', 'ready', 'ready']);
  expect((await itemsOf(sheet.id))[0]?.content).toContain('| Köln | 1 084 831 |');
  expect((await itemsOf(sound.id))[0]?.content).toContain('| 東京 | 13960000 |');
  expect(rough.warnings.map(({ code }) => code)).toEqual(expect.arrayContaining(['nul_dropped', 'bad_row']));
});

const uploadText = async (name: string, text: string): Promise<string> => {
  const form = new FormData();
  form.set('purpose', 'knowledge');
  form.set('file', new Blob([text]), name);
  const headers = { authorization: `Bearer ${stack.tenant.serviceKey.plaintext}` };
  const reply = await fetch(`${stack.url()}/attachments`, { method: 'POST', body: form, headers });
  return ((await reply.json()) as { id: string }).id;
};

test('elements of JSON keep the fields of an item; a bad one is a warning with its place, and the rest lands', async () => {
  const kbId = await makeBase();
  const whole = {
    content: 'The pump is blue.',
    external_id: 'pump-1',
    kind: 'fact',
    fact: { subject: 'pump', relation: 'colour', object: 'blue' },
    evidence: [{ kind: 'url', ref: 'https://example.com/pump', quote: 'blue' }],
    valid_from: '2026-01-01T00:00:00Z',
    valid_until: '2027-01-01T00:00:00Z',
    observed_at: '2026-02-03T04:05:06Z',
    tags: ['pump'],
    metadata: { site: 'north' },
    curation_state: 'pending',
    colour: 'is not a field of an item',
  };
  const bad = { content: 'A valve.', valid_from: '2026-02-30T00:00:00Z' };
  const others = [
    { content: 'One.', kind: 'novel' },
    { content: 'Two.', fact: { subject: 'x' } },
    { ...bad },
    { content: 'Three.', external_id: 'pump-1' },
  ];
  const lines = [JSON.stringify(whole), '{"content": "cut of', ...others.map((other) => JSON.stringify(other))].join('\n');

  const fromLines = await added(kbId, { attachment_id: await uploadText('items.jsonl', lines), tags: ['all'] });
  const fromArray = await added(kbId, {
    attachment_id: await uploadText('items.json', `[\n  {"content": "Four."}, ${JSON.stringify(bad)}]`),
  });
  const none = await added(kbId, { attachment_id: await uploadText('bad.json', JSON.stringify([bad])) });
  const { items } = await asked<{ items: Record<string, unknown>[] }>('GET', `/knowledge-bases/${kbId}/items?source_id=${fromLines.id}`);

  expect(items.map(({ content }) => content).toSorted()).toEqual(['The pump is blue.', 'Three.']);
  const { colour, ...kept } = whole;
  expect(items.find(({ content }) => content === whole.content)).toMatchObject({
    ...kept,
    evidence: [{ ...whole.evidence[0], observed_at: null }],
    valid_from: '2026-01-01T00:00:00.000Z',
    valid_until: '2027-01-01T00:00:00.000Z',
    observed_at: '2026-02-03T04:05:06.000Z',
    tags: ['all', 'pump'],
  });
  expect(colour).toBeDefined();
  const at = (n: number) =>
    lines
      .split('\n')
      .slice(0, n - 1)
      .join('\n').length + 1;
  const details = fromLines.warnings.map(({ code, detail }) => [code, detail.slice(0, 40)]);
  expect(details).toEqual(
    expect.arrayContaining([
      ['bad_line', expect.stringContaining(`Line 2 at character ${at(2)} is not JSON`)],
      ...[3, 4, 5].map((n) => ['bad_element', expect.stringContaining(`Line ${n} at character ${at(n)} was omitted`)]),
      ['duplicate_id', expect.stringContaining('Line 6 at character')],
    ]),
  );
  expect(fromArray).toMatchObject({ state: 'ready', item_count: 1 });
  expect(fromArray.warnings[0]?.detail).toContain('Element 2 at character 26 was omitted');
  expect(none).toMatchObject({ state: 'failed', error: { code: 'malformed' } });
  await expectWhole(kbId);
});

test('a sync brings the fields that an element of equal words has by now', async () => {
  const kbId = await makeBase();
  const one = await added(kbId, { attachment_id: await uploadText('a.jsonl', '{"content":"The pump is blue.","tags":["old"]}') });
  const [before] = await itemsOf(one.id);
  const next = await uploadText('a.jsonl', '{"content":"The pump is blue.","tags":["new"],"kind":"fact"}\n{"content":"Other."}');
  await sql('update knowledge_sources set attachment_id = ? where id = ?', [next, one.id]);
  await sql("update knowledge_sources set extractor = 'old' where id = ?", [one.id]);

  await asked('POST', `/knowledge-sources/${one.id}/sync`);
  await ended(one.id);

  const item = await asked<Record<string, unknown>>('GET', `/knowledge-items/${before?.id}`);
  const versions = await asked<{ items: Record<string, unknown>[] }>('GET', `/knowledge-items/${before?.id}/versions`);
  expect(item).toMatchObject({ tags: ['new'], kind: 'fact', version: 2 });
  expect(versions.items.map(({ tags, reason }) => [tags, reason])).toEqual([
    [['new'], 'sync'],
    [['old'], null],
  ]);
});

test('syncing twice changes nothing; a changed page keeps the items of equal words and repeats none', async () => {
  const kbId = await makeBase();
  const long = (name: string, text: string) => `<h2>${name}</h2><p>${text.repeat(400)}</p>`;
  page = `<html><head><title>Pump</title></head><body>${long('One', 'The pump is blue and stands here. ')}${long('Two', 'A valve must be closed by hand. ')}</body></html>`;
  const source = await added(kbId, { url: `http://127.0.0.1:${port}/pump` });
  const before = await itemsOf(source.id);

  await asked('POST', `/knowledge-sources/${source.id}/sync`);
  expect(await ended(source.id)).toMatchObject({ state: 'ready', item_count: before.length });
  expect(await itemsOf(source.id)).toEqual(before);
  page = page.replaceAll('A valve must be closed by hand. ', 'A valve is opened by a motor. ');
  await asked('POST', `/knowledge-sources/${source.id}/sync`);
  await ended(source.id);

  const after = await itemsOf(source.id);
  expect(before.length).toBe(2);
  expect(before.every(({ trust }) => trust === 'untrusted')).toBe(true);
  expect(after.filter(({ id }) => before.some((item) => item.id === id)).map(({ content }) => content.slice(0, 6))).toEqual(['## One']);
  expect(new Set(after.map(({ content }) => content)).size).toBe(2);
  await expectWhole(kbId);
});

test('one bad row is a warning and the rest lands; a text with orders is untrusted and a finding', async () => {
  const kbId = await makeBase();

  const lines = await added(kbId, { attachment_id: await upload('json/python-items.jsonl') });
  const orders = await added(kbId, { text: readFileSync(join(fixtures, 'md/orders.md'), 'utf8') });

  expect(lines).toMatchObject({ state: 'ready', item_count: 4 });
  expect(lines.warnings.map(({ code }) => code)).toEqual(expect.arrayContaining(['bad_line', 'nul_dropped', 'lone_surrogate']));
  const [item] = await itemsOf(orders.id);
  expect(item?.trust).toBe('untrusted');
  expect(await sql('select kind, state, item_ids from knowledge_findings where kb_id = ?', [kbId])).toEqual([
    { kind: 'injection_suspect', state: 'open', item_ids: [item?.id] },
  ]);
});

test('another language re-lexes all items through a killed worker; searches meanwhile say so and lose no hit that they had', async () => {
  const kbId = await makeBase();
  for (const part of [0, 1]) {
    const items = Array.from({ length: 320 }, (_, at) => ({
      content: at % 7 === 0 && part === 0 ? `Die Häuser ${at} stehen am Fluss.` : `Teil ${part} Nummer ${at}.`,
    }));
    await asked('POST', `/knowledge-bases/${kbId}/items/batch`, { items, on_duplicate: 'allow' });
  }
  const search = async () => {
    const found = await asked<{ hits: { item_id: string }[]; degraded: { reason: string }[] }>('POST', `/knowledge-bases/${kbId}/search`, {
      query: 'Häusern',
      mode: 'lexical',
      top_k: 90,
    });
    return {
      ids: new Set(found.hits.map(({ item_id: id }) => id)),
      isPending: found.degraded.some(({ reason }) => reason === 'index_pending'),
    };
  };
  expect((await search()).ids.size).toBe(0);

  await asked('PATCH', `/knowledge-bases/${kbId}`, { retrieval: { language: 'de' } });
  let [kills, had] = [0, new Set<string>()];
  await until(async () => {
    const found = await search();
    expect([...had].filter((id) => !found.ids.has(id))).toEqual([]);
    had = found.ids;
    if (kills < 2 && (kills === 0 || had.size > 0)) {
      kills += 1;
      await stack.kill('worker-bulk');
      await stack.start('worker-bulk');
    }
    return !found.isPending;
  }, 240_000);

  expect((await search()).ids.size).toBe(46);
  const [found] = await sql<{ states: string[] }>('select array_agg(distinct index_state) as states from knowledge_items where kb_id = ?', [
    kbId,
  ]);
  expect(found?.states).toEqual(['ready']);
  await expectWhole(kbId);
});

test('a deleted source takes its items, chunks and vectors along; kept ones stay without it', async () => {
  const kbId = await makeBase();
  const gone = await added(kbId, { text: '# Pump\n\nThe pump is blue.' });
  const kept = await added(kbId, { text: '# Valve\n\nThe valve is red.' });

  await stack.request('DELETE', `/knowledge-sources/${gone.id}`);
  await stack.request('DELETE', `/knowledge-sources/${kept.id}?keep_items=true`);

  const live = await sql<{ content: string }>('select content, source_id from knowledge_live_items where kb_id = ?', [kbId]);
  expect(live).toEqual([{ content: '# Valve\n\nThe valve is red.', source_id: null }]);
  await expectWhole(kbId);
});

test('a worker killed again and again while it ingests comes to the same end', async () => {
  const kbId = await makeBase();
  const rowsOfCsv = Array.from({ length: 12_000 }, (_, at) => `${at},part ${at % 97} of the pump,${at * 7}`);
  const text = rowsOfCsv.map((row) => `Row ${row}.`).join('\n\n');
  const calm = await added(kbId, { text });
  const { id } = await asked<Source>('POST', `/knowledge-bases/${kbId}/sources`, { text: `${text} ` });

  const killedIn = new Set<string>();
  for (let kill = 0; kill < 4; kill += 1) {
    const { state } = await asked<Source>('GET', `/knowledge-sources/${id}`);
    if (state === 'ready') break;
    killedIn.add(state);
    await new Promise((resolve) => setTimeout(resolve, 300 + kill * 700));
    await stack.kill('worker-bulk');
    await stack.start('worker-bulk');
  }
  const killed = await ended(id);

  expect(killedIn.size).toBeGreaterThan(0);
  expect(killed).toMatchObject({ state: 'ready', item_count: calm.item_count, chunk_count: calm.chunk_count });
  await expectWhole(kbId);
});
