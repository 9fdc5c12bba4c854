import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../../db/ids.ts';
import type { TestTenant } from '../../support/tenant.ts';
import { openClient, type Client } from './client.ts';

let client: Client;
let tenant: TestTenant;

beforeAll(async () => {
  client = await openClient();
  tenant = await client.tenant({ workspaces: 2 });
});
afterAll(() => client.close());

const create = (token: string, body: object = {}) => client.call('POST', '/service-keys', { token, body: { name: 'ci', ...body } });
const me = (token: string) => client.call('GET', '/auth/me', { token });

test('a new key shows its plaintext once, and neither list, detail, audit nor table holds it', async () => {
  const made = await create(tenant.tokens.admin, { role: 'member', scopes: ['runs:read', 'runs:write'] });
  const { id, plaintext } = made.body;

  const shown = [
    (await client.call('GET', '/service-keys', { token: tenant.tokens.admin })).body,
    (await client.call('GET', `/service-keys/${id}`, { token: tenant.tokens.admin })).body,
    await client.rows('select * from audit_entries where resource_id = ?', [id]),
    await client.rows('select * from service_keys where id = ?', [id]),
  ];

  expect(made).toMatchObject({ status: 201, headers: { location: `/service-keys/${id}` } });
  expect(made.body).toMatchObject({
    scope: 'workspace',
    workspace_id: tenant.workspaceId,
    created_by_user_id: tenant.users.admin.id,
    is_active: true,
    prefix: plaintext.slice(0, 12),
    last4: plaintext.slice(-4),
  });
  for (const part of shown) {
    expect(JSON.stringify(part)).toContain(id);
    expect(JSON.stringify(part)).not.toContain(plaintext);
  }
  expect((await me(plaintext)).body).toMatchObject({ role: 'member', scopes: ['runs:read', 'runs:write'] });
});

test('a repeat with the same Idempotency-Key gives the same plaintext, stored only as an envelope', async () => {
  const ask = { token: tenant.tokens.admin, headers: { 'idempotency-key': newId() }, body: { name: 'repeated' } };

  const first = await client.call('POST', '/service-keys', ask);
  const again = await client.call('POST', '/service-keys', ask);
  const stored = await client.rows<{ body: Buffer; body_key_id: string | null }>('select body, body_key_id from idempotency_keys');

  expect(again.body).toEqual(first.body);
  expect(again.headers['idempotency-replayed']).toBe('true');
  expect(stored).toHaveLength(1);
  expect(stored[0]?.body_key_id).toEqual(expect.any(String));
  expect(stored[0]?.body.includes(first.body.plaintext)).toBe(false);
});

test('a rotated key works with its new plaintext only, from the next request, also in a second process', async () => {
  const second = await openClient({ database: client.api.database, keys: client.api.keys });
  const { body: made } = await create(tenant.tokens.admin);

  await me(made.plaintext);
  expect((await second.call('GET', '/auth/me', { token: made.plaintext })).status).toBe(200);
  const rotated = await client.call('POST', `/service-keys/${made.id}/rotate`, { token: tenant.tokens.admin });

  expect(rotated).toMatchObject({ status: 200, body: { id: made.id, rotated_at: expect.any(String) } });
  expect(await me(made.plaintext)).toMatchObject({ status: 401, body: { code: 'credential_invalid' } });
  expect((await second.call('GET', '/auth/me', { token: made.plaintext })).status).toBe(401);
  expect((await me(rotated.body.plaintext)).status).toBe(200);
  await second.close();
});

test('a revoked key is dead at once, stays listed only when asked for, and revoking again is 204', async () => {
  const { body: made } = await create(tenant.tokens.admin, { name: 'to be revoked' });
  const path = `/service-keys/${made.id}`;
  const listed = async (query: string) =>
    (await client.call('GET', `/service-keys?q=BE%20REVOKED${query}`, { token: tenant.tokens.admin })).body.items.length;

  expect(await listed('')).toBe(1);
  expect((await client.call('DELETE', path, { token: tenant.tokens.admin })).status).toBe(204);
  expect((await client.call('DELETE', path, { token: tenant.tokens.admin })).status).toBe(204);

  expect(await me(made.plaintext)).toMatchObject({ status: 401, body: { code: 'credential_invalid' } });
  expect([await listed(''), await listed('&include_revoked=true')]).toEqual([0, 1]);
  expect((await client.call('GET', path, { token: tenant.tokens.admin })).body).toMatchObject({
    is_active: false,
    revoked_at: expect.any(String),
  });
  expect(await client.call('POST', `${path}/rotate`, { token: tenant.tokens.admin })).toMatchObject({
    status: 409,
    body: { code: 'state_conflict', context: { reason: 'key_revoked' } },
  });
});

