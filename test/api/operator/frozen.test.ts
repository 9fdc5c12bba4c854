import { afterAll, beforeAll, expect, test } from '@jest/globals';
import Type from 'typebox';
import { areas } from '../../../api/operations.ts';
import { area, post } from '../../../api/http/operation/operation.ts';
import { closed } from '../../../api/http/input/schema.ts';
import type { TestTenant } from '../../support/tenant.ts';
import { makeAgent, openWorld, type World } from '../world.ts';
import { admin, impersonate, request, type Method } from './client.ts';

const NetView = closed({ done: Type.Boolean() }, { $id: 'NetView' });
const about = {
  summary: 'Write carelessly',
  description: 'Exists in tests only: a handler that forgets to ask.',
  access: 'viewer',
  audit: 'update',
} as const;

/** An operation whose handler forgets that its place may be frozen. */
const careless = area('System', {
  careless: post('/careless', { ...about, view: NetView }, async (ctx) => {
    await ctx.em.getConnection().execute('select 1');
    const { organizationId, workspaceId } = ctx.caller;
    ctx.audit({ resourceType: 'probe', organizationId, workspaceId });
    return { done: true };
  }),
});

let world: World;

beforeAll(async () => {
  world = await openWorld({ areas: [...areas, careless] });
});

afterAll(() => world.close());

const freezes: [string, string, (tenant: TestTenant) => string][] = [
  ['organization_suspended', "update organizations set status = 'suspended', suspended_at = now() where id = $1", (t) => t.organizationId],
  [
    'organization_deleting',
    "update organizations set status = 'deleting', delete_after = now() + interval '30 days' where id = $1",
    (t) => t.organizationId,
  ],
  ['workspace_archived', 'update workspaces set is_active = false, archived_at = now() where id = $1', (t) => t.workspaceId],
];

test.each(freezes)('%s: what people, keys and impersonations write is 423, what they read goes on', async (why, sql, idOf) => {
  const tenant = await world.tenant();
  const agent = await makeAgent(world, tenant.tokens.admin);
  const run = await request(world, tenant.tokens.member, 'POST', '/runs', { body: { agent_id: agent.id, input: { text: 'Hi' } } });
  const inside = await impersonate(world, tenant.tokens.operator, tenant.users.admin.id);
  await admin(world, sql, [idOf(tenant)]);
  const writes: [Method, string, object | undefined][] = [
    ['POST', '/agents', { slug: 'new', name: 'New' }],
    ['PATCH', `/agents/${agent.id}`, { name: 'Other' }],
    ['POST', `/agents/${agent.id}/revisions`, { document: {} }],
    ['POST', '/runs', { agent_id: agent.id, input: { text: 'Hi' } }],
    ['POST', `/runs/${run.body.id}/cancel`, {}],
    ['POST', '/careless', undefined],
  ];

  for (const credential of [tenant.tokens.admin, tenant.organizationOwner.token, tenant.serviceKey.plaintext, inside.token]) {
    for (const [method, path, body] of writes) {
      // Rows of the whole organization live on beside an archived workspace.
      const isWider = credential === tenant.organizationOwner.token && why === 'workspace_archived';
      if (isWider && (path === '/careless' || path === '/agents')) continue;
      const reply = await request(world, credential, method, path, { body });
      expect([path, reply.status, reply.body?.code, reply.body?.context?.reason ?? why]).toEqual([path, 423, 'resource_frozen', why]);
    }
    expect((await request(world, credential, 'GET', `/agents/${agent.id}`)).status).toBe(200);
    expect((await request(world, credential, 'GET', `/runs/${run.body.id}`)).status).toBe(200);
  }
});

test('a frozen place still gives stream tokens, keys and sign-in, and its operator works on it', async () => {
  const tenant = await world.tenant();
  const agent = await makeAgent(world, tenant.tokens.admin);
  const run = await request(world, tenant.tokens.member, 'POST', '/runs', { body: { agent_id: agent.id, input: { text: 'Hi' } } });
  await admin(world, "update organizations set status = 'suspended', suspended_at = now() where id = $1", [tenant.organizationId]);

  const token = await request(world, tenant.tokens.viewer, 'POST', `/runs/${run.body.id}/stream-token`);
  const key = await request(world, tenant.tokens.admin, 'POST', '/service-keys', { body: { name: 'still' } });
  const begun = await impersonate(world, tenant.tokens.operator, tenant.users.viewer.id);
  const ended = await request(world, tenant.tokens.operator, 'DELETE', `/impersonations/${begun.id}`);
  const logout = await request(world, tenant.tokens.viewer, 'POST', '/auth/logout');

  expect([token.status, key.status, ended.status, logout.status]).toEqual([201, 201, 204, 204]);
});

test('what a careless handler wrote in a frozen place is rolled back, entry and all', async () => {
  const tenant = await world.tenant();
  await admin(world, "update organizations set status = 'suspended', suspended_at = now() where id = $1", [tenant.organizationId]);

  const reply = await request(world, tenant.tokens.member, 'POST', '/careless');

  expect(reply.status).toBe(423);
  expect(await admin(world, 'select id from audit_entries where organization_id = $1', [tenant.organizationId])).toEqual([]);
});
