import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../../db/ids.ts';
import { upload } from '../attachments/uploads.ts';
import { openWorld, type World } from '../world.ts';
import { freeSlug, makeBase } from './base-calls.ts';
import { changeRows, makeItem, plantFinding, rowsOf } from './knowledge-fixture.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

async function openBase() {
  const tenant = await world.tenant();
  const base = await makeBase(world, tenant.tokens.admin);
  const post = (path: string, body?: unknown, headers: Record<string, string> = {}) =>
    world.call(tenant.tokens.admin, 'POST', path, { ...(body === undefined ? {} : { body }), headers });
  const file = String((await upload(world, tenant.tokens.admin, '{"type":"header"}', { filename: 'bundle.jsonl' })).body['id']);
  return { tenant, base, post, file, path: `/knowledge-bases/${base.id}` };
}

test.each<[string, Record<string, unknown>, string]>([
  ['export', { include_vectors: 'yes' }, '/include_vectors'],
  ['export', { include_grants: 1 }, '/include_grants'],
  ['export', { vectors: true }, '/vectors'],
  ['import', {}, '/attachment_id'],
  ['import', { attachment_id: 'x' }, '/attachment_id'],
  ['import', { attachment_id: newId() }, '/attachment_id'],
  ['import', { mode: 'replace' }, '/mode'],
  ['import', { mode: 7 }, '/mode'],
  ['import', { dry_run: 'no' }, '/dry_run'],
  ['import', { keep_state: null }, '/keep_state'],
  ['import', { url: 'https://example.com' }, '/url'],
  ['reembed', {}, '/slug'],
  ['reembed', { slug: 'Not one' }, '/slug'],
  ['reembed', { slug: 'x'.repeat(121) }, '/slug'],
  ['reembed', { slug: 'x', embedding_model: 7 }, '/embedding_model'],
  ['reembed', { slug: 'x', name: 'Other' }, '/name'],
  ['maintenance-runs', { tasks: ['verify'], item_ids: [] }, '/item_ids'],
  ['maintenance-runs', { tasks: ['verify'], kb_id: newId() }, '/kb_id'],
])('%s with %j is refused at %s, and starts nothing', async (what, body, pointer) => {
  const { base, post, path, file } = await openBase();
  const whole = what === 'import' && Object.keys(body).length > 0 && !('attachment_id' in body) ? { attachment_id: file, ...body } : body;

  const refused = await post(`${path}/${what}`, whole);

  expect([refused.status, refused.body.code]).toEqual([422, 'validation_failed']);
  expect(refused.body.errors.map((error: { pointer: string }) => error.pointer)).toContain(pointer);
  expect(await rowsOf(world, 'select id from knowledge_runs where kb_id = ?', [base.id])).toEqual([]);
});

test('of imports at once one begins; exports go beside each other and beside it, and nothing beside a purge', async () => {
  const { base, post, path, file } = await openBase();
  const imports = [1, 2, 3].map(() => post(`${path}/import`, { attachment_id: file }));

  const begun = await Promise.all(imports);
  const exports = await Promise.all([1, 2].map(() => post(`${path}/export`, {})));
  const purged = await post(`${path}/purge`, { confirm: base.slug, mode: 'tombstones' });
  await changeRows(world, "update knowledge_runs set kind = 'purge' where kb_id = ? and kind = 'import'", [base.id]);
  const beside = [await post(`${path}/export`, {}), await post(`${path}/import`, { attachment_id: file })];

  expect(begun.map(({ status }) => status).toSorted()).toEqual([202, 409, 409]);
  expect(exports.map(({ status }) => status)).toEqual([202, 202]);
  for (const { status, body } of [...begun.filter((one) => one.status === 409), purged, ...beside])
    expect([status, body.context.reason]).toEqual([409, 'run_in_progress']);
});

test('a repeat under the same key starts no second run, and another body under it is refused', async () => {
  const { base, post, path, file } = await openBase();

  for (const [what, body, other] of [
    ['export', {}, { include_grants: true }],
    ['import', { attachment_id: file }, { attachment_id: file, dry_run: true }],
    ['maintenance-runs', { tasks: ['verify'] }, { tasks: ['decay'] }],
  ] as const) {
    const headers = { 'idempotency-key': newId() };
    const [first, again, changed] = [
      await post(`${path}/${what}`, body, headers),
      await post(`${path}/${what}`, body, headers),
      await post(`${path}/${what}`, other, headers),
    ];
    expect([what, first.status, again.body, again.headers['idempotency-replayed']]).toEqual([what, 202, first.body, 'true']);
    expect([changed.status, changed.body.code]).toEqual([422, 'idempotency_key_mismatch']);
  }
  expect(await rowsOf(world, 'select id from knowledge_runs where kb_id = ?', [base.id])).toHaveLength(3);
});

