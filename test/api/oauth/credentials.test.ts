import { SignJWT } from 'jose';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openStreamToken } from '../../../domain/identity/sessions/stream-tokens.ts';
import { lostAccess } from '../../../db/streams/access.ts';
import { bearer } from '../../support/tenant.ts';
import { age, basic, grantTo, issuer, openOauth, type OauthWorld } from './client.ts';

let world: OauthWorld;

const message = {
  jsonrpc: '2.0',
  id: 1,
  method: 'server/discover',
  params: { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} } },
};
/** The MCP endpoint is another resource than the API. */
const callMcp = (token: string | null) =>
  world.json(token, '/mcp', message, { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'server/discover' });

const toolScopes =
  'mcp:read runs:read runs:write agents:read skills:read tools:read knowledge:read knowledge:write feedback:read feedback:write triggers:read triggers:write';

beforeAll(async () => {
  world = await openOauth();
});

afterAll(() => world.close());

test('a token of one resource is 401 on the other, and the challenge points to the metadata of the one asked', async () => {
  const { tokens, users } = await world.tenant();
  const client = await world.client(tokens.operator);
  const forApi = await grantTo(world, client, users.member, { scope: '*:read' });
  const forMcp = await grantTo(world, client, users.member, { scope: 'mcp:read', resource: `${issuer}/mcp` });

  const right = [await world.get('/auth/me', bearer(forApi.access)), await callMcp(forMcp.access)];
  const onApi = await world.get('/agents', bearer(forMcp.access));
  const onMcp = await callMcp(forApi.access);
  const session = await callMcp(tokens.member);

  expect(right.map(({ status }) => status)).toEqual([200, 200]);
  expect(session.status).toBe(200);
  expect(onApi).toMatchObject({ status: 401, body: { code: 'credential_invalid' } });
  expect(onApi.headers['www-authenticate']).toBe(
    `Bearer resource_metadata="${issuer}/.well-known/oauth-protected-resource", scope="agents:read", error="invalid_token"`,
  );
  expect(onMcp.headers['www-authenticate']).toBe(
    `Bearer resource_metadata="${issuer}/.well-known/oauth-protected-resource/mcp", scope="${toolScopes}", error="invalid_token"`,
  );
});

test('without a credential the challenge names the scopes and no error', async () => {
  const anonymous = await callMcp(null);

  expect(anonymous.headers['www-authenticate']).toBe(
    `Bearer resource_metadata="${issuer}/.well-known/oauth-protected-resource/mcp", scope="${toolScopes}"`,
  );
});

test('a token reaches what its scopes and its user reach, and no more', async () => {
  const { tokens, users } = await world.tenant();
  const client = await world.client(tokens.operator);
  const reader = await grantTo(world, client, users.viewer, { scope: 'agents:read' });
  const writer = await grantTo(world, client, users.viewer, { scope: 'agents:write runs:write' });
  const agent = { slug: 'a', name: 'A' };

  const read = await world.get('/agents', bearer(reader.access));
  const other = await world.get('/runs', bearer(reader.access));
  const write = await world.json(reader.access, '/agents', agent);
  const tooLow = await world.json(writer.access, '/agents', agent);

  expect(read.status).toBe(200);
  expect(other).toMatchObject({ status: 403, body: { code: 'scope_insufficient', context: { required_scopes: ['runs:read'] } } });
  expect(other.headers['www-authenticate']).toContain('scope="runs:read", error="insufficient_scope"');
  expect([write.status, write.body.code]).toEqual([403, 'role_insufficient']);
  expect(tooLow).toMatchObject({ status: 403, body: { code: 'role_insufficient' } });
});

test('nobody acts as another, narrows a view or runs sign-in with a token', async () => {
  const { tokens, users, organizationId } = await world.tenant();
  const client = await world.client(tokens.operator);
  const { access } = await grantTo(world, client, users.admin, { scope: '*:read organizations:write' });

  const acting = await world.get('/agents', { ...bearer(access), 'x-acting-user': users.member.id });
  const viewing = await world.get('/agents', { ...bearer(access), 'x-view-organization': organizationId });
  const signIn = await world.json(access, '/auth/logout', {});
  const keys = await world.get('/service-keys', bearer(access));

  expect(acting).toMatchObject({ status: 403, body: { code: 'resource_forbidden', context: { reason: 'delegation_not_allowed' } } });
  expect(viewing).toMatchObject({ status: 403, body: { code: 'role_insufficient' } });
  expect(signIn).toMatchObject({ status: 403, body: { code: 'scope_insufficient', context: { reason: 'user_session_required' } } });
  expect(keys).toMatchObject({ status: 403, body: { context: { reason: 'user_session_required' } } });
});

