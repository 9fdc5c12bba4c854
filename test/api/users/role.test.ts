import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { TestTenant } from '../../support/tenant.ts';
import { openPeople, type People } from './people.ts';

let people: People;
/** A second process of the same deployment. */
let second: People;

beforeAll(async () => {
  people = await openPeople();
  const { database, keys, redisPrefix } = people.api;
  second = await openPeople({ database, keys, redisPrefix });
});

afterAll(async () => {
  await second.close();
  await people.close();
});

const setRole = (token: string, id: string, body: object) => people.call(token, 'PUT', `/users/${id}/role`, { body });

test('a role counts on the next request of every process, and of the keys that its holder made', async () => {
  const { tokens, users, organizationOwner, organizationAdmin } = await people.tenant();
  const key = await people.call(tokens.admin, 'POST', '/service-keys', { body: { name: 'k', role: 'admin' } });
  const listedBy = async (world: People, credential: string) => (await world.call(credential, 'GET', '/users')).status;
  const warm = await Promise.all(
    [people, second].flatMap((world) => [tokens.admin, key.body.plaintext].map((who) => listedBy(world, who))),
  );

  const changed = await setRole(organizationOwner.token, users.admin.id, { role: 'viewer' });
  const after = await Promise.all(
    [people, second].flatMap((world) => [tokens.admin, key.body.plaintext].map((who) => listedBy(world, who))),
  );

  expect(warm).toEqual([200, 200, 200, 200]);
  expect(changed).toMatchObject({ status: 200, body: { role: 'viewer', scope: 'workspace' } });
  expect(after).toEqual([403, 403, 403, 403]);
  expect(await listedBy(second, organizationAdmin.token)).toBe(200);
  expect(await people.entriesOf(users.admin.id)).toMatchObject([
    { action: 'update', operation_id: 'setUserRole', changes: { role: { from: 'admin', to: 'viewer' } } },
  ]);
});

test('in a race of demotion and use of a key on another process, whatever starts after the reply is refused', async () => {
  const { tokens, users, organizationOwner } = await people.tenant();
  const key = await people.call(tokens.admin, 'POST', '/service-keys', { body: { name: 'k', role: 'admin' } });
  let isDone = false;
  const late: number[] = [];
  const useAlways = async () => {
    for (let n = 0; n < 40; n += 1) {
      const startedAfter = isDone;
      const { status } = await second.call(key.body.plaintext, 'GET', '/users');
      if (startedAfter) late.push(status);
    }
  };
  const demote = async () => {
    const { status } = await setRole(organizationOwner.token, users.admin.id, { role: 'member' });
    isDone = status === 200;
  };

  await Promise.all([useAlways(), useAlways(), demote()]);

  expect(late.length).toBeGreaterThan(0);
  expect(new Set(late)).toEqual(new Set([403]));
});

test('nobody gives a rank above their own, or changes who outranks them', async () => {
  const tenant = await people.tenant();
  const { tokens, users, organizationAdmin, organizationOwner } = tenant;

  const raised = await setRole(tokens.admin, users.viewer.id, { role: 'owner' });
  const oneself = await setRole(tokens.admin, users.admin.id, { role: 'owner' });
  const outranked = await setRole(tokens.admin, users.owner.id, { role: 'viewer' });
  const owner = await setRole(organizationAdmin.token, organizationOwner.id, { role: 'viewer' });
  const crossing = await setRole(organizationAdmin.token, users.owner.id, { role: 'viewer' });
  const operator = await setRole(organizationOwner.token, users.viewer.id, { role: 'operator', scope: 'platform' });

  for (const refused of [raised, oneself, outranked, owner, crossing])
    expect(refused).toMatchObject({ status: 403, body: { code: 'role_insufficient', context: { reason: 'rank' } } });
  expect(operator).toMatchObject({ status: 403, body: { code: 'role_insufficient' } });
});

