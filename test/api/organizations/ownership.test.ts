import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sweep } from '../../../db/transaction.ts';
import { change, rows } from '../../../db/sql.ts';
import { makeUser, type TestTenant } from '../../support/tenant.ts';
import { openWorld, type World } from '../world.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});

afterAll(() => world.close());

const transfer = (token: string, organizationId: string, body: object) =>
  world.call(token, 'POST', `/organizations/${organizationId}/transfer-ownership`, { body });

const usersOf = (...ids: readonly string[]) =>
  sweep(world.api.db, async (em) => {
    const found = await rows<{ id: string }>(em, 'select id, role, scope, workspace_id, version from users where id = any(?::uuid[])', [
      ids,
    ]);
    return ids.map((id) => found.find((user) => user.id === id));
  });

const ownersOf = ({ organizationId }: TestTenant) =>
  sweep(world.api.db, async (em) => {
    const found = await rows<{ id: string }>(
      em,
      "select id from users where organization_id = ? and role = 'owner' and scope = 'organization' and is_active and deleted_at is null",
      [organizationId],
    );
    return found.map(({ id }) => id);
  });

test('in one step the target becomes an owner of the whole organization and the giver an admin', async () => {
  const tenant = await world.tenant({ workspaces: 2 });
  const { organizationId, organizationOwner, users, workspaceIds } = tenant;
  await world.call(organizationOwner.token, 'PUT', `/workspaces/${workspaceIds[1]}/members/${users.member.id}`, {
    body: { role: 'member' },
  });

  const handed = await transfer(organizationOwner.token, organizationId, { user_id: users.member.id });
  const again = await transfer(organizationOwner.token, organizationId, { user_id: users.member.id });
  const bySuccessor = await world.call(users.member.token, 'PATCH', `/organizations/${organizationId}`, { body: { name: 'Mine' } });

  expect(handed).toMatchObject({ status: 200, body: { id: organizationId, status: 'active' } });
  expect(again).toMatchObject({ status: 403, body: { code: 'role_insufficient' } });
  expect(bySuccessor.status).toBe(200);
  expect(await usersOf(users.member.id, organizationOwner.id)).toEqual([
    { id: users.member.id, role: 'owner', scope: 'organization', workspace_id: null, version: 2 },
    { id: organizationOwner.id, role: 'admin', scope: 'organization', workspace_id: null, version: 2 },
  ]);
  const left = await sweep(world.api.db, (em) =>
    rows<object>(
      em,
      'select user_id from workspace_grants where user_id = ? union all select user_id from sessions where user_id = ? and workspace_id is not null',
      [users.member.id, users.member.id],
    ),
  );
  expect(left).toEqual([]);
  const entries = await sweep(world.api.db, (em) =>
    rows<object>(
      em,
      "select action, resource_type, resource_id, changes from audit_entries where organization_id = ? and operation_id = 'transferOwnership'",
      [organizationId],
    ),
  );
  expect(entries).toEqual([
    {
      action: 'update',
      resource_type: 'organization',
      resource_id: organizationId,
      changes: { owner: { from: organizationOwner.id, to: users.member.id } },
    },
  ]);
});

test('the target is an active user of the organization, and another than the giver', async () => {
  const [{ organizationId, organizationOwner, users }, other] = await Promise.all([world.tenant(), world.tenant()]);
  await sweep(world.api.db, (em) => change(em, 'update users set is_active = false where id = ?', [users.viewer.id]));
  const ask = (userId: string) => transfer(organizationOwner.token, organizationId, { user_id: userId });

  for (const id of [other.users.member.id, users.operator.id, '01900000-0000-7000-8000-000000000001']) {
    expect(await ask(id)).toMatchObject({ status: 422, body: { errors: [{ pointer: '/user_id', rule: 'reference' }] } });
  }
  expect(await ask(users.viewer.id)).toMatchObject({
    status: 409,
    body: { code: 'state_conflict', context: { reason: 'target_inactive' } },
  });
  expect(await ask(organizationOwner.id)).toMatchObject({ status: 409, body: { context: { reason: 'own_account' } } });
  expect(await usersOf(organizationOwner.id)).toMatchObject([{ role: 'owner', version: 1 }]);
});

