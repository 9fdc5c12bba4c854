import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { makeUser } from '../../support/tenant.ts';
import { makeAgent, openWorld, type World } from '../world.ts';
import { admin, impersonate, reason, request } from './client.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});

afterAll(() => world.close());

test('an operator works as a user: their role, their sight, and who they are to everybody', async () => {
  const { users, tokens, organizationId, workspaceId } = await world.tenant();
  const other = await world.tenant();
  const foreign = await makeAgent(world, other.tokens.admin);

  const { id, token, view } = await impersonate(world, tokens.operator, users.member.id);
  const me = await request(world, token, 'GET', '/auth/me');
  const seen = await request(world, token, 'GET', `/agents/${foreign.id}`);
  const made = await request(world, token, 'POST', '/agents', { body: { slug: 'as-member', name: 'A' } });

  expect(view).toMatchObject({
    token_type: 'Bearer',
    expires_in: 900,
    impersonation: {
      operator_user_id: users.operator.id,
      target_user_id: users.member.id,
      organization_id: organizationId,
      workspace_id: workspaceId,
      reason,
      ended_at: null,
      ended_by_user_id: null,
    },
  });
  expect(token).toMatch(/^lh_im_[A-Za-z0-9_-]{43}$/);
  expect(me).toMatchObject({
    status: 200,
    headers: { 'x-impersonation-id': id },
    body: {
      principal_kind: 'user',
      user: { id: users.member.id, email: users.member.email },
      role: 'member',
      scope: 'workspace',
      organization_id: organizationId,
      workspace_id: workspaceId,
      session: null,
      acting_user: null,
      impersonation_id: id,
      mfa: { fresh_until: null },
    },
  });
  expect(seen).toMatchObject({ status: 404, headers: { 'x-impersonation-id': id } });
  expect(made).toMatchObject({ status: 201, headers: { 'x-impersonation-id': id }, body: { created_by_user_id: users.member.id } });
});

test('what is done inside names operator, user and impersonation; start and end stand in the organization’s log', async () => {
  const { users, tokens, organizationId } = await world.tenant();
  const { id, token } = await impersonate(world, tokens.operator, users.member.id);

  const made = await request(world, token, 'POST', '/agents', { body: { slug: 'logged', name: 'A' } });
  await request(world, tokens.operator, 'DELETE', `/impersonations/${id}`);

  const entries = await admin(
    world,
    'select action, actor_kind, actor_id, actor_role, acting_user_id, impersonation_id, resource_type, outcome from audit_entries where organization_id = $1 order by id',
    [organizationId],
  );
  const byOperator = { actor_kind: 'operator', actor_id: users.operator.id, actor_role: 'operator', outcome: 'success' };
  expect(entries).toEqual([
    { ...byOperator, action: 'impersonate', acting_user_id: null, impersonation_id: null, resource_type: 'impersonation' },
    { ...byOperator, action: 'create', acting_user_id: users.member.id, impersonation_id: id, resource_type: 'agent' },
    { ...byOperator, action: 'impersonate', acting_user_id: null, impersonation_id: null, resource_type: 'impersonation' },
  ]);
  expect(made.status).toBe(201);
});

test('targets: unknown 422, operator 403, inactive 409; nobody else may start one, and its bounds hold', async () => {
  const { users, tokens, organizationId, workspaceId } = await world.tenant();
  const idle = await makeUser(world.api.db, world.api.keys, { role: 'member', scope: 'workspace', organizationId, workspaceId });
  await admin(world, 'update users set is_active = false where id = $1', [idle.id]);
  const start = (token: string, body: object) => request(world, token, 'POST', '/impersonations', { body });

  const unknown = await start(tokens.operator, { user_id: crypto.randomUUID(), reason });
  const operator = await start(tokens.operator, { user_id: users.operator.id, reason });
  const inactive = await start(tokens.operator, { user_id: idle.id, reason });
  const byOwner = await start(tokens.owner, { user_id: users.member.id, reason });
  const tooLong = await start(tokens.operator, { user_id: users.member.id, reason, minutes: 61 });
  const tooShort = await start(tokens.operator, { user_id: users.member.id, reason: 'why not' });

  expect(unknown).toMatchObject({ status: 422, body: { errors: [{ pointer: '/user_id', rule: 'reference' }] } });
  expect(operator).toMatchObject({ status: 403, body: { code: 'role_insufficient' } });
  expect(inactive).toMatchObject({ status: 409, body: { code: 'state_conflict', context: { reason: 'target_inactive' } } });
  expect(byOwner).toMatchObject({ status: 403, body: { code: 'role_insufficient' } });
  expect(tooLong.status).toBe(422);
  expect(tooShort.status).toBe(422);
});

