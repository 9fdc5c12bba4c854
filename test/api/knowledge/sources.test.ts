import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../../db/ids.ts';
import { openWorld, type World } from '../world.ts';
import { changeRows, makeBase, rowsOf } from './knowledge-fixture.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const text = '# Pump\n\nThe pump is blue.';

async function sourceOf(token: string, kbId: string): Promise<string> {
  const made = await world.call(token, 'POST', `/knowledge-bases/${kbId}/sources`, { body: { text } });
  if (made.status !== 202) throw new Error(JSON.stringify(made.body));
  return made.body.id;
}

/** As a run leaves it that has ended. */
const end = (id: string) =>
  changeRows(
    world,
    `with r as (update knowledge_runs set status = 'succeeded', finished_at = now() where source_id = ?) update knowledge_sources set state = 'ready' where id = ?`,
    [id, id],
  );

test('a source is queued with its run and the start of its workflow, and is read and listed', async () => {
  const tenant = await world.tenant();
  const { tokens } = tenant;
  const kbId = await makeBase(world, tenant);

  const made = await world.call(tokens.member, 'POST', `/knowledge-bases/${kbId}/sources`, {
    body: { text, title: 'Pump', tags: ['a', 'a'] },
  });
  const read = await world.call(tokens.viewer, 'GET', `/knowledge-sources/${made.body.id}`);
  const listed = await world.call(tokens.viewer, 'GET', `/knowledge-bases/${kbId}/sources?q=PUM&kind=text&state=queued`);

  expect([made.status, made.headers['location']]).toEqual([202, `/knowledge-sources/${made.body.id}`]);
  expect(made.body).toMatchObject({ kb_id: kbId, kind: 'text', title: 'Pump', state: 'queued', item_count: 0, error: null, warnings: [] });
  expect(read.body).toEqual(made.body);
  expect(listed.body.items).toEqual([made.body]);
  expect(await rowsOf(world, 'select kind, status, id from knowledge_runs where source_id = ?', [made.body.id])).toEqual([
    { kind: 'ingest', status: 'queued', id: made.body.run_id },
  ]);
  expect(await rowsOf(world, 'select target from outbox where dedupe_key = ?', [`ingest:${made.body.id}:1`])).toHaveLength(1);
});

test.each([
  [{}, ''],
  [{ text, url: 'https://example.com' }, ''],
  [{ text: '' }, '/text'],
  [{ text: 'x'.repeat(1_000_001) }, '/text'],
  [{ text: 7 }, '/text'],
  [{ url: 'ftp://example.com' }, '/url'],
  [{ url: 'https://a:b@example.com' }, '/url'],
  [{ attachment_id: newId() }, '/attachment_id'],
  [{ text, metadata: { deep: { a: 1 } } }, '/metadata'],
  [{ text, kind: 'page' }, '/kind'],
])('a source of %j is refused at %s', async (body, pointer) => {
  const tenant = await world.tenant();
  const kbId = await makeBase(world, tenant);

  const refused = await world.call(tenant.tokens.member, 'POST', `/knowledge-bases/${kbId}/sources`, { body });

  expect(refused.status).toBe(422);
  expect(refused.body.errors[0].pointer).toBe(pointer);
});

test('sources of another tenant, of a private base and of a viewer are refused; a frozen base takes none', async () => {
  const [tenant, other] = [await world.tenant(), await world.tenant()];
  const kbId = await makeBase(world, tenant);
  const hidden = await makeBase(world, tenant, { isPrivate: true });
  const id = await sourceOf(tenant.tokens.member, kbId);
  await end(id);

  const statuses = async (token: string) => [
    (await world.call(token, 'GET', `/knowledge-sources/${id}`)).status,
    (await world.call(token, 'POST', `/knowledge-sources/${id}/sync`)).status,
    (await world.call(token, 'DELETE', `/knowledge-sources/${id}`)).status,
  ];
  expect(await statuses(other.tokens.owner)).toEqual([404, 404, 404]);
  expect(await statuses(tenant.tokens.viewer)).toEqual([200, 403, 403]);
  expect((await world.call(tenant.tokens.member, 'POST', `/knowledge-bases/${hidden}/sources`, { body: { text } })).status).toBe(404);

  await changeRows(world, 'update knowledge_bases set is_frozen = true where id = ?', [kbId]);
  expect(await statuses(tenant.tokens.member)).toEqual([200, 423, 423]);
  expect((await world.call(tenant.tokens.member, 'POST', `/knowledge-bases/${kbId}/sources`, { body: { text } })).status).toBe(423);
});

test('a source that a run is at work on is neither synced nor deleted; two syncs at once start one run', async () => {
  const tenant = await world.tenant();
  const { tokens } = tenant;
  const id = await sourceOf(tokens.member, await makeBase(world, tenant));

  expect((await world.call(tokens.member, 'POST', `/knowledge-sources/${id}/sync`)).body).toMatchObject({
    code: 'state_conflict',
    context: { reason: 'run_in_progress' },
  });
  expect((await world.call(tokens.member, 'DELETE', `/knowledge-sources/${id}`)).status).toBe(409);
  await end(id);
  const twice = await Promise.all([1, 2].map(() => world.call(tokens.member, 'POST', `/knowledge-sources/${id}/sync`)));

  expect(twice.map(({ status }) => status).toSorted()).toEqual([202, 409]);
  expect(await rowsOf(world, `select id from knowledge_runs where source_id = ? and status = 'queued'`, [id])).toHaveLength(1);
});

test('a sync of bytes that were read with these settings starts nothing', async () => {
  const tenant = await world.tenant();
  const id = await sourceOf(tenant.tokens.member, await makeBase(world, tenant));
  await end(id);
  await changeRows(world, `update knowledge_sources set extractor = 'longhaul-1/400/40' where id = ?`, [id]);

  const synced = await world.call(tenant.tokens.member, 'POST', `/knowledge-sources/${id}/sync`);

  expect([synced.status, synced.body.state]).toEqual([202, 'ready']);
  expect(await rowsOf(world, 'select id from knowledge_runs where source_id = ?', [id])).toHaveLength(1);
});
