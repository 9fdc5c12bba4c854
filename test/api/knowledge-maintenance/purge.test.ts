import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../../db/ids.ts';
import { freeSlug, grant, makeBase } from '../knowledge/base-calls.ts';
import { changeRows, rowsOf } from '../knowledge/knowledge-fixture.ts';
import { openWorld, type World } from '../world.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const purge = (token: string, kbId: string, body: object, headers = {}) =>
  world.call(token, 'POST', `/knowledge-bases/${kbId}/purge`, { body, headers });

test('a purge is queued with its run, its workflow and an entry in the log; all freezes the base', async () => {
  const { tokens } = await world.tenant();
  const base = await makeBase(world, tokens.admin);

  const made = await purge(tokens.admin, base.id, { confirm: base.slug, mode: 'all' });

  expect([made.status, made.headers['location']]).toEqual([202, `/knowledge-maintenance-runs/${made.body.id}`]);
  expect(made.body).toMatchObject({ kb_id: base.id, kind: 'purge', status: 'queued', counts: {}, result: null });
  expect(await rowsOf(world, 'select target from outbox where dedupe_key = ?', [`maint:${made.body.id}`])).toHaveLength(1);
  expect(
    await rowsOf(world, "select operation_id, changes from audit_entries where resource_id = ? and action = 'purge'", [base.id]),
  ).toMatchObject([{ operation_id: 'purgeKnowledgeBase', changes: { mode: { to: 'all' } } }]);
  expect((await world.call(tokens.admin, 'GET', `/knowledge-bases/${base.id}`)).body.is_frozen).toBe(true);
});

test.each([
  [{}, '/confirm'],
  [{ confirm: 'another', mode: 'all' }, '/confirm'],
  [{ mode: 'everything' }, '/mode'],
  [{ mode: 7 }, '/mode'],
  [{ mode: 'items' }, '/item_ids'],
  [{ mode: 'items', item_ids: [] }, '/item_ids'],
  [{ mode: 'items', item_ids: ['x'] }, '/item_ids/0'],
  [{ mode: 'items', item_ids: [newId()] }, '/item_ids/0'],
  [{ mode: 'items', item_ids: Array.from({ length: 1_001 }, newId) }, '/item_ids'],
  [{ mode: 'all', item_ids: [newId()] }, '/item_ids'],
  [{ mode: 'subject' }, '/subject_id'],
  [{ mode: 'subject', subject_kind: 'user' }, '/subject_id'],
  [{ mode: 'subject', subject_kind: 'guest', subject_id: 'x'.repeat(201) }, '/subject_id'],
  [{ mode: 'all', subject_kind: 'guest', subject_id: 'g' }, '/subject_kind'],
  [{ mode: 'tombstones', older_than_days: 3_651 }, '/older_than_days'],
  [{ mode: 'all', older_than_days: 1 }, '/older_than_days'],
  [{ mode: 'all', more: 1 }, ''],
])('422 for %j', async (body, pointer) => {
  const { tokens } = await world.tenant();
  const base = await makeBase(world, tokens.admin);

  const refused = await purge(tokens.admin, base.id, { ...('mode' in body ? { confirm: base.slug } : {}), ...body });

  expect([refused.status, refused.body.code]).toEqual([422, 'validation_failed']);
  expect(refused.body.errors.map((error: { pointer: string }) => error.pointer)).toContain(pointer === '' ? '/more' : pointer);
  expect(await rowsOf(world, 'select id from knowledge_runs where kb_id = ?', [base.id])).toEqual([]);
});

test('items of another base and another tenant are no items of this one', async () => {
  const [own, foreign] = [await world.tenant(), await world.tenant()];
  const base = await makeBase(world, own.tokens.admin);
  const [sibling, other] = [await makeBase(world, own.tokens.admin), await makeBase(world, foreign.tokens.admin)];
  const itemIn = async (token: string, kbId: string) =>
    (await world.call(token, 'POST', `/knowledge-bases/${kbId}/items`, { body: { content: 'x' } })).body.id;

  for (const id of [await itemIn(own.tokens.admin, sibling.id), await itemIn(foreign.tokens.admin, other.id)]) {
    const refused = await purge(own.tokens.admin, base.id, { confirm: base.slug, mode: 'items', item_ids: [id] });
    expect([refused.status, refused.body.errors[0].rule]).toEqual([422, 'reference']);
  }
  expect((await purge(own.tokens.admin, other.id, { confirm: other.slug, mode: 'all' })).status).toBe(404);
});

test('an admin purges a private base without a grant, a member never; a frozen base is purged', async () => {
  const { tokens } = await world.tenant();
  const base = await makeBase(world, tokens.member, { is_private: true });
  const frozen = await makeBase(world, tokens.admin);
  await world.call(tokens.admin, 'PATCH', `/knowledge-bases/${frozen.id}`, { body: { is_frozen: true } });

  expect((await purge(tokens.member, base.id, { confirm: base.slug, mode: 'tombstones' })).status).toBe(403);
  expect((await purge(tokens.admin, base.id, { confirm: base.slug, mode: 'tombstones' })).status).toBe(202);
  expect((await purge(tokens.admin, frozen.id, { confirm: frozen.slug, mode: 'tombstones' })).status).toBe(202);
});

test('of two at once one is refused, and none begins beside another run or a re-embed', async () => {
  const { tokens } = await world.tenant();
  const base = await makeBase(world, tokens.admin, { slug: freeSlug() });
  const body = { confirm: base.slug, mode: 'tombstones' };

  const both = await Promise.all([purge(tokens.admin, base.id, body), purge(tokens.admin, base.id, body)]);
  await changeRows(world, "update knowledge_runs set kind = 'reembed' where kb_id = ?", [base.id]);
  const during = await purge(tokens.admin, base.id, body);

  expect(both.map(({ status }) => status).toSorted()).toEqual([202, 409]);
  expect(both.find(({ status }) => status === 409)?.body.context.reason).toBe('run_in_progress');
  expect([during.status, during.body.context.reason]).toEqual([409, 'reembed_in_progress']);
});

test('a repeat under the same key starts no second purge', async () => {
  const { tokens } = await world.tenant();
  const base = await makeBase(world, tokens.admin);
  const headers = { 'idempotency-key': crypto.randomUUID() };

  const first = await purge(tokens.admin, base.id, { confirm: base.slug, mode: 'tombstones' }, headers);
  const again = await purge(tokens.admin, base.id, { confirm: base.slug, mode: 'tombstones' }, headers);

  expect([first.status, again.status, again.headers['idempotency-replayed'], again.body]).toEqual([202, 202, 'true', first.body]);
});

test('whoever has a grant to manage and is no admin of the place has not the floor', async () => {
  const { tokens } = await world.tenant();
  const base = await makeBase(world, tokens.admin, { is_private: true });
  await grant(world, tokens.admin, base.id, { principal_kind: 'role', role: 'member', access: 'manage' });

  expect((await purge(tokens.member, base.id, { confirm: base.slug, mode: 'all' })).status).toBe(403);
});
