import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { openWorld, type World } from '../world.ts';
import { changeRows, makeBase, makeItem, numbersOf, plantFinding } from './knowledge-fixture.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const states = ['pending', 'reviewed', 'promoted', 'superseded', 'retired'] as const;
const allowed = new Set([
  'pending reviewed',
  'pending superseded',
  'pending retired',
  'reviewed promoted',
  'reviewed superseded',
  'reviewed retired',
  'promoted superseded',
  'promoted retired',
  'retired reviewed',
]);
/** How a new item gets to each state. */
const paths: Readonly<Record<(typeof states)[number], readonly (typeof states)[number][]>> = {
  pending: [],
  reviewed: ['reviewed'],
  promoted: ['reviewed', 'promoted'],
  superseded: ['superseded'],
  retired: ['retired'],
};

async function openBase() {
  const tenant = await world.tenant();
  const kbId = await makeBase(world, tenant);
  const { tokens } = tenant;
  const successor = await makeItem(world, tokens.member, kbId);
  const curate = (id: string, to: string, { token = tokens.admin, by = successor.id }: { token?: string; by?: string | null } = {}) => {
    const body = { curation_state: to, ...(to === 'superseded' && by !== null ? { superseded_by_id: by } : {}) };
    return world.call(token, 'POST', `/knowledge-items/${id}/curate`, { body });
  };
  return { tenant, tokens, kbId, successor, curate };
}

test('the states of an item are left by the moves of a curator alone; every other is 409', async () => {
  const { tokens, kbId, curate } = await openBase();

  for (const from of states) {
    for (const to of states) {
      const item = await makeItem(world, tokens.member, kbId, { curation_state: 'pending' });
      for (const step of paths[from]) expect((await curate(item.id, step)).status).toBe(200);
      const { status, body } = await curate(item.id, to);

      if (allowed.has(`${from} ${to}`)) expect([from, to, status, body.curation_state]).toEqual([from, to, 200, to]);
      else expect([from, to, status, body.context.reason]).toEqual([from, to, 409, 'illegal_transition']);
    }
  }
  const { counted, real } = await numbersOf(world, kbId);
  expect(counted).toEqual(real);
});

test('promoting needs an admin, curating a member', async () => {
  const { tokens, kbId, curate } = await openBase();
  const item = await makeItem(world, tokens.member, kbId, { curation_state: 'pending' });

  expect((await curate(item.id, 'reviewed', { token: tokens.viewer })).status).toBe(403);
  expect((await curate(item.id, 'reviewed', { token: tokens.member })).status).toBe(200);
  expect((await curate(item.id, 'promoted', { token: tokens.member })).status).toBe(403);
  expect((await curate(item.id, 'promoted')).status).toBe(200);
});

test('a successor is another live item of the base that does not lead back', async () => {
  const { tenant, tokens, kbId, curate } = await openBase();
  const [a, b, c, gone] = await Promise.all([1, 2, 3, 4].map(() => makeItem(world, tokens.member, kbId)));
  const elsewhere = await makeItem(world, tokens.member, await makeBase(world, tenant));
  await world.call(tokens.member, 'DELETE', `/knowledge-items/${gone.id}`);
  const ruleOf = async (by: string | null) => (await curate(c.id, 'superseded', { by })).body.errors?.[0]?.rule;

  expect(await ruleOf(null)).toBe('required');
  expect(await ruleOf(elsewhere.id)).toBe('reference');
  expect(await ruleOf(gone.id)).toBe('reference');
  expect(await ruleOf(c.id)).toBe('cycle');
  expect((await curate(a.id, 'superseded', { by: b.id })).body).toMatchObject({ curation_state: 'superseded', superseded_by_id: b.id });
  expect((await curate(b.id, 'superseded', { by: c.id })).status).toBe(200);
  expect(await ruleOf(a.id)).toBe('cycle');
});

test('items that supersede each other in a ring, all at once, never close it', async () => {
  const { tokens, kbId, curate } = await openBase();
  const items = await Promise.all([1, 2, 3].map(() => makeItem(world, tokens.member, kbId)));

  const answers = await Promise.all(items.map((item, at) => curate(item.id, 'superseded', { by: items[(at + 1) % 3].id })));

  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 200, 422]);
});

