import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { countedAndReal, killWhileItMoves, knowledgeCalls } from '../support/knowledge.ts';
import { isWholeMatrix } from '../chaos/whole.ts';
import { startOwnStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';

let stack: Stack;
const { asked, sql, makeBase, addItems, ran, endOf, upload } = knowledgeCalls(() => stack);

beforeAll(async () => {
  stack = await startOwnStack({ processes: ['api', 'worker-bulk'] });
});
afterAll(() => stack?.stop());

interface Line {
  readonly type: string;
  readonly [name: string]: unknown;
}

async function bytesOf(attachmentId: string | null): Promise<Buffer> {
  const reply = await fetch(`${stack.url()}/attachments/${attachmentId}`, {
    headers: { authorization: `Bearer ${stack.tenant.serviceKey.plaintext}` },
  });
  if (!reply.ok) throw new Error(`content: ${reply.status}`);
  return Buffer.from(await reply.arrayBuffer());
}

const linesOf = (bytes: Buffer): Line[] =>
  gunzipSync(bytes)
    .toString()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);

/** A base with a source, items of several sorts and a relation. */
async function filledBase() {
  const base = await makeBase();
  const source = await asked<{ run_id: string }>('POST', `/knowledge-bases/${base.id}/sources`, {
    text: '# Pump\n\nThe pump is blue.',
    title: 'Pump',
    tags: ['water'],
  });
  await endOf(source.run_id);
  const ids = await addItems(base.id, [
    {
      content: 'The valve is red.',
      external_id: 'valve',
      title: 'Valve',
      tags: ['steam'],
      metadata: { floor: 2 },
      valid_from: '2026-01-01T00:00:00.000Z',
    },
    {
      content: 'The valve is closed by hand. ä 漢',
      fact: { subject: 'valve', relation: 'closed by', object: 'hand' },
      curation_state: 'pending',
    },
    { content: 'This one is deleted.' },
  ]);
  await asked('POST', `/knowledge-items/${ids[1]}/relations`, { to_item_id: ids[0], type: 'supports', note: 'Both of the valve' });
  await stack.request('DELETE', `/knowledge-items/${ids[2]}`, {});
  return { base, ids };
}