test('a key dies with its end and with its creator, and is demoted with them', async () => {
  const own = await client.tenant();
  const { body: ending } = await create(own.tokens.admin, { expires_at: new Date(Date.now() + 60_000).toISOString() });
  const { body: made } = await create(own.tokens.admin, { role: 'admin' });

  await client.rows("update service_keys set expires_at = now() - interval '1 second' where id = ?", [ending.id]);
  expect((await me(ending.plaintext)).status).toBe(401);

  await client.rows("update users set role = 'viewer' where id = ?", [own.users.admin.id]);
  expect((await me(made.plaintext)).body.role).toBe('viewer');

  await client.rows('update users set is_active = false where id = ?', [own.users.admin.id]);
  expect(await me(made.plaintext)).toMatchObject({ status: 401, body: { code: 'credential_invalid' } });
});

test("a key never gets a wider scope, a foreign workspace, a past end or fields that are not its maker's to set", async () => {
  const foreign = await client.tenant();
  const { admin } = tenant.tokens;

  expect(await create(admin, { scope: 'organization' })).toMatchObject({
    status: 403,
    body: { code: 'role_insufficient', context: { reason: 'scope_too_wide' } },
  });
  for (const workspaceId of [foreign.workspaceId, tenant.workspaceIds[1], newId()]) {
    expect(await create(admin, { workspace_id: workspaceId })).toMatchObject({
      status: 422,
      body: { errors: [{ pointer: '/workspace_id', rule: 'reference' }] },
    });
  }
  expect(await create(admin, { expires_at: '2020-01-01T00:00:00Z' })).toMatchObject({
    status: 422,
    body: { errors: [{ pointer: '/expires_at', rule: 'range' }] },
  });
  for (const field of [
    { role: 'owner' },
    { is_active: true },
    { scopes: ['everything'] },
    { scope: 'platform' },
    { organization_id: tenant.organizationId },
  ]) {
    expect((await create(admin, field)).status).toBe(422);
  }
  expect((await create(tenant.organizationOwner.token, { scope: 'organization' })).body).toMatchObject({
    scope: 'organization',
    workspace_id: null,
  });
});

test('keys are made by people of rank: not by members, not by keys', async () => {
  expect(await create(tenant.tokens.member)).toMatchObject({ status: 403, body: { code: 'role_insufficient' } });
  const refused = await create(tenant.serviceKey.plaintext);

  expect(refused).toMatchObject({ status: 403, body: { code: 'scope_insufficient', context: { reason: 'user_session_required' } } });
  expect(refused.headers['www-authenticate']).toContain('error="insufficient_scope"');
});

test("a key of another workspace or organization is 404; one of the organization is seen and not touched by a workspace's admin", async () => {
  const foreign = await client.tenant();
  const { body: wide } = await create(tenant.organizationOwner.token, { scope: 'organization' });
  const { body: other } = await create(tenant.organizationOwner.token, { workspace_id: tenant.workspaceIds[1] });
  const ask = (method: 'GET' | 'DELETE', id: string) => client.call(method, `/service-keys/${id}`, { token: tenant.tokens.admin });

  expect((await ask('GET', foreign.serviceKey.id)).status).toBe(404);
  expect((await ask('DELETE', foreign.serviceKey.id)).status).toBe(404);
  expect((await ask('GET', other.id)).status).toBe(404);
  expect((await ask('GET', wide.id)).status).toBe(200);
  expect(await ask('DELETE', wide.id)).toMatchObject({ status: 403, body: { code: 'resource_forbidden' } });
  expect((await me(foreign.serviceKey.plaintext)).status).toBe(200);
});

test('in a suspended organization and an archived workspace keys are made, rotated and revoked all the same', async () => {
  const { organizationId, workspaceId, tokens, organizationOwner } = await client.tenant();

  await client.rows("update organizations set status = 'suspended' where id = ?", [organizationId]);
  await client.rows('update workspaces set is_active = false where id = ?', [workspaceId]);
  const made = await create(tokens.admin);
  const wide = await create(organizationOwner.token, { scope: 'organization' });
  const rotated = await client.call('POST', `/service-keys/${made.body.id}/rotate`, { token: tokens.admin });
  const revoked = await client.call('DELETE', `/service-keys/${made.body.id}`, { token: tokens.admin });

  expect([made, wide, rotated, revoked].map(({ status }) => status)).toEqual([201, 201, 200, 204]);
});

test('the list pages, newest first', async () => {
  const own = await client.tenant();

  for (const name of ['a', 'b', 'c']) await create(own.tokens.admin, { name });
  const first = await client.call('GET', '/service-keys?limit=2&role=member', { token: own.tokens.admin });
  const second = await client.call('GET', `/service-keys?limit=2&role=member&cursor=${first.body.next_cursor}`, {
    token: own.tokens.admin,
  });

  expect(first.body.items.map((key: { name: string }) => key.name)).toEqual(['c', 'b']);
  expect(second.body).toMatchObject({ items: [{ name: 'a' }], next_cursor: null });
});
