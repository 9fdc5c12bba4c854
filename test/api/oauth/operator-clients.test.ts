import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { rows } from '../../../db/sql.ts';
import { sweep } from '../../../db/transaction.ts';
import { bearer } from '../../support/tenant.ts';
import { callback, documentsOf, grantTo, authorizePath, openOauth, type OauthWorld } from './client.ts';

let world: OauthWorld;
const document = { client_id: 'https://docs.test/app', client_name: 'Docs', redirect_uris: [callback] };

beforeAll(async () => {
  world = await openOauth({ env: { OAUTH_DYNAMIC_REGISTRATION: 'true' }, egress: documentsOf({ 'https://docs.test/app': document }) });
});

afterAll(() => world.close());

test('an operator makes a client; its secret stands in that reply, and in its replay', async () => {
  const { tokens } = await world.tenant();
  const body = { client_name: 'Dashboard', redirect_uris: [callback] };
  const make = () => world.json(tokens.operator, '/oauth-clients', body, { 'idempotency-key': 'client-1' });

  const made = await make();
  const replay = await make();
  const listed = await world.get('/oauth-clients?q=dashBOARD', bearer(tokens.operator));
  const audit = await sweep(world.api.db, (em) =>
    rows<{ text: string }>(em, "select a::text as text from audit_entries a where operation_id = 'createOauthClient'"),
  );

  expect(made.status).toBe(201);
  expect(made.body).toEqual({
    client_id: expect.stringMatching(/^lh_oc_/),
    kind: 'preregistered',
    client_name: 'Dashboard',
    redirect_uris: [callback],
    token_endpoint_auth_method: 'client_secret_basic',
    grant_types: ['authorization_code', 'refresh_token'],
    scope: null,
    organization_id: null,
    workspace_id: null,
    role: null,
    created_at: expect.any(String),
    updated_at: expect.any(String),
    last_used_at: null,
    secret_rotated_at: null,
    client_secret: expect.stringMatching(/^lh_cs_/),
  });
  expect(replay.body).toEqual(made.body);
  expect(replay.headers['idempotency-replayed']).toBe('true');
  expect(listed.body.items).toHaveLength(1);
  expect(listed.body.items[0]).not.toHaveProperty('client_secret');
  expect(audit).toHaveLength(1);
  expect(audit[0]?.text).not.toContain(made.body.client_secret);
});

test('documents and registered clients are listed too, by kind', async () => {
  const { tokens } = await world.tenant();
  await world.client(tokens.operator);
  await world.json(null, '/oauth/register', { redirect_uris: [callback], client_name: 'Registered' });
  await world.get(authorizePath({ clientId: document.client_id, secret: null, redirectUri: callback }));
  const kinds = async (query: string) => {
    const { body } = await world.get(`/oauth-clients${query}`, bearer(tokens.operator));
    return [...new Set(body.items.map(({ kind }: { kind: string }) => kind))].toSorted();
  };

  expect(await kinds('')).toEqual(['document', 'preregistered', 'registered']);
  for (const kind of ['document', 'preregistered', 'registered']) expect(await kinds(`?kind=${kind}`)).toEqual([kind]);
});

test.each([
  ['no redirect for authorization_code', { redirect_uris: [] }, '/redirect_uris'],
  ['a redirect that is none', { redirect_uris: ['http://app.test'] }, '/redirect_uris/0'],
  ['an unknown scope', { scope: 'runs:read nothing' }, '/scope'],
  ['the scope of service keys', { scope: '*' }, '/scope'],
  ['refresh_token alone', { grant_types: ['refresh_token'] }, '/grant_types'],
  ['a role without client_credentials', { role: 'viewer' }, '/role'],
  [
    'client_credentials of a public client',
    { grant_types: ['client_credentials'], token_endpoint_auth_method: 'none' },
    '/token_endpoint_auth_method',
  ],
  ['client_credentials without an organization', { grant_types: ['client_credentials'], role: 'viewer' }, '/organization_id'],
  ['a role above admin', { grant_types: ['client_credentials'], role: 'owner' }, '/role'],
])('%s is 422 at %s', async (_name, body, pointer) => {
  const { tokens } = await world.tenant();

  const refused = await world.json(tokens.operator, '/oauth-clients', { client_name: 'X', redirect_uris: [callback], ...body });

  expect(refused).toMatchObject({ status: 422, body: { code: 'validation_failed', errors: [{ pointer }] } });
});

