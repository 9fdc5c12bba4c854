import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { goodPassword, newAddress, openPeople, type People } from './people.ts';

let people: People;
const seen: string[] = [];

beforeAll(async () => {
  people = await openPeople({ onQuery: (sql) => seen.push(sql) });
});

afterAll(() => people.close());

const isFrame = (sql: string) => /^(begin|commit|rollback|set |select set_config)/i.test(sql);
// Of the credential before, and of the relay after the commit.
const isAround = (sql: string) => /gate_(session|service_key)\(|from "outbox"|update "outbox"/.test(sql);

async function statementsOf(work: () => Promise<{ status: number }>): Promise<{ status: number; own: string[]; all: string[] }> {
  seen.length = 0;
  const { status } = await work();
  const all = seen.filter((sql) => !isFrame(sql) && !/from "outbox"|update "outbox"/.test(sql));
  return { status, all, own: all.filter((sql) => !isAround(sql)) };
}

test('reads of users and invitations take at most 3 statements with authentication', async () => {
  const tenant = await people.tenant();
  const { tokens, organizationOwner, workspaceId, users } = tenant;
  const made = await people.call(tokens.admin, 'POST', '/invitations', { body: { email: newAddress(), role: 'viewer' } });
  const paths = [
    '/users',
    '/users?offset=0&q=a&role=viewer',
    `/users/${users.viewer.id}`,
    '/invitations',
    `/invitations?offset=0&status=pending&workspace_id=${workspaceId}`,
    `/invitations/${made.body.id}`,
  ];

  for (const token of [organizationOwner.token, tokens.admin, tokens.operator]) {
    for (const path of paths) {
      const { status, all } = await statementsOf(() => people.call(token, 'GET', path));
      expect({ path, status, isWithin: all.length <= 3, all }).toMatchObject({ path, status: 200, isWithin: true });
    }
  }
});

test('ending a person takes a fixed number of statements, whatever they hold', async () => {
  const tenant = await people.tenant();
  const { token } = tenant.organizationOwner;
  const counts = async (role: 'viewer' | 'admin') => {
    const { id } = tenant.users[role];
    const off = await statementsOf(() => people.call(token, 'POST', `/users/${id}/deactivate`));
    const gone = await statementsOf(() => people.call(token, 'DELETE', `/users/${id}`));
    expect([off.status, gone.status]).toEqual([200, 204]);
    return [off.own.length, gone.own.length];
  };
  for (let n = 0; n < 3; n += 1) await people.call(tenant.tokens.admin, 'POST', '/service-keys', { body: { name: `k${n}` } });

  const [withNothing, withKeys] = [await counts('viewer'), await counts('admin')];

  expect(withKeys).toEqual(withNothing);
  expect(Math.max(...withKeys)).toBeLessThanOrEqual(6);
});

test('an owner is ended, and a user moved, within 6 statements', async () => {
  const tenant = await people.tenant({ workspaces: 2 });
  const [, other = ''] = tenant.workspaceIds;
  const { token } = tenant.organizationOwner;
  const { id } = await people.user(tenant, { role: 'owner', scope: 'organization' });
  const moved = { role: 'viewer', scope: 'workspace', workspace_id: other };

  const writes = [
    () => people.call(token, 'PUT', `/users/${tenant.users.member.id}/role`, { body: moved }),
    () => people.call(token, 'POST', `/users/${id}/deactivate`),
    () => people.call(token, 'DELETE', `/users/${id}`),
  ];

  for (const write of writes) {
    const { status, own } = await statementsOf(write);
    expect({ isDone: status < 300, isWithin: own.length <= 6, own }).toMatchObject({ isDone: true, isWithin: true });
  }
});

test('writes of users and invitations take at most 6 statements', async () => {
  const tenant = await people.tenant();
  const { token } = tenant.organizationOwner;
  const { id } = tenant.users.member;
  const user = () => ({ email: newAddress(), role: 'viewer', scope: 'workspace', workspace_id: tenant.workspaceId });
  const invited = await people.call(token, 'POST', '/invitations', { body: { email: newAddress(), role: 'viewer' } });
  const mailed = await people.tokenOf(invited.body.id);
  const again = await people.call(token, 'POST', '/invitations', { body: { email: newAddress(), role: 'viewer' } });
  const writes = {
    createUser: () => people.call(token, 'POST', '/users', { body: { ...user(), password: goodPassword } }),
    createUserByMail: () => people.call(token, 'POST', '/users', { body: user() }),
    updateUser: () => people.call(token, 'PATCH', `/users/${id}`, { body: { full_name: 'Ada' } }),
    setUserRole: () => people.call(token, 'PUT', `/users/${id}/role`, { body: { role: 'viewer' } }),
    reactivateUser: () => people.call(token, 'POST', `/users/${id}/reactivate`),
    createInvitation: () => people.call(token, 'POST', '/invitations', { body: { email: newAddress(), role: 'viewer' } }),
    resendInvitation: () => people.call(token, 'POST', `/invitations/${again.body.id}/resend`),
    revokeInvitation: () => people.call(token, 'DELETE', `/invitations/${again.body.id}`),
    acceptInvitation: () => people.ask('POST', '/invitations/accept', { token: mailed, email: invited.body.email, password: goodPassword }),
  };

  for (const [name, write] of Object.entries(writes)) {
    const { status, own } = await statementsOf(write);
    expect({ name, isDone: status < 300, isWithin: own.length <= 6, own }).toMatchObject({ name, isDone: true, isWithin: true });
  }
});
