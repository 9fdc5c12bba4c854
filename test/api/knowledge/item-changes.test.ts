import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { organizationTenant, systemActor, transact } from '../../../db/transaction.ts';
import { exportRecords } from '../../../domain/knowledge/transfer/export-bundle.ts';
import { openWorld, type World } from '../world.ts';
import { changeRows, makeBase, makeItem, numbersOf, rowsOf } from './knowledge-fixture.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

/** Counters and terms are what the rows say. */
async function expectCounted(kbId: string, some: Record<string, number> = {}) {
  const { counted, real, terms } = await numbersOf(world, kbId);
  expect(counted).toEqual(real);
  expect(terms).toBe(0);
  expect(counted).toMatchObject(some);
}

test('another content is another version, indexed anew; the same and what is no content make none', async () => {
  const tenant = await world.tenant();
  const { tokens } = tenant;
  const kbId = await makeBase(world, tenant);
  const item = await makeItem(world, tokens.member, kbId, { content: 'Old words\nhere' });
  const change = (body: object, token = tokens.admin) => world.call(token, 'PATCH', `/knowledge-items/${item.id}`, { body });
  const chunkIds = async () =>
    (await world.call(tokens.viewer, 'GET', `/knowledge-items/${item.id}/chunks`)).body.items.map(({ id }: { id: string }) => id);
  const before = await chunkIds();

  const same = await change({ content: 'Old words\r\nhere' });
  const kind = await change({ kind: 'qa', valid_until: '2030-01-01T00:00:00Z' });
  expect([same.body.version, kind.body.version]).toEqual([1, 1]);
  expect(await chunkIds()).toEqual(before);

  const tags = await change({ tags: ['a'] });
  const content = await change({ content: 'Other words', title: 'Title', reason: 'corrected' });
  expect([tags.body.version, content.body.version]).toEqual([2, 3]);
  expect(content.body).toMatchObject({
    content: 'Other words',
    title: 'Title',
    tags: ['a'],
    kind: 'qa',
    curation_state: 'reviewed',
    index_state: 'ready',
  });
  expect(await chunkIds()).not.toEqual(before);
  const versions = await world.call(tokens.viewer, 'GET', `/knowledge-items/${item.id}/versions?limit=2`);
  expect(versions.body.items).toMatchObject([
    { version: 3, content: 'Other words', reason: 'corrected' },
    { version: 2, content: 'Old words\nhere', tags: ['a'] },
  ]);
  const next = await world.call(tokens.viewer, 'GET', `/knowledge-items/${item.id}/versions?limit=2&cursor=${versions.body.next_cursor}`);
  expect(next.body.items).toMatchObject([{ version: 1, tags: [] }]);
  const terms = await rowsOf<{ lexeme: string }>(world, 'select lexeme from knowledge_terms where kb_id = ? order by 1', [kbId]);
  expect(terms.map(({ lexeme }) => lexeme)).toEqual(['titl', 'word']);
  await expectCounted(kbId, { reviewed: 1, chunks: 1 });
});

test('another content below admin has to be reviewed again', async () => {
  const tenant = await world.tenant();
  const { tokens } = tenant;
  const kbId = await makeBase(world, tenant);
  const item = await makeItem(world, tokens.member, kbId);
  await world.call(tokens.member, 'POST', `/knowledge-items/${item.id}/curate`, { body: { curation_state: 'retired' } });
  await world.call(tokens.member, 'POST', `/knowledge-items/${item.id}/curate`, { body: { curation_state: 'reviewed' } });
  const promoted = await world.call(tokens.admin, 'POST', `/knowledge-items/${item.id}/curate`, { body: { curation_state: 'promoted' } });
  const change = (body: object) => world.call(tokens.member, 'PATCH', `/knowledge-items/${item.id}`, { body });

  const titled = await change({ title: 'Title' });
  const changed = await change({ content: 'Changed' });

  expect([promoted.body.curation_state, promoted.body.trust]).toEqual(['promoted', 'reviewed']);
  expect(titled.body.curation_state).toBe('promoted');
  expect(changed.body).toMatchObject({ curation_state: 'pending', trust: 'workspace' });
  await expectCounted(kbId, { pending: 1, promoted: 0 });
});

test('stale ETags are 412, and changes at once make one version each', async () => {
  const tenant = await world.tenant();
  const { tokens } = tenant;
  const kbId = await makeBase(world, tenant);
  const item = await makeItem(world, tokens.member, kbId);
  const change = (content: string, etag?: string) =>
    world.call(tokens.admin, 'PATCH', `/knowledge-items/${item.id}`, { body: { content }, headers: etag ? { 'if-match': etag } : {} });

  const first = await change('First', '"1"');
  const stale = await change('Lost', '"1"');
  const atOnce = await Promise.all(Array.from({ length: 6 }, (_, at) => change(`Text ${at}`)));

  expect([first.status, stale.status]).toEqual([200, 412]);
  expect(atOnce.map(({ body }) => body.version).toSorted((a, b) => a - b)).toEqual([3, 4, 5, 6, 7, 8]);
  await expectCounted(kbId, { reviewed: 1, chunks: 1 });
});

