import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openWorld, type World } from '../world.ts';
import { makeBase, makeItem, rowsOf } from './knowledge-fixture.ts';

const statements: string[] = [];
let world: World;

beforeAll(async () => {
  world = await openWorld({ onQuery: (sql) => statements.push(sql) });
});
afterAll(() => world.close());

/** What the product itself has sent since the list was emptied, settings and transaction included. */
function sent(): string[] {
  return statements.map((sql) => sql.replaceAll(/\s+/gv, ' ').slice(0, 90));
}

test('an item is created in at most 12 statements and one commit, and Temporal is not asked', async () => {
  const tenant = await world.tenant();
  const kbId = await makeBase(world, tenant);
  await makeItem(world, tenant.tokens.member, kbId);
  const body = { content: 'Refunds up to 50 EUR need no approval.', title: 'Refunds', external_id: 'r' };
  const path = `/knowledge-bases/${kbId}/items`;

  statements.length = 0;
  const made = await world.call(tenant.tokens.member, 'POST', path, { body });
  const list = sent();

  expect(made.status).toBe(201);
  expect(list.length).toBeLessThanOrEqual(12);
  expect(list.filter((sql) => /^commit/iv.test(sql)).length).toBeLessThanOrEqual(1);
  expect(list.join('\n')).not.toMatch(/outbox/v);
  expect(await rowsOf(world, 'select 1 from outbox where target = ?', [`index:${kbId}`])).toEqual([]);
});

test('a batch takes as many statements as one item', async () => {
  const tenant = await world.tenant();
  const kbId = await makeBase(world, tenant);
  const items = Array.from({ length: 200 }, (_, at) => ({ content: `Sentence ${at} of a batch` }));

  statements.length = 0;
  const made = await world.call(tenant.tokens.member, 'POST', `/knowledge-bases/${kbId}/items/batch`, { body: { items } });

  expect(made.body.created).toBe(200);
  expect(sent().length).toBeLessThanOrEqual(13);
});
