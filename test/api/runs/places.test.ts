import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sweep } from '../../../db/transaction.ts';
import { change } from '../../../db/sql.ts';
import type { TestTenant } from '../../support/tenant.ts';
import { makeAgent, openWorld, type World } from '../world.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});

afterAll(() => world.close());

const start = (token: string, body: object) => world.call(token, 'POST', '/runs', { body: { input: { text: 'Hi' }, ...body } });
const run = (sql: string, params: unknown[]) => sweep(world.api.db, (em) => change(em, sql, params));
const grant = (tenant: TestTenant, userId: string, role: string) =>
  run('insert into workspace_grants (workspace_id, user_id, organization_id, role) values (?, ?, ?, ?)', [
    tenant.workspaceIds[1],
    userId,
    tenant.organizationId,
    role,
  ]);

test("a run lives in the workspace of its agent, else the one named, else the caller's", async () => {
  const tenant = await world.tenant({ workspaces: 2 });
  const [first, second] = tenant.workspaceIds;
  const { token } = tenant.organizationAdmin;
  const inSecond = await makeAgent(world, token, { scope: 'workspace', workspace_id: second });
  const shared = await makeAgent(world, token, { scope: 'organization' });

  expect((await start(token, { agent_id: inSecond.id })).body.workspace_id).toBe(second);
  expect((await start(token, { agent_id: shared.id, workspace_id: first })).body.workspace_id).toBe(first);
  expect((await start(tenant.tokens.member, { agent_id: shared.id })).body.workspace_id).toBe(tenant.workspaceId);
  expect(await start(token, { agent_id: shared.id })).toMatchObject({ status: 422, body: { errors: [{ pointer: '/workspace_id' }] } });
  expect(await start(token, { agent_id: inSecond.id, workspace_id: first })).toMatchObject({
    status: 422,
    body: { errors: [{ pointer: '/agent_id', rule: 'reference' }] },
  });
  expect((await start(tenant.tokens.admin, { agent_id: inSecond.id })).status).toBe(422);
});

test('in a granted workspace the rank is the lower of grant and home role', async () => {
  const tenant = await world.tenant({ workspaces: 2 });
  const { tokens, users, organizationAdmin } = tenant;
  const agent = await makeAgent(world, organizationAdmin.token, { scope: 'workspace', workspace_id: tenant.workspaceIds[1] });
  const theirs = await start(organizationAdmin.token, { agent_id: agent.id });
  await grant(tenant, users.admin.id, 'viewer');
  await grant(tenant, users.member.id, 'admin');

  expect(await start(tokens.admin, { agent_id: agent.id })).toMatchObject({ status: 403, body: { code: 'role_insufficient' } });
  expect((await world.call(tokens.admin, 'GET', `/runs/${theirs.body.id}`)).status).toBe(200);
  expect(await world.call(tokens.admin, 'POST', `/runs/${theirs.body.id}/cancel`)).toMatchObject({
    status: 403,
    body: { code: 'role_insufficient' },
  });
  expect(await start(tokens.member, { agent_id: agent.id })).toMatchObject({ status: 202, body: { workspace_id: tenant.workspaceIds[1] } });
});

test('an archived workspace and a suspended organization take no start and no cancel', async () => {
  const tenant = await world.tenant();
  const agent = await makeAgent(world, tenant.tokens.admin);
  const live = await start(tenant.tokens.member, { agent_id: agent.id });
  const refused = { status: 423, body: { code: 'resource_frozen' } };

  await run('update workspaces set is_active = false where id = ?', [tenant.workspaceId]);
  expect(await start(tenant.tokens.member, { agent_id: agent.id })).toMatchObject(refused);
  await run('update workspaces set is_active = true where id = ?', [tenant.workspaceId]);
  await run("update organizations set status = 'suspended' where id = ?", [tenant.organizationId]);
  expect(await start(tenant.tokens.member, { agent_id: agent.id })).toMatchObject(refused);
  expect(await world.call(tenant.tokens.member, 'POST', `/runs/${live.body.id}/cancel`)).toMatchObject(refused);
  expect((await world.call(tenant.tokens.viewer, 'GET', `/runs/${live.body.id}`)).status).toBe(200);
});

test('a platform agent runs in every tenant and is changed by operators alone', async () => {
  const tenant = await world.tenant();
  const { tokens } = tenant;
  const agent = await makeAgent(world, tokens.operator, { scope: 'platform' });

  const started = await start(tokens.member, { agent_slug: agent.slug });
  const byOperator = await start(tokens.operator, { agent_id: agent.id, workspace_id: tenant.workspaceId });

  expect(agent).toMatchObject({ scope: 'platform', organization_id: null });
  expect(started).toMatchObject({ status: 202, body: { agent_id: agent.id, organization_id: tenant.organizationId } });
  expect(byOperator).toMatchObject({ status: 202, body: { organization_id: tenant.organizationId, workspace_id: tenant.workspaceId } });
  expect(await world.call(tokens.owner, 'PATCH', `/agents/${agent.id}`, { body: { name: 'x' } })).toMatchObject({
    status: 403,
    body: { code: 'resource_forbidden' },
  });
  expect((await world.call(tokens.operator, 'PATCH', `/agents/${agent.id}`, { body: { is_active: false } })).status).toBe(200);
  expect((await world.call(tokens.viewer, 'GET', `/agents/${agent.id}`)).status).toBe(404);
  expect((await world.call(tokens.viewer, 'GET', `/runs/${started.body.id}`)).status).toBe(200);
});