test('a deleted item is in no list, chunk, vector or relation; a restore indexes it anew, without relations', async () => {
  const tenant = await world.tenant();
  const { tokens } = tenant;
  const kbId = await makeBase(world, tenant);
  const item = await makeItem(world, tokens.member, kbId, { external_id: 'e', content: 'Unmistakable words' });
  const other = await makeItem(world, tokens.member, kbId);
  await world.call(tokens.member, 'POST', `/knowledge-items/${other.id}/relations`, { body: { to_item_id: item.id, type: 'supports' } });
  const restore = () => world.call(tokens.admin, 'POST', `/knowledge-items/${item.id}/restore`);
  const relations = async () => (await world.call(tokens.viewer, 'GET', `/knowledge-items/${other.id}/relations`)).body.items;

  expect(await relations()).toHaveLength(1);
  expect((await restore()).body).toMatchObject({ code: 'state_conflict', context: { reason: 'illegal_transition' } });
  expect((await world.call(tokens.member, 'DELETE', `/knowledge-items/${item.id}`)).status).toBe(204);
  expect((await world.call(tokens.member, 'DELETE', `/knowledge-items/${item.id}`)).status).toBe(404);
  expect((await world.call(tokens.viewer, 'GET', `/knowledge-items/${item.id}`)).status).toBe(404);
  expect((await world.call(tokens.viewer, 'GET', `/knowledge-items/${item.id}/versions`)).status).toBe(404);
  expect(await relations()).toEqual([]);
  const left = await rowsOf(
    world,
    'select 1 from knowledge_chunks c full join knowledge_vectors v on v.chunk_id = c.id where c.item_id = ? or c.id is null',
    [item.id],
  );
  expect(left).toEqual([]);
  await expectCounted(kbId, { reviewed: 1, chunks: 1 });

  const usurper = await makeItem(world, tokens.member, kbId, { external_id: 'e' });
  expect((await restore()).body.code).toBe('already_exists');
  await world.call(tokens.member, 'DELETE', `/knowledge-items/${usurper.id}`);
  expect((await world.call(tokens.member, 'POST', `/knowledge-items/${item.id}/restore`)).status).toBe(403);
  const restored = await restore();
  expect(restored).toMatchObject({
    status: 200,
    body: { id: item.id, content: item.content, deleted_at: null, chunk_count: 1, index_state: 'ready' },
  });
  expect(await relations()).toEqual([]);
  await expectCounted(kbId, { reviewed: 2, chunks: 2 });
});

test('an item is restored within the retention of its base', async () => {
  const tenant = await world.tenant();
  const kbId = await makeBase(world, tenant);
  const item = await makeItem(world, tenant.tokens.member, kbId);
  await world.call(tenant.tokens.member, 'DELETE', `/knowledge-items/${item.id}`);
  const restore = () => world.call(tenant.tokens.admin, 'POST', `/knowledge-items/${item.id}/restore`);

  await changeRows(world, "update knowledge_items set deleted_at = now() - interval '31 days' where id = ?", [item.id]);
  expect((await restore()).body).toMatchObject({ status: 409, context: { reason: 'retention_over' } });
  await changeRows(world, 'insert into knowledge_policies (kb_id, organization_id, workspace_id, retention_days) values (?, ?, ?, 40)', [
    kbId,
    tenant.organizationId,
    tenant.workspaceId,
  ]);
  expect((await restore()).status).toBe(200);
});

test('a base without a model has words and no vectors', async () => {
  const tenant = await world.tenant();
  const kbId = await makeBase(world, tenant, { model: 'none', dim: 0, language: 'none' });
  const item = await makeItem(world, tenant.tokens.member, kbId, { content: '東京都に住んでいます。' });

  expect(item.index_state).toBe('ready');
  expect((await numbersOf(world, kbId)).vectors).toBe(0);
  const terms = await rowsOf<{ lexeme: string }>(world, 'select lexeme from knowledge_terms where kb_id = ?', [kbId]);
  expect(terms.map(({ lexeme }) => lexeme)).toEqual(expect.arrayContaining(['東京', '京都', '住']));
  await expectCounted(kbId);
});

test('each chunk of a long item is its slice of the content', async () => {
  const tenant = await world.tenant();
  const kbId = await makeBase(world, tenant);
  const content = Array.from(
    { length: 22 },
    (_, at) => `# Part ${at} 😀\n\nThe ${at}th part of it says: ${'words and words '.repeat(20)}.`,
  ).join('\n\n');
  const item = await makeItem(world, tenant.tokens.member, kbId, { content });
  const chunks = (await world.call(tenant.tokens.viewer, 'GET', `/knowledge-items/${item.id}/chunks?limit=200`)).body.items;

  const points = [...content];
  expect(chunks.length).toBe(item.chunk_count);
  expect(chunks.length).toBeGreaterThan(3);
  for (const { text, char_start: start, char_end: end } of chunks) expect(points.slice(start, end).join('')).toBe(text);
  await expectCounted(kbId, { chunks: item.chunk_count, tokens: item.token_count });
});