test('the scope organization and another home are given by callers of the whole organization only', async () => {
  const tenant = await people.tenant({ workspaces: 2 });
  const { tokens, users, organizationAdmin, organizationOwner } = tenant;
  const [, other = ''] = tenant.workspaceIds;
  const { id } = users.member;

  const wider = await setRole(tokens.owner, id, { role: 'member', scope: 'organization' });
  const elsewhere = await setRole(tokens.owner, id, { role: 'member', scope: 'workspace', workspace_id: other });
  const ofWider = await setRole(tokens.owner, organizationAdmin.id, { role: 'viewer' });
  const moved = await setRole(organizationAdmin.token, id, { role: 'member', scope: 'workspace', workspace_id: other });
  const widened = await setRole(organizationAdmin.token, id, { role: 'admin', scope: 'organization' });
  const narrowed = await setRole(organizationOwner.token, id, { role: 'viewer', scope: 'workspace', workspace_id: other });

  for (const refused of [wider, elsewhere])
    expect(refused).toMatchObject({ status: 403, body: { code: 'role_insufficient', context: { reason: 'scope_too_wide' } } });
  expect(ofWider).toMatchObject({ status: 403, body: { code: 'resource_forbidden' } });
  expect(moved).toMatchObject({ status: 200, body: { scope: 'workspace', workspace_id: other } });
  expect(widened).toMatchObject({ status: 200, body: { role: 'admin', scope: 'organization', workspace_id: null } });
  expect(narrowed).toMatchObject({ status: 200, body: { role: 'viewer', scope: 'workspace', workspace_id: other } });
});

test('role, scope and workspace go together', async () => {
  const [tenant, foreign] = await Promise.all([people.tenant({ workspaces: 2 }), people.tenant()]);
  const { token } = tenant.organizationOwner;
  const { id } = tenant.users.member;
  const [, other = ''] = tenant.workspaceIds;
  await people.rows('update workspaces set is_active = false, archived_at = now() where id = ? returning 1', [other]);
  const ruleOf = async (body: object) => {
    const { status, body: told } = await setRole(token, id, { role: 'member', ...body });
    return [status, told.errors?.[0]?.pointer ?? told.code ?? told.workspace_id];
  };

  expect(await ruleOf({ workspace_id: other })).toEqual([422, '/workspace_id']);
  expect(await ruleOf({ workspace_id: tenant.workspaceId })).toEqual([200, tenant.workspaceId]);
  expect(await ruleOf({ scope: 'organization', workspace_id: other })).toEqual([422, '/workspace_id']);
  expect(await ruleOf({ scope: 'workspace', workspace_id: foreign.workspaceId })).toEqual([422, '/workspace_id']);
  expect(await ruleOf({ scope: 'workspace', workspace_id: other })).toEqual([423, 'resource_frozen']);
  expect(await ruleOf({ scope: 'organization' })).toEqual([200, null]);
  // The organization's only active one.
  expect(await ruleOf({ scope: 'workspace' })).toEqual([200, tenant.workspaceId]);

  const view = { 'x-view-organization': tenant.organizationId };
  const operator = await people.call(tenant.tokens.operator, 'PUT', `/users/${id}/role`, {
    body: { role: 'operator', scope: 'platform' },
  });
  const narrowed = await people.call(tenant.tokens.operator, 'PUT', `/users/${id}/role`, { body: { role: 'operator' }, headers: view });
  expect(operator).toMatchObject({ status: 422, body: { errors: [{ pointer: '/scope' }] } });
  expect(narrowed).toMatchObject({ status: 422, body: { errors: [{ pointer: '/role' }] } });
});

test('operators stay operators, and one ends another', async () => {
  const [mine, other] = await Promise.all([people.tenant(), people.tenant()]);
  const { operator } = other.users;

  const same = await setRole(mine.tokens.operator, operator.id, { role: 'operator' });
  const lower = await setRole(mine.tokens.operator, operator.id, { role: 'admin' });
  const tenant = await setRole(mine.tokens.operator, operator.id, { role: 'admin', scope: 'organization' });
  const gone = await people.call(mine.tokens.operator, 'DELETE', `/users/${operator.id}`);

  expect(same.status).toBe(200);
  expect(lower).toMatchObject({ status: 422, body: { errors: [{ pointer: '/role' }] } });
  expect(tenant).toMatchObject({ status: 422, body: { errors: [{ pointer: '/scope' }] } });
  expect(gone.status).toBe(204);
  expect((await people.call(operator.token, 'GET', '/auth/me')).status).toBe(401);
});

