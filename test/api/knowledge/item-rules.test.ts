import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openWorld, type World } from '../world.ts';
import { changeRows, makeBase, makeItem, numbersOf } from './knowledge-fixture.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const big = Object.fromEntries(Array.from({ length: 51 }, (_, at) => [`k${at}`, at]));

test.each<[string, Record<string, unknown>, string]>([
  ['no content', { content: undefined }, '/content'],
  ['an empty content', { content: '' }, '/content'],
  ['a content over its bound', { content: 'a'.repeat(200_001) }, '/content'],
  ['a content that is no text', { content: 3 }, '/content'],
  ['U+0000', { content: 'a\u0000b' }, '/content'],
  ['a lone surrogate', { content: 'a\uD800b' }, '/content'],
  ['a title over its bound', { title: 'a'.repeat(301) }, '/title'],
  ['an unknown kind', { kind: 'note' }, '/kind'],
  ['31 tags', { tags: Array.from({ length: 31 }, (_, at) => `t${at}`) }, '/tags'],
  ['a tag of 61', { tags: ['a'.repeat(61)] }, '/tags/0'],
  ['51 metadata', { metadata: big }, '/metadata'],
  ['metadata over 16 KiB', { metadata: { a: 'a'.repeat(16_400) } }, '/metadata'],
  ['metadata with an object', { metadata: { a: {} } }, '/metadata'],
  ['half a fact', { fact: { subject: 'a', relation: 'b' } }, '/fact/object'],
  ['evidence of an unknown kind', { evidence: [{ kind: 'book', ref: 'x' }] }, '/evidence/0/kind'],
  ['51 pieces of evidence', { evidence: Array.from({ length: 51 }, () => ({ kind: 'url', ref: 'x' })) }, '/evidence'],
  ['a validity that ends before it begins', { valid_from: '2026-02-01T00:00:00Z', valid_until: '2026-01-01T00:00:00Z' }, '/valid_until'],
  ['a time that is none', { observed_at: 'yesterday' }, '/observed_at'],
  ['a promoted state', { curation_state: 'promoted' }, '/curation_state'],
  ['an unknown field', { version: 2 }, '/version'],
])('an item with %s is 422', async (_name, extra, pointer) => {
  const tenant = await world.tenant();
  const kbId = await makeBase(world, tenant);

  const answer = await world.call(tenant.tokens.member, 'POST', `/knowledge-bases/${kbId}/items`, { body: { content: 'Text', ...extra } });

  expect(answer).toMatchObject({ status: 422, body: { errors: [{ pointer }] } });
});

test('a base of another tenant, a random one and a deleted one are 404 on every path', async () => {
  const [tenant, other] = [await world.tenant(), await world.tenant()];
  const kbId = await makeBase(world, tenant);
  const item = await makeItem(world, tenant.tokens.member, kbId);
  const target = await makeItem(world, tenant.tokens.member, kbId);
  const link = { body: { to_item_id: target.id, type: 'related' } };
  const relation = await world.call(tenant.tokens.member, 'POST', `/knowledge-items/${item.id}/relations`, link);
  const paths = (id: string, itemId: string) =>
    [
      ['GET', `/knowledge-bases/${id}/items`],
      ['POST', `/knowledge-bases/${id}/items`, { content: 'x' }],
      ['POST', `/knowledge-bases/${id}/items/batch`, { items: [{ content: 'x' }] }],
      ['POST', `/knowledge-bases/${id}/items/curate`, { item_ids: [itemId], curation_state: 'retired' }],
      ['GET', `/knowledge-items/${itemId}`],
      ['PATCH', `/knowledge-items/${itemId}`, { content: 'y' }],
      ['DELETE', `/knowledge-items/${itemId}`],
      ['POST', `/knowledge-items/${itemId}/restore`],
      ['POST', `/knowledge-items/${itemId}/curate`, { curation_state: 'retired' }],
      ['GET', `/knowledge-items/${itemId}/versions`],
      ['GET', `/knowledge-items/${itemId}/chunks`],
      ['GET', `/knowledge-items/${itemId}/relations`],
      ['POST', `/knowledge-items/${itemId}/relations`, { to_item_id: target.id, type: 'supports' }],
      ['DELETE', `/knowledge-relations/${relation.body.id}`],
    ] as const;
  const statuses = async (token: string, id = kbId, itemId: string = item.id) => {
    const found: number[] = [];
    for (const [method, path, body] of paths(id, itemId)) found.push((await world.call(token, method, path, { body })).status);
    return new Set(found);
  };

  expect(await statuses(other.tokens.owner)).toEqual(new Set([404]));
  await changeRows(world, 'update knowledge_bases set deleted_at = now() where id = ?', [kbId]);
  expect(await statuses(tenant.tokens.owner)).toEqual(new Set([404]));
});