test('a content over 8,000 characters waits for the workflow, which is asked once; it has no passage of the content before', async () => {
  const tenant = await world.tenant();
  const kbId = await makeBase(world, tenant);
  const long = 'All words of a long text. '.repeat(400);
  const item = await makeItem(world, tenant.tokens.member, kbId, { content: long });
  const short = await makeItem(world, tenant.tokens.member, kbId, { content: 'a'.repeat(8_000) });
  const changed = await world.call(tenant.tokens.admin, 'PATCH', `/knowledge-items/${short.id}`, { body: { content: long } });
  const started = await rowsOf<{ kind: string }>(world, 'select kind from outbox where target = ?', [`index:${kbId}`]);

  expect([item.index_state, item.chunk_count, item.token_count, short.index_state]).toEqual(['pending', 0, 0, 'ready']);
  expect(changed.body).toMatchObject({ index_state: 'pending', chunk_count: 0, version: 2 });
  expect(started).toHaveLength(2);
  await expectCounted(kbId, { reviewed: 2, chunks: 0 });
});

test('what a run has staged is on no read path, counts nowhere and is no duplicate, and nobody changes it', async () => {
  const tenant = await world.tenant();
  const { member, admin } = tenant.tokens;
  const kbId = await makeBase(world, tenant);
  const live = await makeItem(world, member, kbId, { content: 'The pump is blue.' });
  const staged = await makeItem(world, member, kbId, { content: 'The pump is staged.', title: 'Staged', external_id: 'st' });
  const post = (token: string, path: string, body: object = {}) => world.call(token, 'POST', path, { body });
  await post(member, `/knowledge-items/${live.id}/relations`, { to_item_id: staged.id, type: 'related' });
  await changeRows(world, 'update knowledge_items set staged_run_id = gen_random_uuid() where id = ?', [staged.id]);
  await changeRows(world, 'update knowledge_base_counters set reviewed = 1, chunks = 1 where kb_id = ?', [kbId]);
  const read = async (path: string, token = member) => (await world.call(token, 'GET', path)).body;
  const searches = (['lexical', 'vector', 'hybrid'] as const).flatMap((mode) => [
    post(member, `/knowledge-bases/${kbId}/search`, {
      query: 'staged pump',
      mode,
      top_k: 100,
      include_pending: true,
      valid_at: null,
      exact: true,
    }),
    post(member, '/knowledge/search', { query: 'staged pump', mode, top_k: 100, latest_only: false }),
  ]);

  const shown = [
    (await read(`/knowledge-bases/${kbId}/items`)).items,
    (await read(`/knowledge-bases/${kbId}/items?include_deleted=true`, admin)).items,
    ...(await Promise.all(searches)).map(({ body }) => body.hits),
  ].map((rows: { id?: string; item_id?: string }[]) => rows.map(({ id, item_id: itemId }) => itemId ?? id));
  const read404 = await Promise.all(
    ['', '/versions', '/chunks', '/relations'].map((path) => world.call(member, 'GET', `/knowledge-items/${staged.id}${path}`)),
  );
  const changed404 = [
    await world.call(member, 'PATCH', `/knowledge-items/${staged.id}`, { body: { content: 'x' } }),
    await world.call(member, 'DELETE', `/knowledge-items/${staged.id}`),
    await post(admin, `/knowledge-items/${staged.id}/restore`),
    await post(admin, `/knowledge-items/${staged.id}/curate`, { curation_state: 'retired' }),
  ];
  const stats = await read(`/knowledge-bases/${kbId}/stats`);
  const curated = await post(admin, `/knowledge-bases/${kbId}/items/curate`, { filter: {}, curation_state: 'promoted', dry_run: true });
  const named = await post(admin, `/knowledge-bases/${kbId}/items/curate`, { item_ids: [staged.id], curation_state: 'promoted' });
  const { db } = world.api;
  const options = { tenant: organizationTenant(tenant.organizationId), actor: systemActor, correlationId: live.id };
  const records = exportRecords(async (work) => (await transact(db, options, work)).value, kbId, {
    includeVectors: true,
    includeGrants: true,
  });
  const exported: string[] = [];
  for await (const record of records) exported.push(JSON.stringify(record));
  const again = await post(member, `/knowledge-bases/${kbId}/items`, { content: 'The pump is staged.', external_id: 'st' });

  expect(shown).toEqual(shown.map(() => [live.id]));
  expect([...read404, ...changed404].map(({ status }) => status)).toEqual(Array(8).fill(404));
  expect((await read(`/knowledge-items/${live.id}/relations`)).items).toEqual([]);
  expect([stats.items.by_kind.document, stats.vectors[0].count, curated.body.matched, named.status]).toEqual([1, 1, 1, 422]);
  expect(exported.join('\n')).toContain('blue');
  expect(exported.join('\n')).not.toContain('staged');
  expect([again.status, again.body.id === staged.id]).toEqual([201, false]);
});