test('an ended, expired, or orphaned token is refused on the next request of any process', async () => {
  const { users, tokens } = await world.tenant();
  const second = await openWorld({ keys: world.api.keys, database: world.api.database, redisPrefix: world.api.redisPrefix });
  const dead = async (end: (id: string) => Promise<unknown>) => {
    const { id, token } = await impersonate(world, tokens.operator, users.member.id);
    const alive = await request(second, token, 'GET', '/auth/me');
    await end(id);
    const after = await request(second, token, 'GET', '/auth/me');
    return [alive.status, after.status, after.body.code, after.headers['www-authenticate'] !== undefined];
  };

  expect(await dead((id) => request(world, tokens.operator, 'DELETE', `/impersonations/${id}`))).toEqual([
    200,
    401,
    'session_revoked',
    true,
  ]);
  expect(await dead((id) => admin(world, 'update impersonations set expires_at = now() where id = $1', [id]))).toEqual([
    200,
    401,
    'token_expired',
    true,
  ]);
  expect(await dead(() => admin(world, 'update users set is_active = false where id = $1', [users.member.id]))).toEqual([
    200,
    401,
    'session_revoked',
    true,
  ]);
  await admin(world, 'update users set is_active = true where id = $1', [users.member.id]);
  expect(await dead(() => admin(world, 'update users set is_active = false where id = $1', [users.operator.id]))).toEqual([
    200,
    401,
    'session_revoked',
    true,
  ]);
  await second.close();
});

test('garbled and unknown tokens are 401 and cost at most one query', async () => {
  const unknown = await request(world, `lh_im_${'A'.repeat(43)}`, 'GET', '/auth/me');
  const garbled = await request(world, 'lh_im_short', 'GET', '/auth/me');
  const asKey = await world.api.app.inject({ url: '/auth/me', headers: { 'x-api-key': `lh_im_${'A'.repeat(43)}` } });

  expect(unknown).toMatchObject({ status: 401, body: { code: 'credential_invalid' } });
  expect(garbled).toMatchObject({ status: 401, body: { code: 'credential_invalid' } });
  expect(asKey.statusCode).toBe(401);
});

test('no nesting, no acting user, no narrowing, no sign-in matters: each 403 is recorded as denied', async () => {
  const { users, tokens, organizationOwner, organizationId } = await world.tenant();
  const { id, token } = await impersonate(world, tokens.operator, organizationOwner.id);

  const nested = await request(world, token, 'POST', '/impersonations', { body: { user_id: users.member.id, reason } });
  const acting = await request(world, token, 'GET', '/agents', { headers: { 'x-acting-user': users.member.id } });
  const narrowed = await request(world, token, 'GET', '/agents', { headers: { 'x-view-organization': organizationId } });
  const key = await request(world, token, 'POST', '/service-keys', { body: { name: 'mine' } });

  expect(nested).toMatchObject({ status: 403, body: { code: 'role_insufficient' } });
  expect(acting).toMatchObject({ status: 403, body: { code: 'resource_forbidden', context: { reason: 'delegation_not_allowed' } } });
  expect(narrowed).toMatchObject({ status: 403, body: { code: 'role_insufficient' } });
  expect(key).toMatchObject({ status: 403, body: { code: 'resource_forbidden', context: { reason: 'impersonated' } } });
  for (const refused of [nested, acting, narrowed, key]) expect(refused.headers['x-impersonation-id']).toBe(id);
  const denied = await admin(
    world,
    "select operation_id, action, actor_id, acting_user_id, impersonation_id, organization_id from audit_entries where outcome = 'denied' and impersonation_id = $1 order by id",
    [id],
  );
  const common = {
    actor_id: users.operator.id,
    acting_user_id: organizationOwner.id,
    impersonation_id: id,
    organization_id: organizationId,
  };
  expect(denied).toEqual([
    { ...common, operation_id: 'startImpersonation', action: 'impersonate' },
    { ...common, operation_id: 'listAgents', action: 'impersonate' },
    { ...common, operation_id: 'listAgents', action: 'impersonate' },
    { ...common, operation_id: 'createServiceKey', action: 'create' },
  ]);
});

test('a 403 of the handler is recorded although its transaction is rolled back, and a 404 is not', async () => {
  const { users, tokens, organizationAdmin } = await world.tenant();
  const shared = await makeAgent(world, organizationAdmin.token, { scope: 'organization' });
  const { id, token } = await impersonate(world, tokens.operator, users.admin.id);

  const forbidden = await request(world, token, 'PATCH', `/agents/${shared.id}`, { body: { name: 'x' } });
  const missing = await request(world, token, 'PATCH', `/agents/${crypto.randomUUID()}`, { body: { name: 'x' } });

  expect(forbidden.status).toBe(403);
  expect(missing.status).toBe(404);
  expect(
    await admin(world, 'select action, resource_type, resource_id, outcome from audit_entries where impersonation_id = $1', [id]),
  ).toEqual([{ action: 'update', resource_type: 'agent', resource_id: shared.id, outcome: 'denied' }]);
});

