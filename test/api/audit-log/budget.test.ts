import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openWorld, type World } from '../world.ts';

let world: World;
const seen: string[] = [];

beforeAll(async () => {
  world = await openWorld({ onQuery: (sql) => seen.push(sql) });
});
afterAll(() => world.close());

const isFrame = (sql: string) => /^(begin|commit|rollback|set |select set_config)/i.test(sql);

async function statementsOf(work: () => Promise<{ status: number }>): Promise<string[]> {
  seen.length = 0;
  const { status } = await work();
  expect(status).toBeLessThan(300);
  return seen.filter((sql) => !isFrame(sql) && !/update "?(sessions|service_keys)"? set "?last/.test(sql));
}

test('reads of secrets and of the audit log take at most 3 statements with authentication', async () => {
  const { tokens, organizationOwner } = await world.tenant();
  await world.call(tokens.admin, 'PUT', '/secrets/k', { body: { value: 'x' } });
  const { body } = await world.call(tokens.admin, 'GET', '/audit-log');

  for (const path of ['/secrets', '/secrets?offset=0&q=k', '/audit-log', '/audit-log?offset=0', `/audit-log/${body.items[0].id}`]) {
    for (const token of [tokens.admin, organizationOwner.token, tokens.operator]) {
      const statements = await statementsOf(() => world.call(token, 'GET', path));
      expect({ path, statements, isWithin: statements.length <= 3 }).toMatchObject({ isWithin: true });
    }
  }
});

test('writes of secrets take at most 6 statements beside authentication, and one commit', async () => {
  const { tokens } = await world.tenant();
  await world.call(tokens.admin, 'PUT', '/secrets/first', { body: { value: 'x' } });

  for (const [method, body] of [
    ['PUT', { value: 'x' }],
    ['PUT', { value: 'y' }],
    ['DELETE', undefined],
  ] as const) {
    const statements = await statementsOf(() => world.call(tokens.admin, method, '/secrets/k', { body }));
    const own = statements.filter((sql) => !sql.includes('gate_'));
    expect({ method, own, isWithin: own.length <= 6 }).toMatchObject({ isWithin: true });
    expect(seen.filter((sql) => /^commit/i.test(sql)).length).toBeLessThanOrEqual(1);
  }
});
