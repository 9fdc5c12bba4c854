import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startOwnStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';
import { leftOf, pictureOf, reembedWorld, type Hit, type ReembedWorld } from './reembed-world.ts';

let stack: Stack;
let world: ReembedWorld;

beforeAll(async () => {
  stack = await startOwnStack({ processes: ['api', 'worker-bulk'] });
  world = reembedWorld(stack);
});
afterAll(() => stack?.stop());

/** A base with what bases hold: items of every kind and state, links, a source. */
async function fullBase(model = 'none'): Promise<{ kbId: string; ids: string[] }> {
  const kbId = await world.makeBase(model);
  const ids = await world.addItems(kbId, [
    { content: 'Valves of pump seven are green.', title: 'Valves', tags: ['pump'], external_id: 'v-7', metadata: { floor: 3 } },
    { content: 'Valves of pump eight are red since spring.', evidence: [{ kind: 'url', ref: 'https://example.org/8' }] },
    { content: 'The harbour master is Ada.', kind: 'fact', fact: { subject: 'harbour master', relation: 'is', object: 'Ada' } },
    { content: 'The harbour master is Bo.', kind: 'fact', valid_from: '2026-01-01T00:00:00.000Z' },
    {
      content: Array.from({ length: 90 }, (_, at) => `Berth ${at} takes ships of ${at + 20} metres, and no longer ones.`).join(' '),
      title: 'Berths',
    },
  ]);
  const [first = '', second = '', old = '', present = ''] = ids;
  await world.asked('POST', `/knowledge-items/${first}/relations`, { to_item_id: second, type: 'related', note: 'neighbours' });
  await world.asked('POST', `/knowledge-items/${old}/curate`, { curation_state: 'superseded', superseded_by_id: present });
  await world.asked('PATCH', `/knowledge-items/${second}`, { content: 'Valves of pump eight are blue since summer.' });
  const source = await world.asked<{ id: string }>('POST', `/knowledge-bases/${kbId}/sources`, {
    text: '# Cranes\n\nCrane one lifts forty tonnes.\n\n# Ropes\n\nRopes are changed in May.',
    title: 'Cranes',
  });
  await until(async () => (await world.asked<{ state: string }>('GET', `/knowledge-sources/${source.id}`)).state === 'ready');
  return { kbId, ids };
}

const queries = ['valves of pump', 'harbour master', 'berth 44 metres', 'crane tonnes'];
/** Hits of equal score come by the ids of their chunks, which two bases have each their own. */
const withoutTies = (found: readonly Hit[][]) =>
  found.map((hits) =>
    hits
      .map(({ quote, title, score, parts }) => ({ quote, title, score, lexical: parts.lexical, vector: parts.vector }))
      .toSorted((left, right) => right.score - left.score || left.quote.localeCompare(right.quote)),
  );
const searchAll = (kbId: string, more = {}) => Promise.all(queries.map((query) => world.search(kbId, query, more)));

