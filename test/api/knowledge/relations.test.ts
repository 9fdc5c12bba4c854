import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openWorld, type World } from '../world.ts';
import { changeRows, makeBase, makeItem, rowsOf } from './knowledge-fixture.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

interface Item {
  readonly id: string;
}

async function openItems(count: number) {
  const tenant = await world.tenant();
  const kbId = await makeBase(world, tenant);
  const { tokens } = tenant;
  const items: Item[] = [];
  for (let at = 0; at < count; at += 1) items.push(await makeItem(world, tokens.member, kbId));
  const link = (from: Item | undefined, to: Item | undefined, type = 'related') =>
    world.call(tokens.member, 'POST', `/knowledge-items/${from?.id}/relations`, { body: { to_item_id: to?.id, type } });
  const walk = async (from: Item | undefined, filter = '') =>
    (await world.call(tokens.viewer, 'GET', `/knowledge-items/${from?.id}/relations?${filter}`)).body.items;
  return { tenant, tokens, kbId, items, link, walk };
}

test('relations are followed by direction, type and depth, each once', async () => {
  const { items, link, walk } = await openItems(4);
  const [a, b, c, d] = items;
  await link(a, b);
  await link(b, c, 'supports');
  await link(d, c);
  await link(c, a);
  const depths = async (filter: string) =>
    (await walk(a, filter))
      .map((one: { from_item_id: string; depth: number }) => `${'abcd'[items.findIndex(({ id }) => id === one.from_item_id)]}${one.depth}`)
      .toSorted();

  expect(await depths('')).toEqual(['a1', 'c1']);
  expect(await depths('direction=out')).toEqual(['a1']);
  expect(await depths('direction=in')).toEqual(['c1']);
  expect(await depths('direction=out&depth=3')).toEqual(['a1', 'b2', 'c3']);
  expect(await depths('depth=2')).toEqual(['a1', 'b2', 'c1', 'd2']);
  expect(await depths('depth=3&type=related')).toEqual(['a1', 'c1', 'd2']);
});

test('a relation links two live items of a base, once a type', async () => {
  const { tenant, tokens, items, link } = await openItems(3);
  const [a, b, gone] = items;
  const elsewhere = await makeItem(world, tokens.member, await makeBase(world, tenant));
  await world.call(tokens.member, 'DELETE', `/knowledge-items/${gone?.id}`);

  const made = await link(a, b);
  expect(made).toMatchObject({ status: 201, body: { from_item_id: a?.id, to_item_id: b?.id, type: 'related', note: null, depth: 1 } });
  expect((await link(a, b)).body.code).toBe('already_exists');
  expect((await link(a, b, 'supports')).status).toBe(201);
  expect((await link(b, a)).status).toBe(201);
  for (const end of [a, gone, elsewhere, { id: crypto.randomUUID() }])
    expect(await link(a, end)).toMatchObject({ status: 422, body: { errors: [{ pointer: '/to_item_id' }] } });
  expect((await link(gone, b)).status).toBe(404);
  expect((await link(a, b, 'likes')).status).toBe(422);
  const path = `/knowledge-relations/${made.body.id}`;
  expect((await world.call(tokens.viewer, 'DELETE', path)).status).toBe(403);
  expect((await world.call(tokens.member, 'DELETE', path)).status).toBe(204);
  expect((await world.call(tokens.member, 'DELETE', path)).status).toBe(404);
});

test('a link and a delete of its end at once leave no relation to a deleted item', async () => {
  const { tokens, kbId, items, link } = await openItems(9);
  const [from, ...ends] = items;

  await Promise.all(ends.flatMap((end) => [link(from, end), world.call(tokens.member, 'DELETE', `/knowledge-items/${end.id}`)]));

  const orphans = await rowsOf(
    world,
    'select 1 from knowledge_relations r join knowledge_items i on i.id in (r.from_item_id, r.to_item_id) where r.kb_id = ? and i.deleted_at is not null',
    [kbId],
  );
  expect(orphans).toEqual([]);
});

test('a walk ends at 200 relations, the nearest first', async () => {
  const { kbId, items, tenant, tokens, walk } = await openItems(1);
  const [hub] = items;
  await changeRows(
    world,
    `with made as (insert into knowledge_items (id, kb_id, organization_id, workspace_id, kind, content, content_hash, origin, trust, curation_state, created_by)
       select gen_random_uuid(), ?, ?, ?, 'document', n::text, n::text, 'human', 'workspace', 'reviewed', '{"kind":"system","id":null}' from generate_series(1, 300) n returning id)
     insert into knowledge_relations (id, kb_id, organization_id, workspace_id, from_item_id, to_item_id, type, created_by)
       select gen_random_uuid(), ?, ?, ?, ?, made.id, 'related', '{"kind":"system","id":null}' from made`,
    [kbId, tenant.organizationId, tenant.workspaceId, kbId, tenant.organizationId, tenant.workspaceId, hub?.id],
  );

  const found = await walk(hub, 'depth=3&limit=200');
  // A page holds 200 at most: whether the walk went on shows in its total.
  const { total } = (await world.call(tokens.viewer, 'GET', `/knowledge-items/${hub?.id}/relations?depth=3&offset=0&limit=1`)).body;

  expect([found.length, total]).toEqual([200, 200]);
  expect(new Set(found.map(({ depth }: { depth: number }) => depth))).toEqual(new Set([1]));
});

test('the pages of a walk hold each relation once, in its order', async () => {
  const { tokens, items, link, walk } = await openItems(5);
  const [a, b, c, d, e] = items;
  await link(a, b);
  await link(a, c);
  await link(b, d);
  await link(d, e);
  const ids = (page: { id: string }[]) => page.map(({ id }) => id);
  const whole = ids(await walk(a, 'depth=3'));

  const paged: string[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const path = `/knowledge-items/${a?.id}/relations?depth=3&limit=1${cursor === '' ? '' : `&cursor=${cursor}`}`;
    const { body } = await world.call(tokens.viewer, 'GET', path);
    paged.push(...ids(body.items));
    cursor = body.next_cursor;
  }

  expect(whole).toHaveLength(4);
  expect(paged).toEqual(whole);
  expect(ids(await walk(a, 'depth=3&limit=2&offset=2'))).toEqual(whole.slice(2));
});
