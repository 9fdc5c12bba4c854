import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sweep } from '../../../db/transaction.ts';
import { change, rows } from '../../../db/sql.ts';
import { makeUser } from '../../support/tenant.ts';
import { openWorld, type World } from '../world.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});

afterAll(() => world.close());

const set = (sql: string, params: readonly unknown[]) => sweep(world.api.db, (em) => change(em, sql, params));
const grant = (token: string, workspaceId: string, userId: string, role: string, headers = {}) =>
  world.call(token, 'PUT', `/workspaces/${workspaceId}/members/${userId}`, { body: { role }, headers });
const end = (token: string, workspaceId: string, userId: string) =>
  world.call(token, 'DELETE', `/workspaces/${workspaceId}/members/${userId}`);

/** A tenant of two workspaces with a further member at home in the second. */
async function twoRooms() {
  const tenant = await world.tenant({ workspaces: 2 });
  const [first = '', second = ''] = tenant.workspaceIds;
  const { organizationId } = tenant;
  const guest = await makeUser(world.api.db, world.api.keys, { role: 'member', scope: 'workspace', organizationId, workspaceId: second });
  return { ...tenant, first, second, guest };
}

test('a grant lets a user of another workspace in at once, with the lower of two roles, and its end out', async () => {
  const { first, guest, organizationAdmin } = await twoRooms();
  const read = () => world.call(guest.token, 'GET', `/workspaces/${first}`);
  const before = await read();

  const granted = await grant(organizationAdmin.token, first, guest.id, 'viewer');
  const within = await read();
  const write = await world.call(guest.token, 'POST', '/agents', { body: { slug: 'a', name: 'A', workspace_id: first } });
  const raised = await grant(organizationAdmin.token, first, guest.id, 'member');
  const allowed = await world.call(guest.token, 'POST', '/agents', { body: { slug: 'a', name: 'A', workspace_id: first } });
  const ended = await end(organizationAdmin.token, first, guest.id);
  const after = await read();

  expect([before.status, within.status, after.status]).toEqual([404, 200, 404]);
  expect(granted).toMatchObject({
    status: 200,
    body: {
      workspace_id: first,
      user_id: guest.id,
      email: guest.email,
      full_name: null,
      role: 'viewer',
      home_role: 'member',
      source: 'grant',
      is_active: true,
      granted_by_user_id: organizationAdmin.id,
    },
  });
  expect(write).toMatchObject({ status: 403, body: { code: 'role_insufficient' } });
  expect(raised.body).toMatchObject({ role: 'member' });
  expect(allowed.status).toBe(201);
  expect(ended.status).toBe(204);
});

test('every change is in the log once; a role that is held already changes nothing', async () => {
  const { first, guest, organizationAdmin, organizationOwner } = await twoRooms();

  const made = await grant(organizationAdmin.token, first, guest.id, 'viewer');
  const same = await grant(organizationOwner.token, first, guest.id, 'viewer');
  await grant(organizationOwner.token, first, guest.id, 'member');
  await end(organizationAdmin.token, first, guest.id);

  expect(same.body).toEqual(made.body);
  const entries = await sweep(world.api.db, (em) =>
    rows<object>(
      em,
      `select action, resource_type, resource_id, resource_label, changes from audit_entries
        where workspace_id = ? and operation_id like '%WorkspaceMember' order by id`,
      [first],
    ),
  );
  const common = { action: 'update', resource_type: 'workspace_member', resource_id: guest.id, resource_label: null };
  expect(entries).toEqual([
    { ...common, changes: { role: { from: null, to: 'viewer' } } },
    { ...common, changes: {} },
    { ...common, changes: { role: { from: 'viewer', to: 'member' } } },
    { ...common, changes: { role: { from: 'member', to: null } } },
  ]);
});

