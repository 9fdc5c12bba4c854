import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newId } from '../../../db/ids.ts';
import { openWorld, type World } from '../world.ts';
import { until } from '../../support/temporal.ts';
import { rowsOf } from './knowledge-fixture.ts';
import { add, baseOf, execute, grant } from './search-fixture.ts';

const statements: string[] = [];
let world: World;

beforeAll(async () => {
  world = await openWorld({ onQuery: (sql) => statements.push(sql) });
});
afterAll(() => world.close());

describe('searchKnowledgeBase', () => {
  test('quotes the current content with where it stands', async () => {
    const tenant = await world.tenant();
    const kbId = await baseOf(world, tenant);
    const item = await add(world, tenant.tokens.member, kbId, { title: 'Refunds', content: 'A refund takes five days. Ask billing.' });
    await add(world, tenant.tokens.member, kbId, { content: 'The office opens at nine.' });

    const found = await search(tenant.tokens.viewer, kbId, { query: 'how long do refunds take?', mode: 'lexical' });

    expect(found.status).toBe(200);
    expect(found.body).toMatchObject({ mode: 'lexical', searched_kb_ids: [kbId], degraded: [] });
    expect(found.body.hits).toHaveLength(1);
    const [hit] = found.body.hits;
    expect(hit).toMatchObject({
      kb_id: kbId,
      item_id: item.id,
      title: 'Refunds',
      curation_state: 'reviewed',
      score_parts: { lexical_rank: 1, vector: null },
    });
    expect([...item.content].slice(hit.char_start, hit.char_end).join('')).toBe(hit.quote);

    await world.call(tenant.tokens.admin, 'PATCH', `/knowledge-items/${item.id}`, { body: { content: 'A refund takes ten days now.' } });
    const after = await search(tenant.tokens.viewer, kbId, { query: 'refund', mode: 'lexical' });
    expect(after.body.hits.map(({ quote }: { quote: string }) => quote)).toEqual(['A refund takes ten days now.']);
    await world.call(tenant.tokens.admin, 'DELETE', `/knowledge-items/${item.id}`);
    for (const mode of ['lexical', 'hybrid'])
      expect((await search(tenant.tokens.viewer, kbId, { query: 'refund', mode })).body.hits).toEqual([]);
  });

  test.each([
    ['zh', '退款需要五个工作日才能到账。', '退款多久到账'],
    ['ja', '返金には五営業日かかります。', '返金 営業日'],
    ['none', '환불은 영업일 기준 오일이 걸립니다.', '환불 영업일'],
    ['none', 'การคืนเงินใช้เวลาห้าวันทำการ', 'คืนเงิน'],
  ])('a query in a script without spaces hits with model none (%s)', async (language, content, query) => {
    const tenant = await world.tenant();
    const kbId = await baseOf(world, tenant, { language });
    const item = await add(world, tenant.tokens.member, kbId, { content });
    await add(world, tenant.tokens.member, kbId, { content: 'Something else entirely.' });

    const found = await search(tenant.tokens.viewer, kbId, { query });

    expect(found.body.hits.map((hit: { item_id: string }) => hit.item_id)).toEqual([item.id]);
    expect(found.body.degraded).toEqual([{ kb_id: kbId, leg: 'vector', reason: 'embeddings_disabled' }]);
  });

  test('mode vector without embeddings is 422, and needs no words in common with them', async () => {
    const tenant = await world.tenant();
    const [none, hash] = [await baseOf(world, tenant), await baseOf(world, tenant, { model: 'hash-v1' })];
    const item = await add(world, tenant.tokens.member, hash, { content: 'Kubernetes deployments roll forward.' });

    const refused = await search(tenant.tokens.viewer, none, { query: 'kubernetes', mode: 'vector' });
    const found = await search(tenant.tokens.viewer, hash, { query: 'kubernetes deployment', mode: 'vector' });

    expect(refused).toMatchObject({ status: 422, body: { code: 'validation_failed', context: { reason: 'embeddings_disabled' } } });
    expect(found.body.hits[0]).toMatchObject({ item_id: item.id, score_parts: { lexical: null, vector_rank: 1 } });
    expect(found.body.hits[0].score).toBeGreaterThan(0.2);
  });

  test('a vector leg of weight 0 runs only when the words find nothing', async () => {
    const tenant = await world.tenant();
    const kbId = await baseOf(world, tenant, { model: 'hash-v1' });
    await add(world, tenant.tokens.member, kbId, { content: 'Kubernetes deployments roll forward.' });

    const byWords = await search(tenant.tokens.viewer, kbId, { query: 'deployments' });
    const byVector = await search(tenant.tokens.viewer, kbId, { query: 'ubernetes' });

    expect(byWords.body.hits[0].score_parts).toMatchObject({ lexical_rank: 1, vector: null });
    expect(byVector.body.hits[0].score_parts).toMatchObject({ lexical: null, vector_rank: 1 });
  });

  test('shows reviewed and promoted items that are valid; others where they are asked for', async () => {
    const tenant = await world.tenant();
    const kbId = await baseOf(world, tenant);
    const make = (content: string, more = {}) => add(world, tenant.tokens.admin, kbId, { content: `zebra ${content}`, ...more });
    const ids = {
      reviewed: (await make('one')).id,
      pending: (await make('two', { curation_state: 'pending' })).id,
      past: (await make('three', { valid_until: '2020-01-01T00:00:00Z' })).id,
      retired: (await make('four')).id,
      superseded: (await make('five')).id,
    };
    await execute(world, "update knowledge_items set curation_state = 'retired' where id = ?", [ids.retired]);
    await execute(world, "update knowledge_items set curation_state = 'superseded', superseded_by_id = ? where id = ?", [
      ids.reviewed,
      ids.superseded,
    ]);
    const found = async (more: Record<string, unknown>) => {
      const { body } = await search(tenant.tokens.viewer, kbId, { query: 'zebra', mode: 'lexical', ...more });
      return body.hits.map((hit: { item_id: string }) => Object.entries(ids).find(([, id]) => id === hit.item_id)?.[0]).toSorted();
    };

    expect(await found({})).toEqual(['reviewed']);
    expect(await found({ include_pending: true })).toEqual(['pending', 'reviewed']);
    expect(await found({ valid_at: null })).toEqual(['past', 'reviewed']);
    expect(await found({ valid_at: '2019-06-01T00:00:00Z' })).toEqual(['past', 'reviewed']);
    expect(await found({ latest_only: false })).toEqual(['reviewed', 'superseded']);
    expect(await found({ filters: { curation_states: ['retired'] } })).toEqual(['retired']);
    expect(await found({ filters: { curation_states: ['superseded'] } })).toEqual([]);
    expect(await found({ filters: { curation_states: ['superseded', 'pending'] }, latest_only: false })).toEqual(['pending', 'superseded']);
  });

  test('each filter narrows, and min_score and top_k do', async () => {
    const tenant = await world.tenant();
    const kbId = await baseOf(world, tenant);
    const make = (content: string, more = {}) => add(world, tenant.tokens.member, kbId, { content: `walrus ${content}`, ...more });
    const one = (await make('one', { kind: 'qa', tags: ['a', 'b'], metadata: { level: 3, open: true } })).id;
    const two = (await make('two', { kind: 'fact', tags: ['b'], metadata: { level: 4 } })).id;
    const found = async (filters: Record<string, unknown>, more = {}) => {
      const { body } = await search(tenant.tokens.viewer, kbId, { query: 'walrus', filters, ...more });
      return new Set(body.hits.map((hit: { item_id: string }) => hit.item_id));
    };

    expect(await found({})).toEqual(new Set([one, two]));
    expect(await found({ kinds: ['qa'] })).toEqual(new Set([one]));
    expect(await found({ tags_any: ['a', 'z'] })).toEqual(new Set([one]));
    expect(await found({ tags_all: ['b', 'a'] })).toEqual(new Set([one]));
    expect(await found({ metadata: { level: 4 } })).toEqual(new Set([two]));
    expect(await found({ metadata: { level: 3, open: false } })).toEqual(new Set());
    expect(await found({ origins: ['agent'] })).toEqual(new Set());
    const { body: refused } = await search(tenant.tokens.viewer, kbId, { query: 'walrus', filters: { source_ids: [newId()] } });
    expect(refused.errors[0]).toMatchObject({ pointer: '/filters/source_ids/0', rule: 'reference' });
    expect(await found({ created_to: '2020-01-01T00:00:00Z' })).toEqual(new Set());
    expect(await found({ kinds: [] })).toEqual(new Set([one, two]));
    expect(await found({}, { min_score: 1, mode: 'lexical' })).toEqual(new Set());
    expect((await found({}, { top_k: 1 })).size).toBe(1);
  });

  test.each(['lexical', 'vector', 'hybrid'])(
    'decay lowers the score of a hit in mode %s, and min_score leaves it in all the same',
    async (mode) => {
      const tenant = await world.tenant();
      const kbId = await baseOf(world, tenant, { model: 'hash-v1' });
      const item = await add(world, tenant.tokens.member, kbId, { content: 'The walrus is old.' });
      const hits = async (more = {}) => {
        const { body } = await search(tenant.tokens.viewer, kbId, { query: 'walrus', mode, ...more });
        return body.hits.map((hit: { item_id: string; score: number }) => ({ id: hit.item_id, score: hit.score }));
      };
      const [{ score }] = await hits();
      const decay = { enabled: true, half_life_days: 1, floor: 0.25 };
      await world.call(tenant.tokens.admin, 'PUT', `/knowledge-bases/${kbId}/maintenance-policy`, { body: { decay } });
      // Nobody waits until a search has noted what it gave, which would make the item young again.
      const isNoted = async () =>
        (await rowsOf(world, `select id from knowledge_items where kb_id = ? and last_used_at > now() - interval '1 day'`, [kbId])).length >
        0;
      const age = async () => {
        await until(isNoted);
        await execute(
          world,
          `update knowledge_items set last_used_at = now() - interval '1 year', created_at = now() - interval '1 year' where kb_id = ?`,
          [kbId],
        );
      };

      await age();
      expect(await hits({ min_score: score * 0.99 })).toEqual([{ id: item.id, score: expect.closeTo(score / 4, 5) }]);
      await age();
      expect(await hits({ min_score: Math.min(1, score * 1.01) })).toEqual(
        score * 1.01 > 1 ? [{ id: item.id, score: expect.closeTo(score / 4, 5) }] : [],
      );
    },
  );

  test.each([
    [{}, 'required'],
    [{ query: '' }, 'minLength'],
    [{ query: 'x'.repeat(2_001) }, 'maxLength'],
    [{ query: 'a', top_k: 0 }, 'minimum'],
    [{ query: 'a', top_k: 101 }, 'maximum'],
    [{ query: 'a', mode: 'magic' }, 'enum'],
    [{ query: 'a', filters: { kinds: ['none'] } }, 'enum'],
    [{ query: 'a', kb_ids: [] }, 'unknown_field'],
    [{ query: 'a', filters: { metadata: { deep: { a: 1 } } } }, 'type'],
  ])('a body %j is 422', async (body, rule) => {
    const tenant = await world.tenant();
    const answer = await search(tenant.tokens.viewer, await baseOf(world, tenant), body);
    expect(answer.status).toBe(422);
    expect(JSON.stringify(answer.body.errors)).toContain(rule);
  });

  test('another tenant, a base that is not there and a private one of others are the same 404; admins get 403', async () => {
    const [own, other] = [await world.tenant(), await world.tenant()];
    const foreign = await baseOf(world, other);
    const hidden = await baseOf(world, own, { isPrivate: true });
    for (const kbId of [foreign, newId(), hidden]) expect((await search(own.tokens.member, kbId, { query: 'a' })).status).toBe(404);
    expect(await search(own.tokens.admin, hidden, { query: 'a' })).toMatchObject({ status: 403, body: { code: 'resource_forbidden' } });
  });

  test('a grant opens a private base at once, and closes it so when it is revoked or over', async () => {
    const tenant = await world.tenant();
    const kbId = await baseOf(world, tenant, { isPrivate: true });
    const status = async () => (await search(tenant.tokens.member, kbId, { query: 'a' })).status;
    const grantId = await grant(world, tenant, { kbId, userId: tenant.users.member.id });
    expect(await status()).toBe(200);

    await execute(world, "update knowledge_grants set expires_at = now() - interval '1 s' where id = ?", [grantId]);
    expect(await status()).toBe(404);
    await execute(world, 'update knowledge_grants set expires_at = null where id = ?', [grantId]);
    expect(await status()).toBe(200);
    await execute(world, 'delete from knowledge_grants where id = ?', [grantId]);
    expect(await status()).toBe(404);
  });

  test('a base that is being built is 409; a superseded one is searched as before', async () => {
    const tenant = await world.tenant();
    const [old, next] = [await baseOf(world, tenant), await baseOf(world, tenant)];
    await execute(world, 'update knowledge_bases set activated_at = null, predecessor_id = ? where id = ?', [old, next]);
    expect(await search(tenant.tokens.viewer, next, { query: 'a' })).toMatchObject({
      status: 409,
      body: { context: { reason: 'reembed_in_progress' } },
    });

    await execute(world, 'update knowledge_bases set activated_at = now() where id = ?', [next]);
    await execute(world, 'update knowledge_bases set successor_id = ?, is_frozen = true where id = ?', [next, old]);
    expect((await search(tenant.tokens.viewer, old, { query: 'a' })).status).toBe(200);
    expect((await across(tenant.tokens.viewer, { query: 'a' })).body.searched_kb_ids).toEqual([next]);
  });

  test('takes three statements beside credential and settings', async () => {
    const tenant = await world.tenant();
    const kbId = await baseOf(world, tenant, { model: 'hash-v1' });
    await add(world, tenant.tokens.member, kbId, { content: 'Three statements.' });
    statements.length = 0;

    await search(tenant.tokens.viewer, kbId, { query: 'statements' });

    // That items were used is noted behind the answer.
    expect(statements.filter((sql) => sql.includes('knowledge_') && !sql.includes('"last_used_at" = now()'))).toHaveLength(3);
  });
});