test('an export holds sources, live items, relations and on demand vectors and grants, and stays a week', async () => {
  const { base } = await filledBase();
  await asked('POST', `/knowledge-bases/${base.id}/grants`, { principal_kind: 'role', role: 'admin', access: 'curate' });

  const run = await ran(`/knowledge-bases/${base.id}/export`, { include_vectors: true, include_grants: true });
  const lines = linesOf(await bytesOf(run.attachment_id));

  expect(run).toMatchObject({
    status: 'succeeded',
    counts: { sources: 1, items: 3, relations: 1, vectors: 3, grants: 1 },
    result: { attachment_id: run.attachment_id },
  });
  expect(lines.map(({ type }) => type)).toEqual([
    'header',
    'source',
    'item',
    'vectors',
    'item',
    'vectors',
    'item',
    'vectors',
    'relation',
    'grant',
    'end',
  ]);
  expect(lines[0]).toMatchObject({
    format: 'longhaul.knowledge',
    version: 1,
    counts: { sources: 1, items: 3, relations: 1 },
    base: { slug: base.slug },
  });
  expect(lines.at(-1)).toMatchObject({
    counts: { item: 3, source: 1, relation: 1, grant: 1 },
    sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  expect(JSON.stringify(lines)).not.toContain('This one is deleted');
  const [link] = await sql<{ days: number }>(
    'select round(extract(epoch from until - now()) / 86400)::int as days from attachment_links where owner_id = ?',
    [run.id],
  );
  expect(link?.days).toBe(7);
});

test('an export is read by whoever manages the base alone: not by an admin without a grant', async () => {
  const { admin: adminToken, owner: otherToken } = stack.tenant.tokens;
  const as = (credential: string) => async (method: string, path: string, body?: unknown) =>
    stack.request(method, path, { credential, headers: { accept: 'application/json' }, ...(body === undefined ? {} : { body }) });
  const made: { body: { id: string } } = await as(adminToken)('POST', '/knowledge-bases', {
    slug: 'private-one',
    name: 'Private',
    embedding_model: 'none',
    is_private: true,
  });
  const refused = await as(otherToken)('POST', `/knowledge-bases/${made.body.id}/export`, {});
  const started: { body: { id: string } } = await as(adminToken)('POST', `/knowledge-bases/${made.body.id}/export`, {});
  let run: { status: string; attachment_id: string } = { status: 'queued', attachment_id: '' };
  await until(async () => {
    run = (await as(adminToken)('GET', `/knowledge-maintenance-runs/${started.body.id}`)).body;
    return run.status === 'succeeded' || run.status === 'failed';
  });

  expect([refused.status, run.status]).toEqual([403, 'succeeded']);
  expect((await as(adminToken)('GET', `/attachments/${run.attachment_id}`)).status).toBe(200);
  expect((await as(otherToken)('GET', `/attachments/${run.attachment_id}`)).status).toBe(404);
});

test('a purge takes the exports of the base along', async () => {
  const { base, ids } = await filledBase();
  const exported = await ran(`/knowledge-bases/${base.id}/export`, {});

  await ran(`/knowledge-bases/${base.id}/purge`, { confirm: base.slug, mode: 'items', item_ids: [ids[0]] });

  expect((await stack.request('GET', `/attachments/${exported.attachment_id}`, { headers: { accept: 'application/json' } })).status).toBe(
    404,
  );
});

test('a worker killed while it exports comes to the same end, with one file', async () => {
  const base = await makeBase();
  for (let at = 0; at < 8; at += 1)
    await addItems(
      base.id,
      Array.from({ length: 500 }, (_, n) => ({ content: `Item ${at} ${n} of the pump.` })),
    );
  const started = await asked<{ id: string }>('POST', `/knowledge-bases/${base.id}/export`, { include_vectors: true });

  for (let kills = 0; kills < (isWholeMatrix ? 2 : 1); kills += 1) {
    await new Promise((resolve) => setTimeout(resolve, 150));
    await stack.kill('worker-bulk');
    await stack.start('worker-bulk');
  }
  const run = await endOf(started.id);

  expect(run).toMatchObject({ status: 'succeeded', counts: { items: 4_000, vectors: 4_000 } });
  expect(linesOf(await bytesOf(run.attachment_id)).filter(({ type }) => type === 'item')).toHaveLength(4_000);
  expect(await sql('select id from attachment_links where owner_id = ?', [run.id])).toHaveLength(1);
});

const digestOf = (lines: readonly string[]) =>
  createHash('sha256')
    .update(lines.map((line) => `${line}\n`).join(''))
    .digest('hex');

/** A bundle of lines as they stand, with a right last one. */
function bundle(lines: readonly string[]): Buffer {
  const all = ['{"type":"header","format":"longhaul.knowledge","version":1}', ...lines];
  return gzipSync([...all, JSON.stringify({ type: 'end', counts: {}, sha256: digestOf(all) })].map((line) => `${line}\n`).join(''));
}

/** A bundle without what differs from one import to the next. */
function comparable(lines: readonly Line[]): unknown[] {
  const names = new Map<unknown, string>();
  const nameOf = (id: unknown) => (typeof id === 'string' ? (names.get(id) ?? id) : id);
  for (const [at, line] of lines.entries()) if (line.type === 'source' || line.type === 'item') names.set(line['id'], `row ${at}`);
  return lines
    .filter(({ type }) => type !== 'header' && type !== 'end')
    .map(({ created_at: _created, ...line }) => ({
      ...line,
      id: nameOf(line['id']),
      source_id: nameOf(line['source_id']),
      from_item_id: nameOf(line['from_item_id']),
      to_item_id: nameOf(line['to_item_id']),
      item_id: nameOf(line['item_id']),
      superseded_by_id: nameOf(line['superseded_by_id']),
    }));
}

test('export, import, export: equal but for ids and times', async () => {
  const { base, ids } = await filledBase();
  const [newer = ''] = await addItems(base.id, [
    { content: 'The valve is green.', evidence: [{ kind: 'item', ref: ids[0], quote: 'The valve is red.' }] },
  ]);
  await asked('POST', `/knowledge-items/${ids[0]}/curate`, { curation_state: 'superseded', superseded_by_id: newer });
  const first = await ran(`/knowledge-bases/${base.id}/export`, { include_vectors: true });
  const other = await makeBase();

  const run = await ran(`/knowledge-bases/${other.id}/import`, { attachment_id: first.attachment_id, keep_state: true });
  const second = await ran(`/knowledge-bases/${other.id}/export`, { include_vectors: true });

  expect(run).toMatchObject({
    status: 'succeeded',
    error_count: 0,
    result: { created: 4, sources_created: 1, relations_created: 1, with_vectors: 4 },
  });
  const [before, after] = [linesOf(await bytesOf(first.attachment_id)), linesOf(await bytesOf(second.attachment_id))];
  const withoutRefs = (lines: readonly Line[]) =>
    comparable(lines).map((line) => JSON.parse(JSON.stringify(line).replaceAll(/"ref":"[^"]+"/g, '"ref":"x"')) as unknown);
  expect(withoutRefs(after)).toEqual(withoutRefs(before));
  const evidence = after.find(({ content }) => content === 'The valve is green.')?.['evidence'] as { ref: string }[] | undefined;
  expect(evidence?.[0]?.ref).toBe(after.find(({ external_id: key }) => key === 'valve')?.['id']);
  const [counted, real] = await countedAndReal(sql, other.id);
  expect(counted).toEqual(real);
});

test('each bad row is an error with its line and offset, and the rest lands; a dry run writes nothing', async () => {
  const base = await makeBase();
  const lines = [
    '{"type":"item","id":"a","content":"The first."}',
    'no json',
    '{"type":"item","id":"b","content":"A null: \\u0000."}',
    '{"type":"item","id":"c","content":"Half a pair: \\ud800."}',
    '{"type":"item","id":"d","content":7}',
    '{"type":"item","id":"e","content":"Deep","metadata":{"a":{"b":1}}}',
    '{"type":"other"}',
    '{"type":"item","id":"f","content":"The first."}',
    '{"type":"relation","from_item_id":"a","to_item_id":"nobody","relation":"supports"}',
    '{"type":"item","id":"g","content":"The last.","external_id":"k"}',
    '{"type":"item","id":"h","content":"The very last.","external_id":"k"}',
  ];
  const attachmentId = await upload(bundle(lines), 'rows.jsonl.gz');

  const dry = await ran(`/knowledge-bases/${base.id}/import`, { attachment_id: attachmentId, dry_run: true });
  const untouched = await sql('select id from knowledge_items where kb_id = ?', [base.id]);
  const run = await ran(`/knowledge-bases/${base.id}/import`, { attachment_id: attachmentId });
  const landed = await sql('select content, curation_state, origin from knowledge_items where kb_id = ? order by content', [base.id]);
  const again = await ran(`/knowledge-bases/${base.id}/import`, { attachment_id: attachmentId, mode: 'upsert' });

  expect([dry.status, dry.error_count, untouched]).toEqual(['succeeded', 7, []]);
  expect(run.errors.map(({ code, line }) => [line, code])).toEqual([
    [3, 'bad_json'],
    [4, 'bad_text'],
    [5, 'bad_text'],
    [6, 'bad_field'],
    [7, 'bad_field'],
    [8, 'unknown_type'],
    [10, 'reference'],
    [12, 'already_exists'],
  ]);
  expect(run.errors[0]?.offset).toBe('{"type":"header","format":"longhaul.knowledge","version":1}\n'.length + (lines[0]?.length ?? 0) + 1);
  expect(run).toMatchObject({ status: 'succeeded', result: { created: 3, failed: 8, dry_run: false } });
  expect(landed).toEqual(
    ['The first.', 'The first.', 'The last.'].map((content) => ({ content, curation_state: 'pending', origin: 'import' })),
  );
  expect(again).toMatchObject({ status: 'succeeded', result: { updated: 1, unchanged: 3 } });
});

test('a bundle that is cut off or changed imports nothing', async () => {
  const base = await makeBase();
  const whole = bundle(Array.from({ length: 300 }, (_, at) => JSON.stringify({ type: 'item', content: `Item ${at} ${Math.random()}` })));
  const cut = await upload(whole.subarray(0, whole.byteLength - 40), 'cut.jsonl.gz');
  const lines = gunzipSync(whole).toString().replace('Item 7 ', 'Item 8 ');

  const refused = await ran(`/knowledge-bases/${base.id}/import`, { attachment_id: cut });
  const changed = await ran(`/knowledge-bases/${base.id}/import`, { attachment_id: await upload(gzipSync(lines), 'changed.jsonl.gz') });

  expect([refused.status, refused.errors[0]?.code]).toEqual(['failed', 'cut_off']);
  expect([changed.status, changed.errors[0]?.code]).toEqual(['failed', 'wrong_digest']);
  expect(await sql('select id from knowledge_items where kb_id = ?', [base.id])).toEqual([]);
});

test('a worker killed again and again while it imports comes to the same end: each row once', async () => {
  const base = await makeBase();
  const rows = Array.from({ length: 2_000 }, (_, at) =>
    JSON.stringify({ type: 'item', id: `i-${at}`, content: `Item ${at} of the pump.` }),
  );
  const links = Array.from({ length: 200 }, (_, at) =>
    JSON.stringify({ type: 'relation', from_item_id: `i-${at}`, to_item_id: `i-${1_999 - at}`, relation: 'related' }),
  );
  const attachmentId = await upload(bundle([...rows, ...links, 'no json']), 'many.jsonl.gz');
  const started = await asked<{ id: string }>('POST', `/knowledge-bases/${base.id}/import`, { attachment_id: attachmentId });

  const kills = await killWhileItMoves(stack, { sql }, { runId: started.id, maxKills: isWholeMatrix ? 3 : 1 });
  const run = await endOf(started.id);

  expect(kills).toBeGreaterThan(0);
  expect(run).toMatchObject({ status: 'succeeded', error_count: 1, result: { created: 2_000, relations_created: 200, failed: 1 } });
  const [counted, real] = await countedAndReal(sql, base.id);
  expect(counted).toEqual(real);
  expect(await sql('select count(*)::int as n from knowledge_items where kb_id = ?', [base.id])).toEqual([{ n: 2_000 }]);
});