test('grants end with a home that takes their place, and sessions follow the home', async () => {
  const tenant = await people.tenant({ workspaces: 3 });
  const [, home = '', third = ''] = tenant.workspaceIds;
  const { users, organizationAdmin } = tenant;
  const grants = () =>
    people.rows<{ workspace_id: string }>('select workspace_id from workspace_grants where user_id = ? order by workspace_id', [
      users.member.id,
    ]);
  await people.rows(
    `insert into workspace_grants (workspace_id, user_id, organization_id, role) select w, ?::uuid, ?::uuid, 'viewer' from unnest(?::uuid[]) w returning 1`,
    [users.member.id, tenant.organizationId, [home, third]],
  );

  await setRole(organizationAdmin.token, users.member.id, { role: 'member', scope: 'workspace', workspace_id: home });
  const afterMove = await grants();
  const me = await people.call(users.member.token, 'GET', '/auth/me');
  await setRole(organizationAdmin.token, users.member.id, { role: 'member', scope: 'organization' });

  expect(afterMove.map(({ workspace_id: id }) => id)).toEqual([third]);
  expect(me.body).toMatchObject({ workspace_id: home });
  expect(await grants()).toEqual([]);
  expect(await people.rows('select workspace_id from sessions where user_id = ?', [users.member.id])).toEqual([{ workspace_id: null }]);
});

test('an organization keeps its last active owner, also when two leave at once on two processes', async () => {
  const tenant = await people.tenant();
  const { organizationOwner, users, tokens } = tenant;
  const alone = await setRole(organizationOwner.token, organizationOwner.id, { role: 'admin' });
  const narrowed = await setRole(organizationOwner.token, organizationOwner.id, {
    role: 'owner',
    scope: 'workspace',
    workspace_id: tenant.workspaceId,
  });
  const other = await people.user(tenant, { role: 'owner', scope: 'organization' });

  const both = await Promise.all([
    setRole(organizationOwner.token, organizationOwner.id, { role: 'admin' }),
    second.call(other.token, 'PUT', `/users/${other.id}/role`, { body: { role: 'admin' } }),
  ]);
  const same = await setRole(tokens.owner, users.owner.id, { role: 'admin' });

  for (const refused of [alone, narrowed])
    expect(refused).toMatchObject({ status: 409, body: { code: 'state_conflict', context: { reason: 'last_owner' } } });
  expect(both.map(({ status }) => status).toSorted()).toEqual([200, 409]);
  // An owner of a workspace is no owner of the organization.
  expect(same.status).toBe(200);
});

test('asking for the standing that holds changes nothing and is audited', async () => {
  const { tokens, users } = await people.tenant();
  const before = await people.call(tokens.admin, 'GET', `/users/${users.viewer.id}`);

  const again = await setRole(tokens.admin, users.viewer.id, { role: 'viewer' });

  expect(again).toMatchObject({ status: 200, body: before.body });
  expect(await people.entriesOf(users.viewer.id)).toMatchObject([{ changes: {} }]);
});

test('role, state and deletion of users are done in nobody else’s name', async () => {
  const tenant: TestTenant = await people.tenant();
  const headers = { 'x-acting-user': tenant.users.admin.id };
  const { id } = tenant.users.viewer;
  const refuse = (method: 'PUT' | 'POST' | 'DELETE', path: string, body?: object) =>
    people.call(tenant.tokens.owner, method, `/users/${id}${path}`, { headers, body });

  const answers = [
    await refuse('PUT', '/role', { role: 'viewer' }),
    await refuse('POST', '/deactivate'),
    await refuse('POST', '/reactivate'),
  ];
  const deletion = await people.call(tenant.organizationOwner.token, 'DELETE', `/users/${id}`, {
    headers: { 'x-acting-user': tenant.users.owner.id },
  });

  for (const refused of [...answers, deletion])
    expect(refused).toMatchObject({ status: 403, body: { code: 'resource_forbidden', context: { reason: 'delegation_not_allowed' } } });
});