describe('searchKnowledge', () => {
  test('searches all that the caller reads, and each base takes its turn', async () => {
    const [tenant, other] = [await world.tenant(), await world.tenant()];
    const [one, two, hidden] = [await baseOf(world, tenant), await baseOf(world, tenant), await baseOf(world, tenant, { isPrivate: true })];
    const foreign = await baseOf(world, other);
    await add(world, other.tokens.member, foreign, { content: 'otter foreign' });
    for (const kbId of [one, two])
      for (const n of ['first', 'second']) await add(world, tenant.tokens.member, kbId, { content: `otter ${n}` });

    const all = await across(tenant.tokens.viewer, { query: 'otter' });
    const named = await across(tenant.tokens.viewer, { query: 'otter', kb_ids: [two] });

    expect(new Set(all.body.searched_kb_ids)).toEqual(new Set([one, two]));
    expect(all.body.hits).toHaveLength(4);
    expect(new Set(all.body.hits.slice(0, 2).map((hit: { kb_id: string }) => hit.kb_id)).size).toBe(2);
    expect(named.body.searched_kb_ids).toEqual([two]);
    for (const kbId of [foreign, hidden, newId()])
      expect(await across(tenant.tokens.viewer, { query: 'otter', kb_ids: [two, kbId] })).toMatchObject({
        status: 422,
        body: { errors: [{ pointer: '/kb_ids/1', rule: 'reference' }] },
      });
  });

  test('more than 200 readable bases have to be named', async () => {
    const tenant = await world.tenant();
    const first = await baseOf(world, tenant);
    await execute(
      world,
      `insert into knowledge_bases (id, scope, organization_id, workspace_id, slug, name, kind, embedding_model, embedding_dim, activated_at)
       select gen_random_uuid(), 'workspace', ?, ?, 'many-' || n, 'Many', 'documents', 'none', 0, now() from generate_series(1, 200) n`,
      [tenant.organizationId, tenant.workspaceId],
    );
    await execute(
      world,
      `insert into knowledge_base_counters (kb_id, organization_id, workspace_id) select id, organization_id, workspace_id from knowledge_bases where workspace_id = ? and id <> ?`,
      [tenant.workspaceId, first],
    );

    const all = await across(tenant.tokens.viewer, { query: 'a' });

    expect(all).toMatchObject({ status: 422, body: { context: { reason: 'too_many_bases' } } });
    expect((await across(tenant.tokens.viewer, { query: 'a', kb_ids: [first] })).status).toBe(200);
  });

  test('nobody to search in is no error', async () => {
    const tenant = await world.tenant();
    const found = await across(tenant.tokens.viewer, { query: 'anything', mode: 'vector' });
    expect(found).toMatchObject({ status: 200, body: { hits: [], searched_kb_ids: [], degraded: [] } });
  });
});

function search(token: string, kbId: string, body: Readonly<Record<string, unknown>>) {
  return world.call(token, 'POST', `/knowledge-bases/${kbId}/search`, { body });
}

function across(token: string, body: Readonly<Record<string, unknown>>) {
  return world.call(token, 'POST', '/knowledge/search', { body });
}