test('a base of another model takes the place of the old one with all that it held; grants and policy go along with their ids', async () => {
  const { kbId } = await fullBase();
  const grant = await world.asked<{ id: string }>('POST', `/knowledge-bases/${kbId}/grants`, {
    principal_kind: 'role',
    role: 'viewer',
    access: 'write',
  });
  await world.sql(
    `insert into knowledge_policies (kb_id, organization_id, workspace_id, retention_days) select id, organization_id, workspace_id, 7 from knowledge_bases where id = ?`,
    [kbId],
  );
  const before = await pictureOf(world, kbId);

  const reply = await world.reembed(kbId, 'hash-v1');

  expect(reply.status).toBe(201);
  expect(reply.headers.get('location')).toBe(`/knowledge-bases/${reply.body.id}`);
  expect(reply.body).toMatchObject({ embedding_model: 'hash-v1', embedding_dim: 1_024, is_frozen: false, name: 'Base' });
  const run = await world.run(reply.runId);
  expect(run).toMatchObject({ status: 'succeeded', target_kb_id: reply.body.id, cost: { estimate: '0.00', spent: '0.00' } });
  expect(run.cut_over_at).not.toBeNull();
  expect(await pictureOf(world, reply.body.id)).toEqual(before);
  const [old] = await world.sql(`select is_frozen, successor_id from knowledge_bases where id = ?`, [kbId]);
  expect(old).toEqual({ is_frozen: true, successor_id: reply.body.id });
  const granted = await world.asked<{ items: { id: string }[] }>('GET', `/knowledge-bases/${reply.body.id}/grants`);
  expect(granted.items.map(({ id }) => id)).toEqual([grant.id]);
  expect(await world.sql('select kb_id from knowledge_policies where retention_days = 7')).toEqual([{ kb_id: reply.body.id }]);
  const [vectors] = await world.sql<{ n: number; models: string }>(
    `select count(*)::int as n, string_agg(distinct embedding_model || embedding_dim, ',') as models from knowledge_vectors where kb_id = ?`,
    [reply.body.id],
  );
  expect(vectors).toEqual({ n: run.result?.['chunks'], models: 'hash-v11024' });
});

test('searches of the old base are equal before, during and after, and the new one searches like a fresh base of its model', async () => {
  const { kbId } = await fullBase();
  const before = await searchAll(kbId, { mode: 'lexical' });

  const reply = await world.reembed(kbId, 'hash-v1');

  expect(await searchAll(kbId, { mode: 'lexical' })).toEqual(before);
  expect(await searchAll(reply.body.id, { mode: 'lexical' })).toEqual(before);
  const fresh = await fullBase('hash-v1');
  for (const mode of ['lexical', 'vector', 'hybrid'])
    expect(withoutTies(await searchAll(reply.body.id, { mode }))).toEqual(withoutTies(await searchAll(fresh.kbId, { mode })));
});

test('a thousand items with hash-v1 have cut over when the answer arrives, unless that took all of the ten seconds which it waits', async () => {
  const kbId = await world.makeBase('none');
  await world.addItems(
    kbId,
    Array.from({ length: 1_000 }, (_, at) => ({ content: `Item ${at} lies in the harbour of number ${at}.` })),
  );
  const startedAt = performance.now();
  const reply = await world.reembed(kbId, 'hash-v1');
  const isEarly = performance.now() - startedAt < 10_000;
  const run = await world.ended(reply.runId);

  const cutOver = { id: run.target_kb_id, is_frozen: false, item_count: 1_000 };
  expect(isEarly ? reply.body : await world.asked('GET', `/knowledge-bases/${run.target_kb_id}`)).toMatchObject(cutOver);
  expect(run.status).toBe('succeeded');
});

test('of a chain every earlier base names the last one', async () => {
  const { kbId } = await fullBase();
  const second = (await world.reembed(kbId, 'hash-v1')).body.id;
  const third = (await world.reembed(second, 'none')).body.id;

  const chain = await world.sql('select id, successor_id from knowledge_bases where id = any (?::uuid[]) order by id', [[kbId, second]]);
  expect(chain).toEqual([
    { id: kbId, successor_id: third },
    { id: second, successor_id: third },
  ]);
  expect(await leftOf(world, third)).not.toHaveProperty('vectors');
});

test('two at once: one is made, the other one is refused, and so is one of a base that was superseded', async () => {
  const { kbId } = await fullBase();

  const replies = await Promise.all([world.reembed(kbId, 'hash-v1'), world.reembed(kbId, 'hash-v1')]);

  const refused = replies.find(({ status }) => status === 423);
  expect(replies.map(({ status }) => status).toSorted()).toEqual([201, 423]);
  expect(refused?.body.context).toMatchObject({ reason: 'reembed_in_progress' });
  const again = await world.reembed(kbId, 'hash-v1');
  expect([again.status, again.body.context?.['reason']]).toEqual([423, 'superseded']);
});