test('the list shows home, granted and organization-wide members, with filters', async () => {
  const { first, guest, organizationAdmin, organizationOwner, users, tokens } = await twoRooms();
  await grant(organizationAdmin.token, first, guest.id, 'member');
  await set("update users set role = 'viewer', full_name = 'Ann 100% O_Neil' where id = ?", [guest.id]);
  await set('update users set is_active = false where id = ?', [users.member.id]);
  const list = async (query = '') => {
    const { body } = await world.call(tokens.viewer, 'GET', `/workspaces/${first}/members?${query}`);
    return body.items.map(({ user_id }: { user_id: string }) => user_id);
  };
  const everybody = [users.viewer, users.member, users.admin, users.owner, organizationOwner, organizationAdmin, guest].map(({ id }) => id);

  expect(await list()).toEqual(everybody.toSorted().toReversed());
  expect(await list('source=grant')).toEqual([guest.id]);
  expect((await list('source=organization')).toSorted()).toEqual([organizationOwner.id, organizationAdmin.id].toSorted());
  expect((await list('role=viewer')).toSorted()).toEqual([users.viewer.id, guest.id].toSorted());
  expect(await list('is_active=false')).toEqual([users.member.id]);
  expect(await list(`q=${users.admin.email.toUpperCase()}`)).toEqual([users.admin.id]);
  expect(await list('q=100%25+o_')).toEqual([guest.id]);
  expect(await list('q=1%25%25')).toEqual([]);
  const page = await world.call(tokens.viewer, 'GET', `/workspaces/${first}/members?limit=4`);
  expect((await list(`limit=4&cursor=${page.body.next_cursor}`)).length).toBe(3);
  const shown = await world.call(tokens.viewer, 'GET', `/workspaces/${first}/members?source=grant`);
  expect(shown.body.items).toMatchObject([{ role: 'viewer', home_role: 'viewer', granted_by_user_id: organizationAdmin.id }]);
});

test('members of a workspace out of sight are 404, of a visible one without a match none', async () => {
  const { first, second, tokens } = await twoRooms();
  const other = await world.tenant();
  const list = (token: string, id: string, query = '') => world.call(token, 'GET', `/workspaces/${id}/members${query}`);

  expect((await list(tokens.owner, second)).status).toBe(404);
  expect((await list(tokens.owner, other.workspaceId)).status).toBe(404);
  expect((await list(tokens.operator, '01900000-0000-7000-8000-000000000001')).status).toBe(404);
  expect(await list(tokens.viewer, first, '?q=nobody-is-called-so')).toMatchObject({ status: 200, body: { items: [] } });
});

test('who is a member without a grant is not granted anything', async () => {
  const { first, organizationAdmin, organizationOwner, users } = await twoRooms();
  const refusals = async (userId: string) =>
    [await grant(organizationOwner.token, first, userId, 'viewer'), await end(organizationOwner.token, first, userId)].map(
      ({ status, body }) => [status, body.code, body.context.reason],
    );
  const conflict = (reason: string) => Array.from({ length: 2 }, () => [409, 'state_conflict', reason]);

  expect(await refusals(users.member.id)).toEqual(conflict('home_member'));
  expect(await refusals(organizationAdmin.id)).toEqual(conflict('organization_scoped'));
});

test('a grant is at most the home role, and at most the rank of who gives it', async () => {
  const { first, second, guest, organizationId, organizationAdmin, organizationOwner, users, tokens } = await twoRooms();
  const boss = await makeUser(world.api.db, world.api.keys, { role: 'owner', scope: 'workspace', organizationId, workspaceId: second });

  expect(await grant(organizationAdmin.token, first, guest.id, 'admin')).toMatchObject({
    status: 409,
    body: { code: 'state_conflict', context: { reason: 'above_home_role' } },
  });
  for (const role of ['owner', 'viewer']) {
    expect(await grant(organizationAdmin.token, first, boss.id, role)).toMatchObject({
      status: 403,
      body: { code: 'role_insufficient', context: { reason: 'rank' } },
    });
  }
  expect((await grant(organizationOwner.token, first, boss.id, 'owner')).status).toBe(200);
  expect(await end(organizationAdmin.token, first, boss.id)).toMatchObject({ status: 403, body: { context: { reason: 'rank' } } });
  // An owner at home who is an admin here gives no rank above admin here.
  await grant(organizationOwner.token, second, users.owner.id, 'admin');
  await grant(organizationOwner.token, second, users.admin.id, 'viewer');
  expect(await grant(tokens.owner, second, users.admin.id, 'owner')).toMatchObject({ status: 403, body: { context: { reason: 'rank' } } });
  expect((await grant(tokens.owner, second, users.admin.id, 'admin')).status).toBe(200);
});