test('many are curated by ids or by a filter; those that can not be stay and are named', async () => {
  const { tokens, kbId, curate } = await openBase();
  const made = await Promise.all([1, 2, 3].map(() => makeItem(world, tokens.member, kbId, { curation_state: 'pending', tags: ['t'] })));
  const [first, second, third] = made;
  await curate(third.id, 'retired');
  const all = (body: object, token = tokens.admin) => world.call(token, 'POST', `/knowledge-bases/${kbId}/items/curate`, { body });

  const dry = await all({ filter: { tag: 't' }, curation_state: 'promoted', dry_run: true });
  const reviewed = await all({ filter: { tag: 't', curation_state: 'pending' }, curation_state: 'reviewed', reason: 'read' });
  const promoted = await all({ item_ids: [first.id, third.id], curation_state: 'retired' });
  const superseded = await all({ item_ids: [first.id, second.id], curation_state: 'superseded', superseded_by_id: second.id });

  expect(dry.body).toMatchObject({ matched: 3, changed: 0, dry_run: true });
  expect(dry.body.skipped).toHaveLength(3);
  expect(reviewed.body).toEqual({ matched: 2, changed: 2, skipped: [], dry_run: false });
  expect(promoted.body).toEqual({ matched: 2, changed: 1, skipped: [{ item_id: third.id, reason: 'illegal_transition' }], dry_run: false });
  expect(superseded.body).toMatchObject({ changed: 0, skipped: expect.arrayContaining([{ item_id: second.id, reason: 'cycle' }]) });
  expect((await all({ curation_state: 'reviewed' })).status).toBe(422);
  expect((await all({ item_ids: [crypto.randomUUID()], curation_state: 'reviewed' })).body.errors).toMatchObject([
    { pointer: '/item_ids/0', rule: 'reference' },
  ]);
  expect((await all({ filter: {}, curation_state: 'reviewed' }, tokens.member)).status).toBe(403);
  const { counted, real } = await numbersOf(world, kbId);
  expect(counted).toEqual(real);
});

test('a filter that finds over 1,000 items is refused', async () => {
  const { tokens, kbId } = await openBase();
  for (let batch = 0; batch < 2; batch += 1) {
    const items = Array.from({ length: 500 }, (_, at) => ({ content: `${batch} ${at}` }));
    expect((await world.call(tokens.member, 'POST', `/knowledge-bases/${kbId}/items/batch`, { body: { items } })).body.created).toBe(500);
  }
  const all = () =>
    world.call(tokens.admin, 'POST', `/knowledge-bases/${kbId}/items/curate`, { body: { filter: {}, curation_state: 'retired' } });

  expect((await all()).body).toMatchObject({ status: 422, context: { reason: 'too_many' } });
  const [first] = (await world.call(tokens.viewer, 'GET', `/knowledge-bases/${kbId}/items?limit=1`)).body.items;
  await world.call(tokens.member, 'DELETE', `/knowledge-items/${first.id}`);
  expect((await all()).body).toMatchObject({ matched: 1_000, changed: 1_000 });
  const { counted, real, terms } = await numbersOf(world, kbId);
  expect([counted, terms]).toEqual([real, 0]);
});