test('a private base is 404 to those without a right, and its content 403 to its admins until they hold a grant', async () => {
  const tenant = await world.tenant();
  const kbId = await makeBase(world, tenant, { isPrivate: true });
  const grant = (principalId: string, access: string) =>
    changeRows(
      world,
      `insert into knowledge_grants (id, kb_id, organization_id, workspace_id, principal_kind, principal_id, access) values (gen_random_uuid(), ?, ?, ?, 'user', ?, ?)`,
      [kbId, tenant.organizationId, tenant.workspaceId, principalId, access],
    );
  await grant(tenant.users.member.id, 'write');
  const item = await makeItem(world, tenant.tokens.member, kbId);
  const status = async (token: string, method: 'GET' | 'DELETE' = 'GET') =>
    (await world.call(token, method, `/knowledge-items/${item.id}`)).status;

  expect(await status(tenant.tokens.member)).toBe(200);
  expect(await status(tenant.tokens.viewer)).toBe(404);
  expect(await status(tenant.tokens.admin)).toBe(403);
  expect(
    (await world.call(tenant.tokens.member, 'POST', `/knowledge-items/${item.id}/curate`, { body: { curation_state: 'retired' } })).status,
  ).toBe(403);
  await grant(tenant.users.admin.id, 'read');
  expect(await status(tenant.tokens.admin)).toBe(200);
  expect(await status(tenant.tokens.admin, 'DELETE')).toBe(403);
  await changeRows(world, "update knowledge_grants set expires_at = now() - interval '1 s' where kb_id = ?", [kbId]);
  expect(await status(tenant.tokens.member)).toBe(404);
});

test('a frozen base takes no change of its content: 423 with the reason, and can be read', async () => {
  const tenant = await world.tenant();
  const { tokens } = tenant;
  const kbId = await makeBase(world, tenant);
  const successor = await makeBase(world, tenant);
  const item = await makeItem(world, tokens.member, kbId);
  const writes = async () => [
    await world.call(tokens.member, 'POST', `/knowledge-bases/${kbId}/items`, { body: { content: 'x' } }),
    await world.call(tokens.member, 'POST', `/knowledge-bases/${kbId}/items/batch`, { body: { items: [{ content: 'x' }] } }),
    await world.call(tokens.admin, 'POST', `/knowledge-bases/${kbId}/items/curate`, {
      body: { item_ids: [item.id], curation_state: 'retired' },
    }),
    await world.call(tokens.member, 'PATCH', `/knowledge-items/${item.id}`, { body: { content: 'y' } }),
    await world.call(tokens.member, 'DELETE', `/knowledge-items/${item.id}`),
    await world.call(tokens.admin, 'POST', `/knowledge-items/${item.id}/restore`),
    await world.call(tokens.member, 'POST', `/knowledge-items/${item.id}/curate`, { body: { curation_state: 'retired' } }),
  ];

  await changeRows(world, 'update knowledge_bases set is_frozen = true where id = ?', [kbId]);
  for (const { status, body } of await writes())
    expect([status, body.code, body.context.reason]).toEqual([423, 'resource_frozen', 'frozen']);
  await changeRows(world, 'update knowledge_bases set successor_id = ? where id = ?', [successor, kbId]);
  for (const { status, body } of await writes())
    expect([status, body.context]).toEqual([423, { reason: 'superseded', successor_id: successor }]);
  expect((await world.call(tokens.viewer, 'GET', `/knowledge-items/${item.id}`)).status).toBe(200);
  const { counted, real } = await numbersOf(world, kbId);
  expect(counted).toEqual(real);
});