test('a user whom the caller does not see is 404 and gets nothing', async () => {
  const { first, guest, users, tokens, organizationAdmin, serviceKey } = await twoRooms();
  const other = await world.tenant();

  for (const userId of [other.users.viewer.id, users.operator.id, '01900000-0000-7000-8000-000000000001']) {
    expect((await grant(organizationAdmin.token, first, userId, 'viewer')).status).toBe(404);
    expect((await end(organizationAdmin.token, first, userId)).status).toBe(404);
  }
  expect((await grant(tokens.admin, first, guest.id, 'viewer')).status).toBe(404);
  expect((await grant(serviceKey.plaintext, first, guest.id, 'viewer')).status).toBe(404);
  expect((await grant(other.organizationOwner.token, first, other.users.viewer.id, 'viewer')).status).toBe(404);
  expect((await end(organizationAdmin.token, first, guest.id)).status).toBe(404);
  const granted = await sweep(world.api.db, (em) => rows<object>(em, 'select role from workspace_grants where workspace_id = ?', [first]));
  expect(granted).toEqual([]);
  await grant(organizationAdmin.token, first, guest.id, 'member');
  expect((await grant(tokens.admin, first, guest.id, 'viewer')).status).toBe(200);
  await set('update users set deleted_at = now() where id = ?', [guest.id]);
  expect((await grant(organizationAdmin.token, first, guest.id, 'viewer')).status).toBe(404);
});

test('members and below grant nothing; nobody grants in the name of another; what is no role is 422', async () => {
  const { first, guest, organizationAdmin, organizationOwner, tokens } = await twoRooms();

  expect(await grant(tokens.member, first, guest.id, 'viewer')).toMatchObject({ status: 403, body: { code: 'role_insufficient' } });
  expect(await grant(organizationOwner.token, first, guest.id, 'viewer', { 'x-acting-user': organizationAdmin.id })).toMatchObject({
    status: 403,
    body: { code: 'resource_forbidden', context: { reason: 'delegation_not_allowed' } },
  });
  for (const role of ['operator', '', 'Owner']) expect((await grant(organizationOwner.token, first, guest.id, role)).status).toBe(422);
});

test('no grant is made in an archived workspace, but one can be ended', async () => {
  const { first, guest, organizationOwner } = await twoRooms();
  await grant(organizationOwner.token, first, guest.id, 'viewer');
  await world.call(organizationOwner.token, 'DELETE', `/workspaces/${first}`);

  expect(await grant(organizationOwner.token, first, guest.id, 'member')).toMatchObject({
    status: 423,
    body: { context: { reason: 'workspace_archived' } },
  });
  expect((await end(organizationOwner.token, first, guest.id)).status).toBe(204);
});

test('parallel grants and ends of one user leave one row or none, and nothing above the home role of the moment', async () => {
  const { first, guest, organizationOwner } = await twoRooms();

  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, n) =>
      n % 3 === 2
        ? end(organizationOwner.token, first, guest.id)
        : grant(organizationOwner.token, first, guest.id, n % 2 === 0 ? 'viewer' : 'member'),
    ),
  );
  await set("update users set role = 'viewer' where id = ?", [guest.id]);
  const refused = await grant(organizationOwner.token, first, guest.id, 'member');

  expect(answers.every(({ status }) => [200, 204, 404].includes(status))).toBe(true);
  expect(refused).toMatchObject({ status: 409, body: { context: { reason: 'above_home_role' } } });
});
