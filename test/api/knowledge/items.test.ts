import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openWorld, type World } from '../world.ts';
import { makeBase, makeItem, numbersOf, rowsOf } from './knowledge-fixture.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

test('an item is created, indexed, counted and read', async () => {
  const tenant = await world.tenant();
  const { tokens, users } = tenant;
  const kbId = await makeBase(world, tenant);
  const body = {
    title: 'Refunds',
    content: 'Refunds up to 50 EUR need no approval. Others wait for a person.',
    tags: ['support', 'support', 'money'],
    metadata: { region: 'EU', level: 3, open: true, none: null },
    fact: { subject: 'refund', relation: 'limit', object: '50 EUR' },
    evidence: [{ kind: 'url', ref: 'https://example.org/refunds' }],
    valid_from: '2026-01-01T00:00:00Z',
    external_id: 'refunds-1',
  };

  const made = await world.call(tokens.member, 'POST', `/knowledge-bases/${kbId}/items`, { body });
  const read = await world.call(tokens.viewer, 'GET', `/knowledge-items/${made.body.id}`);
  const listed = await world.call(tokens.viewer, 'GET', `/knowledge-bases/${kbId}/items?q=REF&tag=money&kind=document&origin=human`);
  const chunks = await world.call(tokens.viewer, 'GET', `/knowledge-items/${made.body.id}/chunks`);
  const versions = await world.call(tokens.viewer, 'GET', `/knowledge-items/${made.body.id}/versions`);

  expect(made.status).toBe(201);
  expect(made.headers['location']).toBe(`/knowledge-items/${made.body.id}`);
  expect(made.body).toMatchObject({
    ...body,
    kb_id: kbId,
    tags: ['support', 'money'],
    evidence: [{ kind: 'url', ref: 'https://example.org/refunds', quote: null, observed_at: null, subject_kind: null, subject_id: null }],
    valid_from: '2026-01-01T00:00:00.000Z',
    origin: 'human',
    curation_state: 'reviewed',
    trust: 'workspace',
    index_state: 'ready',
    chunk_count: 1,
    version: 1,
    created_by: { kind: 'user', id: users.member.id },
    deleted_at: null,
  });
  expect(read.body).toEqual(made.body);
  expect(read.headers['etag']).toBe('"1"');
  expect(listed.body.items).toEqual([made.body]);
  expect(chunks.body.items).toMatchObject([
    {
      item_id: made.body.id,
      ord: 0,
      text: body.content,
      context: 'Refunds',
      char_start: 0,
      char_end: body.content.length,
      page: null,
      embedding_model: 'hash-v1',
    },
  ]);
  expect(versions.body.items).toMatchObject([{ item_id: made.body.id, version: 1, content: body.content, reason: null }]);
  const { counted, real, terms, vectors } = await numbersOf(world, kbId);
  expect(counted).toEqual(real);
  expect(counted).toMatchObject({ reviewed: 1, chunks: 1 });
  expect([terms, vectors]).toEqual([0, 1]);
  const [lexemes] = await rowsOf<{ lexemes: string }>(world, 'select lexemes::text from knowledge_chunks where kb_id = ?', [kbId]);
  expect(lexemes?.lexemes).toMatch(/'k[0-9a-z]+:refund':1,2/);
});

test('x', async () => {
  const tenant = await world.tenant();
  const kbId = await makeBase(world, tenant);
  const item = await makeItem(world, tenant.tokens.member, kbId);
  expect(item.kind).toBe('document');
});