test('client_credentials needs a role and a place that exists', async () => {
  const [one, two] = [await world.tenant(), await world.tenant()];
  const make = (body: Record<string, unknown>) =>
    world.json(one.tokens.operator, '/oauth-clients', { client_name: 'Machine', grant_types: ['client_credentials'], ...body });

  const without = await make({ organization_id: one.organizationId });
  const unknown = await make({ organization_id: '01960000-0000-7000-8000-00000000dead', role: 'viewer' });
  const foreign = await make({ organization_id: one.organizationId, workspace_id: two.workspaceId, role: 'viewer' });
  const made = await make({ organization_id: one.organizationId, workspace_id: one.workspaceId, role: 'admin', scope: 'runs:read' });

  expect(without.body.errors).toMatchObject([{ pointer: '/role', rule: 'required' }]);
  expect(unknown.body.errors).toMatchObject([{ pointer: '/organization_id', rule: 'reference' }]);
  expect(foreign.body.errors).toMatchObject([{ pointer: '/workspace_id', rule: 'reference' }]);
  expect(made).toMatchObject({
    status: 201,
    body: { role: 'admin', workspace_id: one.workspaceId, scope: 'runs:read', redirect_uris: [] },
  });
});

test('a public client has no secret to rotate, an unknown or deleted one is 404', async () => {
  const { tokens } = await world.tenant();
  const client = await world.client(tokens.operator);
  const rotate = (id: string) => world.json(tokens.operator, `/oauth-clients/${id}/rotate-secret`, {});

  expect(await rotate(client.clientId)).toMatchObject({
    status: 409,
    body: { code: 'state_conflict', context: { reason: 'public_client' } },
  });
  expect((await rotate('lh_oc_unknown')).status).toBe(404);
  expect((await world.remove(`/oauth-clients/${client.clientId}`, tokens.operator)).status).toBe(204);
  expect((await world.remove(`/oauth-clients/${client.clientId}`, tokens.operator)).status).toBe(404);
  expect((await rotate(client.clientId)).status).toBe(404);
});

test('deleting a client ends all its sessions', async () => {
  const [one, two] = [await world.tenant(), await world.tenant()];
  const client = await world.client(one.tokens.operator);
  const grants = [await grantTo(world, client, one.users.member), await grantTo(world, client, two.users.admin)];

  await world.remove(`/oauth-clients/${client.clientId}`, one.tokens.operator);

  for (const { access } of grants)
    expect(await world.get('/auth/me', bearer(access))).toMatchObject({ status: 401, body: { code: 'session_revoked' } });
  expect((await world.get('/auth/me', bearer(one.tokens.member))).status).toBe(200);
});

test('nobody below an operator sees or makes clients, and no OAuth token of an operator does', async () => {
  const { tokens, users } = await world.tenant();
  const client = await world.client(tokens.operator);
  const { access } = await grantTo(world, client, users.operator, { scope: '*:read organizations:write' });

  expect(await world.get('/oauth-clients', bearer(tokens.owner))).toMatchObject({ status: 403, body: { code: 'role_insufficient' } });
  expect(await world.get('/oauth-clients', bearer(access))).toMatchObject({ status: 403, body: { code: 'scope_insufficient' } });
});

test('a narrowed operator finds and makes clients of the view alone: the deployment’s own are neither listed, rotated nor deleted', async () => {
  const [one, two] = [await world.tenant({ workspaces: 2 }), await world.tenant()];
  const [, other] = one.workspaceIds;
  const { operator } = one.tokens;
  const grant = {
    token_endpoint_auth_method: 'client_secret_basic',
    grant_types: ['client_credentials'],
    redirect_uris: [],
    role: 'member',
  };
  const ofDeployment = await world.client(operator, { token_endpoint_auth_method: 'client_secret_basic' });
  const own = await world.client(operator, { ...grant, organization_id: one.organizationId });
  const ofAnother = await world.client(operator, { ...grant, organization_id: two.organizationId });
  const view = { 'x-view-organization': one.organizationId };
  const room = { 'x-view-workspace': one.workspaceId };
  const make = (body: object, headers: Record<string, string>) =>
    world.json(operator, '/oauth-clients', { client_name: 'App', ...body }, headers);
  const rotate = (id: string, headers: Record<string, string>) => world.json(operator, `/oauth-clients/${id}/rotate-secret`, {}, headers);

  const listed = await world.get('/oauth-clients', { ...bearer(operator), ...view });

  expect(listed.body.items.map(({ client_id }: { client_id: string }) => client_id)).toEqual([own.clientId]);
  for (const { clientId } of [ofDeployment, ofAnother]) expect((await rotate(clientId, view)).status).toBe(404);
  expect((await rotate(own.clientId, view)).status).toBe(200);
  expect(await rotate(own.clientId, room)).toMatchObject({ status: 403, body: { code: 'resource_forbidden' } });
  expect(await make({ redirect_uris: [callback] }, view)).toMatchObject({ status: 403, body: { context: { reason: 'narrowed' } } });
  expect((await make({ ...grant, organization_id: two.organizationId }, view)).status).toBe(422);
  expect((await make({ ...grant, organization_id: one.organizationId }, view)).status).toBe(201);
  expect(await make({ ...grant, organization_id: one.organizationId }, room)).toMatchObject({ status: 403 });
  expect((await make({ ...grant, organization_id: one.organizationId, workspace_id: other }, room)).status).toBe(422);
  expect((await make({ ...grant, organization_id: one.organizationId, workspace_id: one.workspaceId }, room)).status).toBe(201);
});