test('a demoted or deactivated user, and one who lacks a demanded factor, count from the next request', async () => {
  const { tokens, users, organizationId } = await world.tenant();
  const client = await world.client(tokens.operator);
  const { access } = await grantTo(world, client, users.admin, { scope: '*:read agents:write' });
  const me = () => world.get('/auth/me', bearer(access));

  await age(world, "update users set role = 'viewer' where id = ?", [users.admin.id]);
  expect((await me()).body.role).toBe('viewer');
  await age(world, 'update organization_settings set require_mfa = true where organization_id = ?', [organizationId]);
  expect(await world.get('/agents', bearer(access))).toMatchObject({ status: 401, body: { code: 'mfa_required' } });
  await age(world, 'update users set is_active = false where id = ?', [users.admin.id]);
  expect(await me()).toMatchObject({ status: 401, body: { code: 'session_revoked' } });
});

test('a session token is no OAuth token and the other way round; an unknown key, no signature and HS256 are 401', async () => {
  const { tokens, users } = await world.tenant();
  const client = await world.client(tokens.operator);
  const { access } = await grantTo(world, client, users.member);
  const [head = '', claims = '', signature = ''] = access.split('.');
  const header = JSON.parse(Buffer.from(head, 'base64url').toString());
  const withHeader = (fields: object) =>
    `${Buffer.from(JSON.stringify({ ...header, ...fields })).toString('base64url')}.${claims}.${signature}`;
  const hmac = await new SignJWT(JSON.parse(Buffer.from(claims, 'base64url').toString()))
    .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', kid: header.kid })
    .sign(Buffer.alloc(32, 1));

  const forged = [
    withHeader({ alg: 'none' }),
    withHeader({ kid: 'unknown' }),
    withHeader({ typ: 'lh-session+jwt' }),
    hmac,
    `${head}.${claims}.`,
  ];
  const answers = await Promise.all(forged.map((token) => world.get('/auth/me', bearer(token))));

  expect(answers.map(({ status, body }) => [status, body.code])).toEqual(answers.map(() => [401, 'credential_invalid']));
});

test('a client acts for itself with its own role and scopes, in its own place', async () => {
  const { tokens, organizationId, workspaceId } = await world.tenant({ workspaces: 2 });
  const client = await world.client(tokens.operator, {
    grant_types: ['client_credentials'],
    redirect_uris: [],
    token_endpoint_auth_method: 'client_secret_basic',
    scope: 'agents:read agents:write',
    organization_id: organizationId,
    workspace_id: workspaceId,
    role: 'member',
  });
  const ask = (fields: Record<string, string> = {}) =>
    world.form('/oauth/token', { grant_type: 'client_credentials', ...fields }, basic(client));

  const issued = await ask();
  const claims = JSON.parse(Buffer.from(issued.body.access_token.split('.')[1], 'base64url').toString());
  const me = await world.get('/auth/me', bearer(issued.body.access_token));
  const made = await world.json(issued.body.access_token, '/agents', { slug: 'machine', name: 'Machine' });
  const runs = await world.get('/runs', bearer(issued.body.access_token));

  expect(issued.body).toEqual({
    access_token: expect.any(String),
    token_type: 'Bearer',
    expires_in: 600,
    scope: 'agents:read agents:write',
  });
  expect(claims).toMatchObject({ sub: client.clientId, client_id: client.clientId });
  expect(claims).not.toHaveProperty('sid');
  expect(me.body).toMatchObject({
    principal_kind: 'oauth_client',
    client_id: client.clientId,
    user: null,
    session: null,
    role: 'member',
    scope: 'workspace',
    organization_id: organizationId,
    workspace_ids: [workspaceId],
    scopes: ['agents:read', 'agents:write'],
  });
  expect(made).toMatchObject({ status: 201, body: { workspace_id: workspaceId, created_by_user_id: null } });
  expect(runs.status).toBe(403);
  expect((await ask({ scope: 'runs:read' })).body.error).toBe('invalid_scope');
  expect((await ask({ resource: 'https://other.test' })).body.error).toBe('invalid_target');
});