/** What people do with the items of a base, by number; each takes a place among the items and a word. */
async function playground() {
  const { tenant, tokens, kbId, curate } = await openBase();
  const ids: string[] = [];
  const words = ['refund', 'limit', 'office', 'the', 'node.js', '東京都'];
  const call = (role: 'member' | 'admin', method: 'POST' | 'PATCH' | 'DELETE', path: string, body?: object) =>
    world.call(tokens[role], method, path, body === undefined ? {} : { body });
  const idAt = (pick: number) => ids[pick % Math.max(1, ids.length)] ?? crypto.randomUUID();
  const textOf = (pick: number, word: number) => `${words[word % words.length]} ${words[pick % words.length]} ${pick}`;
  const keep = (items: readonly { item_id: string | null }[]) => ids.push(...items.flatMap(({ item_id: id }) => (id === null ? [] : [id])));
  const acts: readonly ((pick: number, word: number) => Promise<unknown>)[] = [
    async (pick, word) => {
      const state = word % 2 ? 'pending' : 'reviewed';
      const made = await call('member', 'POST', `/knowledge-bases/${kbId}/items`, { content: textOf(pick, word), curation_state: state });
      ids.push(made.body.id);
    },
    (pick, word) => call('member', 'PATCH', `/knowledge-items/${idAt(pick)}`, { content: textOf(word, pick), title: `T ${word}` }),
    (pick) => call('member', 'DELETE', `/knowledge-items/${idAt(pick)}`),
    (pick) => call('admin', 'POST', `/knowledge-items/${idAt(pick)}/restore`),
    (pick, word) => curate(idAt(pick), states[word % states.length] ?? 'retired', { by: idAt(word) }),
    async (pick, word) => {
      const text = textOf(pick, word);
      const items = [{ content: text }, { content: `${text} b`, external_id: `e${word}` }, { content: `${text} b` }];
      keep((await call('member', 'POST', `/knowledge-bases/${kbId}/items/batch`, { items })).body.outcomes);
    },
    (pick, word) => {
      const to = (['reviewed', 'promoted', 'retired'] as const)[word % 3];
      return call('admin', 'POST', `/knowledge-bases/${kbId}/items/curate`, {
        ...(pick % 2 ? { filter: { curation_state: states[pick % states.length] } } : { item_ids: [...new Set([idAt(pick), idAt(word)])] }),
        curation_state: to,
      });
    },
    (pick, word) => call('member', 'POST', `/knowledge-items/${idAt(pick)}/relations`, { to_item_id: idAt(word), type: 'related' }),
    async (pick, word) => {
      const itemIds = [...new Set([idAt(pick), idAt(word)])];
      const id = await plantFinding(world, tenant, { kbId, itemIds });
      const body =
        itemIds.length === 2 && word % 2 ? { action: 'merge', keep_item_id: itemIds[0] } : { action: 'retire', item_id: itemIds[0] };
      await call('admin', 'POST', `/knowledge-findings/${id}/resolve`, body);
      if (pick % 3 === 0) await call('admin', 'POST', `/knowledge-findings/${id}/resolve`, { action: 'undo' });
    },
    async (pick, word) => {
      const made = await call('member', 'POST', `/knowledge-bases/${kbId}/sources`, { text: 'Text' });
      await changeRows(
        world,
        `with r as (update knowledge_runs set status = 'succeeded', finished_at = now() where source_id = ?),
           i as (update knowledge_items set source_id = ? where id = any (?::uuid[]) and deleted_at is null)
         update knowledge_sources set state = 'ready' where id = ?`,
        [made.body.id, made.body.id, [idAt(pick)], made.body.id],
      );
      await call('member', 'DELETE', `/knowledge-sources/${made.body.id}${word % 2 ? '?keep_items=true' : ''}`);
    },
  ];
  return { tokens, kbId, acts };
}

test('after any 200 changes, some at once, the counters are what the rows say and add up to the items of the base', async () => {
  const { tokens, kbId, acts } = await playground();
  const seed = Number(process.env['CHAOS_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
  const step = fc.tuple(fc.nat(acts.length - 1), fc.nat(20), fc.nat(20));
  const steps = fc.sample(step, { seed, numRuns: 200 });
  const failed: unknown[] = [];

  for (let at = 0; at < steps.length; at += 4) {
    const round = steps.slice(at, at + 4);
    await Promise.all(round.map(([act, pick, word]) => acts[act]?.(pick, word)));
    const { counted, real, terms } = await numbersOf(world, kbId);
    if (!isDeepStrictEqual(counted, real) || terms > 0) failed.push({ seed, at, round, counted, real, terms });
  }
  const { counted } = await numbersOf(world, kbId);
  const { body: base } = await world.call(tokens.member, 'GET', `/knowledge-bases/${kbId}`);
  const { body: stats } = await world.call(tokens.member, 'GET', `/knowledge-bases/${kbId}/stats`);
  const sum = (numbers: object) => Object.values(numbers).reduce((total: number, n: number) => total + n, 0);

  expect(failed).toEqual([]);
  expect(sum(base.curation_counts)).toBe(base.item_count);
  expect(counted).toMatchObject(base.curation_counts);
  for (const by of ['by_state', 'by_kind', 'by_origin', 'by_index_state'])
    expect([by, sum(stats.items[by])]).toEqual([by, base.item_count]);
});