test('only an owner of the whole organization hands over, by a session that was verified lately', async () => {
  const { organizationId, organizationOwner, organizationAdmin, users, tokens, serviceKey } = await world.tenant();
  const body = { user_id: users.admin.id };

  expect(await transfer(tokens.owner, organizationId, body)).toMatchObject({ status: 403, body: { code: 'resource_forbidden' } });
  expect(await transfer(organizationAdmin.token, organizationId, body)).toMatchObject({ status: 403, body: { code: 'role_insufficient' } });
  expect((await transfer(serviceKey.plaintext, organizationId, body)).status).toBe(403);
  expect((await transfer((await world.tenant()).organizationOwner.token, organizationId, body)).status).toBe(404);
  await sweep(world.api.db, (em) =>
    change(em, "update sessions set verified_at = now() - interval '11 minutes' where id = ?", [organizationOwner.sessionId]),
  );
  expect(await transfer(organizationOwner.token, organizationId, body)).toMatchObject({
    status: 401,
    body: { code: 'mfa_required', context: { reason: 'step_up_required' } },
  });
});

test('an operator names the giver, who must be an owner; nobody else may', async () => {
  const { organizationId, organizationOwner, users, tokens } = await world.tenant();
  const byOperator = (body: object) => transfer(tokens.operator, organizationId, body);
  const target = { user_id: users.admin.id };

  expect(await byOperator(target)).toMatchObject({ status: 422, body: { errors: [{ pointer: '/from_user_id', rule: 'required' }] } });
  expect(await byOperator({ ...target, from_user_id: users.owner.id })).toMatchObject({
    status: 409,
    body: { context: { reason: 'not_owner' } },
  });
  expect(await byOperator({ ...target, from_user_id: (await world.tenant()).organizationOwner.id })).toMatchObject({
    status: 422,
    body: { errors: [{ pointer: '/from_user_id', rule: 'reference' }] },
  });
  expect(await transfer(organizationOwner.token, organizationId, { ...target, from_user_id: organizationOwner.id })).toMatchObject({
    status: 403,
    body: { code: 'resource_forbidden', context: { reason: 'operator_only', field: 'from_user_id' } },
  });
  expect((await byOperator({ ...target, from_user_id: organizationOwner.id })).status).toBe(200);
  expect(await usersOf(users.admin.id, organizationOwner.id)).toMatchObject([{ role: 'owner', scope: 'organization' }, { role: 'admin' }]);
});

test('two owners who hand over to each other at once leave one owner', async () => {
  const tenant = await world.tenant();
  const { organizationId, organizationOwner, organizationAdmin, users } = tenant;
  const second = await makeUser(world.api.db, world.api.keys, { role: 'owner', scope: 'organization', organizationId, workspaceId: null });

  const answers = await Promise.all([
    transfer(organizationOwner.token, organizationId, { user_id: second.id }),
    transfer(second.token, organizationId, { user_id: organizationOwner.id }),
    transfer(organizationOwner.token, organizationId, { user_id: users.member.id }),
    transfer(second.token, organizationId, { user_id: organizationAdmin.id }),
  ]);

  expect(answers.every(({ status }) => [200, 403, 409].includes(status))).toBe(true);
  expect(answers.some(({ status }) => status === 200)).toBe(true);
  expect((await ownersOf(tenant)).length).toBeGreaterThan(0);
});

test('a frozen organization keeps its owner', async () => {
  const { organizationId, organizationOwner, users } = await world.tenant();
  await sweep(world.api.db, (em) => change(em, "update organizations set status = 'suspended' where id = ?", [organizationId]));

  expect(await transfer(organizationOwner.token, organizationId, { user_id: users.admin.id })).toMatchObject({ status: 423 });
});