test("a rotated secret, a deleted client and a purged organization end a client's own tokens", async () => {
  const { tokens, organizationId } = await world.tenant();
  const body = {
    grant_types: ['client_credentials'],
    redirect_uris: [],
    token_endpoint_auth_method: 'client_secret_basic',
    organization_id: organizationId,
    role: 'admin',
  };
  const [rotated, deleted, homeless] = await Promise.all([0, 1, 2].map(() => world.client(tokens.operator, body)));
  if (!rotated || !deleted || !homeless) throw new Error('three clients');
  const tokenOf = async (client: typeof rotated) =>
    (await world.form('/oauth/token', { grant_type: 'client_credentials' }, basic(client))).body.access_token;
  const me = (token: string) => world.get('/auth/me', bearer(token));
  const held = await Promise.all([tokenOf(rotated), tokenOf(deleted), tokenOf(homeless)]);
  const before = await Promise.all(held.map(me));

  const secret = await world.json(tokens.operator, `/oauth-clients/${rotated.clientId}/rotate-secret`, {});
  await world.remove(`/oauth-clients/${deleted.clientId}`, tokens.operator);
  const after = await Promise.all([me(held[0]), me(held[1])]);
  const oldSecret = await world.form('/oauth/token', { grant_type: 'client_credentials' }, basic(rotated));
  const fresh = await tokenOf({ ...rotated, secret: secret.body.client_secret });
  await age(world, 'update organizations set purged_at = now() where id = ?', [organizationId]);

  expect(before.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(after.map(({ status, body }) => [status, body.code])).toEqual(after.map(() => [401, 'credential_invalid']));
  expect(oldSecret).toMatchObject({ status: 401, body: { error: 'invalid_client' } });
  expect((await me(fresh)).status).toBe(401);
  expect((await me(held[2])).status).toBe(401);
});

test.each(['update oauth_clients set deleted_at = now() where client_id = ?', 'delete from oauth_clients where client_id = ?'])(
  'a grant dies with its client, even one that nobody has ended: %s',
  async (sql) => {
    const { tokens, users } = await world.tenant();
    const client = await world.client(tokens.operator);
    const { access } = await grantTo(world, client, users.member);
    const before = await world.get('/auth/me', bearer(access));

    await age(world, sql, [client.clientId]);

    expect(before.status).toBe(200);
    expect(await world.get('/auth/me', bearer(access))).toMatchObject({ status: 401, body: { code: 'session_revoked' } });
  },
);

test('one query looks a token up, and none one that is garbled', async () => {
  const { tokens, users } = await world.tenant();
  const client = await world.client(tokens.operator);
  const { access } = await grantTo(world, client, users.member);
  await world.get('/version', bearer(access));

  const queries: string[] = [];
  const onQuery = world.api.deps.db.app.config.get('onQuery');
  world.api.deps.db.app.config.set('onQuery', (sql: string, params: readonly unknown[]) => {
    queries.push(sql);
    return onQuery(sql, params);
  });
  await world.get('/version', bearer(access));
  const known = queries.splice(0).length;
  await world.get('/version', bearer(`${access}x`));
  world.api.deps.db.app.config.set('onQuery', onQuery);

  expect([known, queries.length]).toEqual([1, 0]);
});

test('a client and a user grant open streams of their runs; what ends them ends their streams', async () => {
  const { tokens, users, organizationId, workspaceId } = await world.tenant();
  const machine = await world.client(tokens.operator, {
    grant_types: ['client_credentials'],
    redirect_uris: [],
    token_endpoint_auth_method: 'client_secret_basic',
    scope: '*:read runs:write agents:write',
    organization_id: organizationId,
    workspace_id: workspaceId,
    role: 'admin',
  });
  const app = await world.client(tokens.operator);
  const own = (await world.form('/oauth/token', { grant_type: 'client_credentials' }, basic(machine))).body.access_token;
  const { access } = await grantTo(world, app, users.viewer, { scope: 'runs:read' });
  await world.json(own, '/agents', {
    slug: 'echo',
    name: 'Echo',
    revision: { model: 'builtin/extractive', instructions: 'Answer.' },
    activate: true,
  });
  const run = await world.json(own, '/runs', { agent_slug: 'echo', input: { text: 'hi' } });
  const streamToken = async (token: string) => (await world.json(token, `/runs/${run.body.id}/stream-token`, {})).body.token;
  const [first, second, third] = [await streamToken(own), await streamToken(own), await streamToken(access)];
  const session = (await world.get('/auth/me', bearer(access))).body.session;
  const shown = { runId: run.body.id, place: null };
  const holders = [
    {
      ...shown,
      kind: 'oauth_client',
      principalId: (await openStreamToken(world.api.db, first, run.body.id)).principalId,
      sessionId: null,
      actingUserId: null,
      openedAt: new Date(),
    },
    { ...shown, kind: 'user', principalId: users.viewer.id, sessionId: session.id, actingUserId: null, openedAt: new Date() },
  ];
  const byUser = await openStreamToken(world.api.db, third, run.body.id);
  const before = await lostAccess(world.api.db, holders);

  await Promise.all([machine, app].map(({ clientId }) => world.remove(`/oauth-clients/${clientId}`, tokens.operator)));

  expect(byUser).toMatchObject({ kind: 'user', clientId: app.clientId, scopes: ['runs:read'] });
  expect([...before]).toEqual([]);
  expect(await lostAccess(world.api.db, holders)).toEqual(
    new Map([
      [0, 'credential_invalid'],
      [1, 'session_revoked'],
    ]),
  );
  await expect(openStreamToken(world.api.db, second, run.body.id)).rejects.toMatchObject({ code: 'credential_invalid' });
});