test('a run is cancelled once, by several at once too; one that has ended or has cut over is not', async () => {
  const { base, post, path } = await openBase();
  const { id } = (await post(`${path}/maintenance-runs`, { tasks: ['verify'] })).body;
  const cancel = () => post(`/knowledge-maintenance-runs/${id}/cancel`);
  const set = (columns: string) => changeRows(world, `update knowledge_runs set ${columns} where id = ?`, [id]);

  const several = await Promise.all([cancel(), cancel(), cancel()]);
  const sent = await rowsOf(world, 'select id from outbox where dedupe_key = ?', [`cancel:${id}`]);
  await set("status = 'running', cut_over_at = now()");
  const over = await cancel();
  await set("status = 'succeeded', finished_at = now()");
  const ended = await cancel();

  expect(several.map(({ status, body }) => [status, body.status])).toEqual(several.map(() => [202, 'cancelling']));
  expect(sent).toHaveLength(1);
  expect([over, ended].map(({ status, body }) => [status, body.context.reason])).toEqual([
    [409, 'cut_over'],
    [409, 'already_terminal'],
  ]);
  expect((await world.call((await world.tenant()).tokens.admin, 'GET', `/knowledge-bases/${base.id}`)).status).toBe(404);
});

test.each<[Record<string, unknown>, string]>([
  [{}, '/action'],
  [{ action: 'delete' }, '/action'],
  [{ action: 'dismiss', reason: 'x'.repeat(501) }, '/reason'],
  [{ action: 'dismiss', reason: 7 }, '/reason'],
  [{ action: 'dismiss', item_id: 'first' }, '/item_id'],
  [{ action: 'retire' }, '/item_id'],
  [{ action: 'retire', item_id: 'x' }, '/item_id'],
  [{ action: 'retire', item_id: newId() }, '/item_id'],
  [{ action: 'merge' }, '/keep_item_id'],
  [{ action: 'merge', keep_item_id: newId() }, '/keep_item_id'],
  [{ action: 'keep_both', keep_item_id: 'first' }, '/keep_item_id'],
  [{ action: 'dismiss', state: 'open' }, '/state'],
])('a resolution of %j is refused at %s, and the finding stays open', async (body, pointer) => {
  const { tenant, base, post } = await openBase();
  const [one, two] = [await makeItem(world, tenant.tokens.admin, base.id), await makeItem(world, tenant.tokens.admin, base.id)];
  const finding = await plantFinding(world, tenant, { kbId: base.id, itemIds: [one.id, two.id] });
  const named = Object.fromEntries(Object.entries(body).map(([name, value]) => [name, value === 'first' ? one.id : value]));

  const refused = await post(`/knowledge-findings/${finding}/resolve`, named);

  expect([refused.status, refused.body.code]).toEqual([422, 'validation_failed']);
  expect(refused.body.errors.map((error: { pointer: string }) => error.pointer)).toContain(pointer);
  expect(await rowsOf(world, 'select state from knowledge_findings where id = ?', [finding])).toEqual([{ state: 'open' }]);
});

test('the slug of a base is free for a re-embed, or 409; a model that the deployment does not have is named', async () => {
  const { base, post, path } = await openBase();
  const other = freeSlug();
  await post('/knowledge-bases', { slug: other, name: 'Other', embedding_model: 'none' });

  const taken = await Promise.all([base.slug, other].map((slug) => post(`${path}/reembed`, { slug })));
  const unknown = await post(`${path}/reembed`, { slug: freeSlug(), embedding_model: 'no-such' });

  expect(taken.map(({ status, body }) => [status, body.code])).toEqual(taken.map(() => [409, 'already_exists']));
  expect([unknown.status, unknown.body.context.reason]).toEqual([422, 'unknown_embedding_model']);
  expect((await world.call((await world.tenant()).tokens.admin, 'POST', `${path}/reembed`, { body: { slug: 'x' } })).status).toBe(404);
});
