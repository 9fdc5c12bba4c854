import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { makeUser } from '../../support/tenant.ts';
import { openWorld, type World } from '../world.ts';

let world: World;
const seen: string[] = [];

beforeAll(async () => {
  world = await openWorld({ onQuery: (sql) => seen.push(sql) });
});

afterAll(() => world.close());

const isFrame = (sql: string) => /^(begin|commit|rollback|set |select set_config)/i.test(sql);

async function statementsOf(work: () => Promise<{ status: number }>): Promise<{ status: number; statements: string[] }> {
  seen.length = 0;
  const { status } = await work();
  return { status, statements: seen.filter((sql) => !isFrame(sql)) };
}

test('reads take at most 3 statements with authentication', async () => {
  const { organizationId, workspaceId, organizationOwner, tokens } = await world.tenant();
  const paths = [
    '/organizations',
    '/organizations?offset=0',
    `/organizations/${organizationId}`,
    `/organizations/${organizationId}/settings`,
    `/organizations/${organizationId}/workspaces`,
    `/organizations/${organizationId}/workspaces?offset=0&q=none`,
    '/workspaces',
    '/workspaces?offset=0',
    `/workspaces/${workspaceId}`,
    `/workspaces/${workspaceId}/members`,
    `/workspaces/${workspaceId}/members?q=none`,
    `/workspaces/${workspaceId}/members?offset=0`,
  ];

  for (const token of [organizationOwner.token, tokens.owner, tokens.operator]) {
    for (const path of paths) {
      const { status, statements } = await statementsOf(() => world.call(token, 'GET', path));
      expect({ path, status }).toEqual({ path, status: 200 });
      // Only an operator's page beside the first that is empty costs one more: whether what it names exists.
      const most = token === tokens.operator && path.endsWith('offset=0&q=none') ? 4 : 3;
      expect({ path, isWithin: statements.length <= most, statements }).toMatchObject({ path, isWithin: true });
    }
  }
});

test('writes take at most 6 statements beside authentication', async () => {
  const { organizationId, workspaceIds, organizationOwner, users } = await world.tenant({ workspaces: 2 });
  const [first = '', second = ''] = workspaceIds;
  const guest = await makeUser(world.api.db, world.api.keys, { role: 'member', scope: 'workspace', organizationId, workspaceId: second });
  const { token } = organizationOwner;
  const organization = `/organizations/${organizationId}`;
  const writes = [
    () => world.call(token, 'PATCH', organization, { body: { name: 'New' } }),
    () => world.call(token, 'PATCH', `${organization}/settings`, { body: { invitation_days: 3 } }),
    () => world.call(token, 'POST', `${organization}/workspaces`, { body: { name: 'New' } }),
    () => world.call(token, 'PATCH', `/workspaces/${first}`, { body: { name: 'New' } }),
    () => world.call(token, 'PUT', `/workspaces/${first}/members/${guest.id}`, { body: { role: 'viewer' } }),
    () => world.call(token, 'DELETE', `/workspaces/${first}/members/${guest.id}`),
    () => world.call(token, 'DELETE', `/workspaces/${first}`),
    () => world.call(token, 'POST', `/workspaces/${first}/restore`),
    () => world.call(token, 'POST', `${organization}/transfer-ownership`, { body: { user_id: users.owner.id } }),
  ];

  for (const [at, write] of writes.entries()) {
    const { status, statements } = await statementsOf(write);
    expect({ at, isDone: status < 300 }).toEqual({ at, isDone: true });
    const own = statements.filter((sql) => !sql.includes('gate_') && !/from "outbox"|update "outbox"/.test(sql));
    expect({ at, isWithin: own.length <= 6, own }).toMatchObject({ at, isWithin: true });
    expect(seen.filter((sql) => /^commit/i.test(sql)).length).toBeLessThanOrEqual(1);
  }
});