test('all writes of Authentication and Sessions, and what is flagged, are closed to an impersonation', async () => {
  const { tokens, organizationOwner } = await world.tenant();
  const { token } = await impersonate(world, tokens.operator, organizationOwner.id);
  const { source } = await documentOf();
  const closedAreas = new Set(['Authentication', 'Sessions']);
  const writes = Object.entries(source.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) =>
      closedAreas.has(operation.tags[0] ?? '') && method !== 'get' && operation['x-access'] !== 'none' ? [{ path, method }] : [],
    ),
  );

  // What would outlive the hour: an account that the operator knows the way into.
  const lasting = [
    { path: '/users', method: 'post' },
    { path: '/invitations', method: 'post' },
  ];
  const statuses = await Promise.all(
    [...writes, ...lasting].map(async ({ path, method }) => {
      const url = path.replaceAll(/\{\w+\}/g, crypto.randomUUID());
      const reply = await request(world, token, method.toUpperCase() as 'POST', url, { body: {} });
      return [method, path, reply.status, reply.body?.context?.reason];
    }),
  );

  expect(writes.length).toBeGreaterThan(3);
  expect(statuses.filter(([, , status, why]) => status !== 403 || why !== 'impersonated')).toEqual([]);
});

test('listImpersonations filters, tells open from ended, and is for operators', async () => {
  const { users, tokens, organizationId } = await world.tenant();
  const first = await impersonate(world, tokens.operator, users.member.id);
  const second = await impersonate(world, tokens.operator, users.viewer.id);
  await request(world, tokens.operator, 'DELETE', `/impersonations/${first.id}`);
  await request(world, tokens.operator, 'DELETE', `/impersonations/${first.id}`);
  const ids = async (query: string) => {
    const { body } = await request(world, tokens.operator, 'GET', `/impersonations?organization_id=${organizationId}&${query}`);
    return body.items.map((item: { id: string }) => item.id);
  };

  expect(await ids('')).toEqual([second.id, first.id]);
  expect(await ids('active=true')).toEqual([second.id]);
  expect(await ids('active=false')).toEqual([first.id]);
  expect(await ids(`target_user_id=${users.viewer.id}`)).toEqual([second.id]);
  expect(await ids(`operator_user_id=${users.viewer.id}`)).toEqual([]);
  expect(await ids('to=2020-01-01T00:00:00Z')).toEqual([]);
  expect(await ids('limit=1&offset=1')).toEqual([first.id]);
  const { body } = await request(world, tokens.operator, 'GET', `/impersonations?organization_id=${organizationId}&active=false`);
  expect(body.items[0]).toMatchObject({ ended_by_user_id: users.operator.id, ended_at: expect.any(String) });
  expect((await request(world, tokens.owner, 'GET', '/impersonations')).status).toBe(403);
  expect((await request(world, tokens.operator, 'DELETE', `/impersonations/${crypto.randomUUID()}`)).status).toBe(404);
});

test('an operator narrowed to another organization neither sees nor ends nor starts one here', async () => {
  const [here, there] = await Promise.all([world.tenant(), world.tenant()]);
  const { id, token } = await impersonate(world, here.tokens.operator, here.users.member.id);
  const headers = { 'x-view-organization': there.organizationId };

  const listed = await request(world, here.tokens.operator, 'GET', '/impersonations', { headers });
  const ended = await request(world, here.tokens.operator, 'DELETE', `/impersonations/${id}`, { headers });
  const body = { user_id: here.users.viewer.id, reason };
  const started = await request(world, here.tokens.operator, 'POST', '/impersonations', { headers, body });

  expect(listed.body.items).toEqual([]);
  expect(ended.status).toBe(404);
  expect(started).toMatchObject({ status: 422, body: { errors: [{ rule: 'reference' }] } });
  expect((await request(world, token, 'GET', '/auth/me')).status).toBe(200);
});

test('the token is in no table and no log entry', async () => {
  const { users, tokens, organizationId } = await world.tenant();
  const { token } = await impersonate(world, tokens.operator, users.member.id);
  const entries = await admin(world, 'select row_to_json(e)::text as text from audit_entries e where organization_id = $1', [
    organizationId,
  ]);
  const rows = await admin(world, 'select row_to_json(i)::text as text from impersonations i where organization_id = $1', [organizationId]);

  expect(rows).toHaveLength(1);
  for (const { text } of [...entries, ...rows]) expect(String(text)).not.toContain(token.slice(6));
});

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly 'tags': string[]; readonly 'x-access': string }>>>>;
}

async function documentOf(): Promise<{ source: Document }> {
  const reply = await world.api.app.inject({ url: '/openapi.json' });
  return { source: JSON.parse(reply.body) as Document };
}