test('what is there already is given, refused or allowed; of several at once one is made', async () => {
  const tenant = await world.tenant();
  const kbId = await makeBase(world, tenant);
  const create = (body: object) => world.call(tenant.tokens.member, 'POST', `/knowledge-bases/${kbId}/items`, { body });

  const atOnce = await Promise.all(Array.from({ length: 6 }, () => create({ content: 'Same\ntext', external_id: 'one' })));
  const first = atOnce.find(({ status }) => status === 201)?.body;
  const sameText = await create({ content: 'Same\r\ntext' });
  const sameId = await create({ content: 'Other text', external_id: 'one' });
  const rejected = await create({ content: 'Same\ntext', on_duplicate: 'reject' });
  const allowed = await create({ content: 'Same\ntext', on_duplicate: 'allow' });
  const allowedId = await create({ content: 'Third text', external_id: 'one', on_duplicate: 'allow' });

  expect(atOnce.map(({ status }) => status).toSorted()).toEqual([200, 200, 200, 200, 200, 201]);
  expect(new Set(atOnce.map(({ body }) => body.id))).toEqual(new Set([first.id]));
  expect([sameText.status, sameText.body.id, sameId.status, sameId.body.id]).toEqual([200, first.id, 200, first.id]);
  expect([rejected.status, rejected.body.code]).toEqual([409, 'already_exists']);
  expect([allowed.status, allowedId.status]).toEqual([201, 409]);
  const { counted, real } = await numbersOf(world, kbId);
  expect(counted).toEqual(real);
  expect(counted).toMatchObject({ reviewed: 2 });
});

test('a batch creates each item for itself, in its order', async () => {
  const tenant = await world.tenant();
  const kbId = await makeBase(world, tenant);
  const there = await makeItem(world, tenant.tokens.member, kbId, { content: 'There already' });
  const items = [
    { content: 'First' },
    { content: 'There already' },
    { content: 'Bad', valid_from: '2026-02-01T00:00:00Z', valid_until: '2026-01-01T00:00:00Z' },
    { content: 'First' },
    { content: 'Last', title: 'Title' },
  ];
  const send = (body: object) => world.call(tenant.tokens.member, 'POST', `/knowledge-bases/${kbId}/items/batch`, { body });

  const { status, body } = await send({ items });
  const again = await send({ items: [{ content: 'Last' }], on_duplicate: 'reject' });

  const [first, , , , last] = body.outcomes;
  expect(status).toBe(200);
  expect(body).toMatchObject({ created: 2, existing: 2, failed: 1 });
  expect(body.outcomes).toMatchObject([
    { index: 0, status: 'created', error: null },
    { index: 1, status: 'existing', item_id: there.id },
    { index: 2, status: 'failed', item_id: null, error: 'validation_failed' },
    { index: 3, status: 'existing', item_id: first.item_id },
    { index: 4, status: 'created' },
  ]);
  expect((await world.call(tenant.tokens.viewer, 'GET', `/knowledge-items/${last.item_id}`)).body).toMatchObject({
    content: 'Last',
    title: 'Title',
    index_state: 'ready',
  });
  expect(again.body).toMatchObject({ failed: 1, outcomes: [{ status: 'failed', error: 'already_exists' }] });
  expect((await send({ items: [] })).status).toBe(422);
  expect((await send({ items: Array.from({ length: 501 }, () => ({ content: 'x' })) })).status).toBe(422);
  const { counted, real, terms } = await numbersOf(world, kbId);
  expect([counted, terms]).toEqual([real, 0]);
});

test('lists filter, and show what is deleted to admins alone', async () => {
  const tenant = await world.tenant();
  const { tokens } = tenant;
  const kbId = await makeBase(world, tenant, { kind: 'memory' });
  const old = await makeItem(world, tokens.member, kbId, { valid_from: '2020-01-01T00:00:00Z', valid_until: '2021-01-01T00:00:00Z' });
  const gone = await makeItem(world, tokens.member, kbId, { tags: ['x'] });
  const pending = await makeItem(world, tokens.member, kbId, { curation_state: 'pending', tags: ['x'] });
  await world.call(tokens.member, 'DELETE', `/knowledge-items/${gone.id}`);
  const ids = async (filter: string, token = tokens.viewer) =>
    (await world.call(token, 'GET', `/knowledge-bases/${kbId}/items?${filter}`)).body.items?.map(({ id }: { id: string }) => id);

  expect(old.kind).toBe('fact');
  expect(await ids('')).toEqual([pending.id, old.id]);
  expect(await ids('tag=x')).toEqual([pending.id]);
  expect(await ids('curation_state=pending')).toEqual([pending.id]);
  expect(await ids('valid_at=2020-06-01T00:00:00Z')).toEqual([pending.id, old.id]);
  expect(await ids('valid_at=2021-01-01T00:00:00Z')).toEqual([pending.id]);
  expect(await ids('include_deleted=true', tokens.admin)).toEqual([pending.id, gone.id, old.id]);
  expect((await world.call(tokens.member, 'GET', `/knowledge-bases/${kbId}/items?include_deleted=true`)).status).toBe(403);
});
