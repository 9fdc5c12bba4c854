import { generateKeyPairSync } from 'node:crypto';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SignJWT } from 'jose';
import { isRoleAccess } from '../../../api/http/credentials/scopes.ts';
import { areas } from '../../../api/operations.ts';
import { createSessionTokens, type SessionTokens } from '../../../domain/identity/sessions/session-tokens.ts';
import { createSigningKeys } from '../../../domain/identity/keys/signing-keys.ts';
import { newServiceKeyPlaintext } from '../../../db/identity/keys/service-key-format.ts';
import { openStreamToken } from '../../../domain/identity/sessions/stream-tokens.ts';
import { newId } from '../../../db/ids.ts';
import { makeUser, testPublicUrl, tokenFor, type TestTenant } from '../../support/tenant.ts';
import { openClient, type Client } from './client.ts';

let client: Client;
let tenant: TestTenant;
let foreign: TestTenant;

beforeAll(async () => {
  client = await openClient();
  [tenant, foreign] = await Promise.all([client.tenant({ workspaces: 2 }), client.tenant()]);
});
afterAll(() => client.close());

const me = (token: string) => client.call('GET', '/auth/me', { token });
const meWith = (token: string, headers: Record<string, string>) => client.call('GET', '/auth/me', { token, headers });
const acting = (id: string) => ({ 'x-acting-user': id });

/** Tokens as a process that has just started makes and checks them, at its own time. */
function tokensAt(now: () => Date): SessionTokens {
  const { db, keys } = client.api;

  return createSessionTokens({ signingKeys: createSigningKeys({ db, keys, now }), publicUrl: testPublicUrl, now });
}

/** Sends a request with exactly these header lines and gives the status. */
async function sendRaw(lines: readonly string[]): Promise<number> {
  const { hostname, port } = new URL(client.api.url);

  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () =>
      socket.write(`GET /auth/me HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${lines.join('\r\n')}\r\n\r\n`),
    );

    socket.once('data', (chunk) => {
      resolve(Number(chunk.toString().split(' ')[1]));
      socket.destroy();
    });
    socket.once('error', reject);
  });
}

test('a key works as bearer and as X-Api-Key, a session as bearer', async () => {
  const { plaintext } = tenant.serviceKey;

  expect((await me(plaintext)).body).toMatchObject({
    principal_kind: 'service_key',
    service_key_id: tenant.serviceKey.id,
    role: 'admin',
    user: null,
    session: null,
    mfa: null,
    scopes: ['*'],
  });
  expect((await client.call('GET', '/auth/me', { headers: { 'x-api-key': plaintext } })).status).toBe(200);
  expect((await me(tenant.tokens.viewer)).body).toMatchObject({
    principal_kind: 'user',
    role: 'viewer',
    scope: 'workspace',
    workspace_ids: [tenant.workspaceId],
    view: null,
    acting_user: null,
  });
  expect((await me(tenant.organizationOwner.token)).body.workspace_ids).toEqual(tenant.workspaceIds.toSorted());
});

test('two credentials, or one of them twice, are 400', async () => {
  const bearer = `Authorization: Bearer ${tenant.tokens.viewer}`;
  const key = `X-Api-Key: ${tenant.serviceKey.plaintext}`;

  expect(await sendRaw([bearer])).toBe(200);
  expect(await sendRaw([bearer, key])).toBe(400);
  expect(await sendRaw([bearer, bearer])).toBe(400);
  expect(await sendRaw([key, key])).toBe(400);
});

test('no credential and a wrong one are told apart in code and challenge', async () => {
  const none = await client.call('GET', '/auth/me');
  const wrong = await me('lh_im_anything');

  expect(none).toMatchObject({ status: 401, body: { code: 'unauthenticated' } });
  expect(none.headers['www-authenticate']).toBe(`Bearer resource_metadata="${testPublicUrl}/.well-known/oauth-protected-resource"`);
  expect(wrong).toMatchObject({ status: 401, body: { code: 'credential_invalid' } });
  expect(wrong.headers['www-authenticate']).toContain('error="invalid_token"');
  expect(await client.call('GET', '/auth/me', { headers: { authorization: 'Basic abc' } })).toMatchObject({
    status: 401,
    body: { code: 'credential_invalid' },
  });
});

test("authentication is one statement; what can't be a credential causes none", async () => {
  const { plaintext } = tenant.serviceKey;
  const changed = plaintext.slice(0, -1) + (plaintext.endsWith('A') ? 'B' : 'A');
  const floorRefused = (headers: Record<string, string>) => client.statementsOf(() => client.call('GET', '/service-keys', { headers }));

  await me(tenant.tokens.viewer);

  expect(await floorRefused({ 'authorization': `Bearer ${tenant.tokens.viewer}`, 'x-acting-user': tenant.users.viewer.id })).toHaveLength(
    1,
  );
  expect(await floorRefused({ 'x-api-key': plaintext })).toHaveLength(1);
  expect(await floorRefused({ 'x-api-key': changed })).toEqual([]);
  expect(await floorRefused({ 'x-api-key': 'lh_sk_short' })).toEqual([]);
  expect(await floorRefused({ authorization: 'Bearer aaa.bbb.ccc' })).toEqual([]);
  expect(await floorRefused({ authorization: `Bearer ${tenant.tokens.viewer}x` })).toEqual([]);
});

test('tokens with another algorithm, type, audience, key or end are refused', async () => {
  const { users } = tenant;
  const { privateKey } = generateKeyPairSync('ed25519');
  const now = Math.floor(Date.now() / 1_000);
  const forged = (alg: string, header: object, claims: object, key: Parameters<SignJWT['sign']>[0]) =>
    new SignJWT({
      sid: users.owner.sessionId,
      iss: testPublicUrl,
      aud: testPublicUrl,
      sub: users.owner.id,
      iat: now,
      exp: now + 600,
      jti: newId(),
      ...claims,
    })
      .setProtectedHeader({ alg, typ: 'lh-session+jwt', ...header })
      .sign(key);
  const [payload] = tenant.tokens.owner.split('.').slice(1);
  const none = `${Buffer.from(JSON.stringify({ alg: 'none', typ: 'lh-session+jwt' })).toString('base64url')}.${payload}.`;
  const [{ kid } = { kid: '' }] = await client.rows<{ kid: string }>("select kid from signing_keys where state = 'current'");

  for (const token of [
    none,
    await forged('HS256', { kid }, {}, Buffer.alloc(32, 1)),
    await forged('EdDSA', { kid: newId() }, {}, privateKey),
    await forged('EdDSA', { kid }, {}, privateKey),
    await forged('EdDSA', { kid, typ: 'at+jwt' }, {}, privateKey),
    await forged('EdDSA', { kid }, { aud: 'https://elsewhere.example' }, privateKey),
  ]) {
    expect(await me(token)).toMatchObject({ status: 401, body: { code: 'credential_invalid' } });
  }
});

test('a token past its end is token_expired', async () => {
  const { id: userId, sessionId } = tenant.users.viewer;
  const { token } = await tokensAt(() => new Date(Date.now() - 700_000)).issue({ userId, sessionId });

  expect(await me(token)).toMatchObject({ status: 401, body: { code: 'token_expired' } });
});

test('tokens of a retired signing key work to their end, also in a process that starts then', async () => {
  const { id: userId, sessionId } = tenant.users.viewer;

  await client.rows("update signing_keys set state = 'retired', retired_at = now() where state = 'current'");

  expect((await me(tenant.tokens.viewer)).status).toBe(200);
  expect(await tokensAt(() => new Date()).verify(tenant.tokens.viewer)).toMatchObject({ userId, sessionId });
  await client.rows("update signing_keys set state = 'current', retired_at = null");
});

test('deactivated, demoted and moved users count from the next request', async () => {
  const own = await client.tenant({ workspaces: 2 });
  const [, second = ''] = own.workspaceIds;

  await me(own.tokens.admin);
  await client.rows("update users set role = 'viewer', workspace_id = ? where id = ?", [second, own.users.admin.id]);
  expect((await me(own.tokens.admin)).body).toMatchObject({ role: 'viewer', workspace_id: second });

  await client.rows('update users set is_active = false where id = ?', [own.users.admin.id]);
  expect(await me(own.tokens.admin)).toMatchObject({ status: 401, body: { code: 'session_revoked' } });
});

test('a restricted session reads /auth/me and signs out', async () => {
  const own = await client.tenant({ requireMfa: true });
  const { token } = await tokenFor(client.api.db, client.api.keys, own.users.admin);

  expect((await me(token)).body.mfa).toMatchObject({ enrolled: false, required: true });
  expect(await client.call('GET', '/service-keys', { token })).toMatchObject({
    status: 401,
    body: { code: 'mfa_required', context: { reason: 'enrolment_required' } },
  });
  expect((await client.call('POST', '/auth/logout', { token })).status).toBe(204);
});

test('last use is noted outside the request, once a minute', async () => {
  const own = await client.tenant();

  await me(own.serviceKey.plaintext);
  await client.api.deps.identity.uses.flush();
  const [first] = await client.rows<{ last_used_at: string }>('select last_used_at from service_keys where id = ?', [own.serviceKey.id]);
  const again = await client.statementsOf(async () => {
    await me(own.serviceKey.plaintext);
    await client.api.deps.identity.uses.flush();
  });
  const [second] = await client.rows<{ last_used_at: string }>('select last_used_at from service_keys where id = ?', [own.serviceKey.id]);

  expect(first?.last_used_at).toEqual(expect.any(String));
  expect(second).toEqual(first);
  expect(again.filter((sql) => sql.startsWith('update'))).toEqual([]);
});

test('/auth/me carries the version as ETag and never answers 304', async () => {
  const first = await me(tenant.tokens.member);
  const again = await client.call('GET', '/auth/me', {
    token: tenant.tokens.member,
    headers: { 'if-none-match': String(first.headers['etag']) },
  });

  expect(first.headers['etag']).toBe('"1"');
  expect(again.status).toBe(200);
});

test('an unknown key is refused like a garbled one', async () => {
  expect(await me(newServiceKeyPlaintext())).toMatchObject({ status: 401, body: { code: 'credential_invalid' } });
});

test('an admin and a key act as another user: /auth/me shows both, with the lower role', async () => {
  const { users, tokens, serviceKey } = tenant;

  expect((await meWith(tokens.admin, acting(users.viewer.id.toUpperCase()))).body).toMatchObject({
    user: { id: users.admin.id },
    acting_user: { id: users.viewer.id, role: 'viewer' },
    role: 'viewer',
    scope: 'workspace',
  });
  expect((await meWith(serviceKey.plaintext, acting(users.member.id))).body).toMatchObject({
    principal_kind: 'service_key',
    user: null,
    acting_user: { id: users.member.id },
    role: 'member',
  });
});

test('X-Acting-User is 403 below admin, also garbled; 422 for no uuid; 403 above the own rank', async () => {
  const { users, tokens } = tenant;

  for (const id of [users.viewer.id, 'garbled']) {
    expect(await meWith(tokens.member, acting(id))).toMatchObject({ status: 403, body: { code: 'role_insufficient' } });
  }
  for (const id of ['garbled', '', `${users.viewer.id},${users.viewer.id}`]) {
    expect(await meWith(tokens.admin, acting(id))).toMatchObject({
      status: 422,
      body: { code: 'validation_failed', errors: [{ in: 'header', name: 'X-Acting-User' }] },
    });
  }
  expect(await meWith(tokens.admin, acting(users.owner.id))).toMatchObject({
    status: 403,
    body: { code: 'role_insufficient', context: { reason: 'rank' } },
  });
});

test('a foreign, unknown, inactive or unseen acting user is one 404', async () => {
  const { organizationId, workspaceIds, tokens } = tenant;
  const [, second = ''] = workspaceIds;
  const inactive = await makeUser(client.api.db, client.api.keys, {
    role: 'viewer',
    scope: 'workspace',
    organizationId,
    workspaceId: tenant.workspaceId,
  });
  const elsewhere = await makeUser(client.api.db, client.api.keys, {
    role: 'viewer',
    scope: 'workspace',
    organizationId,
    workspaceId: second,
  });

  await client.rows('update users set is_active = false where id = ?', [inactive.id]);

  for (const id of [foreign.users.viewer.id, newId(), inactive.id, elsewhere.id, tenant.users.operator.id]) {
    expect(await meWith(tokens.admin, acting(id))).toMatchObject({ status: 404, body: { code: 'not_found' } });
  }
});

test("signing out and everything about keys can't be done as another", async () => {
  const { users, organizationOwner } = tenant;
  const headers = acting(users.admin.id);
  const refused = { status: 403, body: { code: 'resource_forbidden', context: { reason: 'delegation_not_allowed' } } };

  expect(await client.call('POST', '/auth/logout', { token: organizationOwner.token, headers })).toMatchObject(refused);
  expect(await client.call('GET', '/service-keys', { token: organizationOwner.token, headers })).toMatchObject(refused);
  expect(await client.call('POST', '/service-keys', { token: organizationOwner.token, headers, body: { name: 'x' } })).toMatchObject(
    refused,
  );
  expect((await meWith(organizationOwner.token, {})).status).toBe(200);
});

test('X-View-* from anybody but an operator is 403 on every operation, and never ignored', async () => {
  const views: Record<string, string>[] = [
    { 'x-view-organization': tenant.organizationId },
    { 'x-view-workspace': tenant.workspaceId },
    { 'x-view-organization': 'garbled' },
  ];
  const operations = areas
    .flatMap((area) => area.operations)
    .filter((operation) => operation.status !== 'specified' && isRoleAccess(operation));

  for (const headers of views) {
    for (const operation of operations) {
      const path = operation.path.replaceAll(/\{\w+\}/g, newId());
      const reply = await client.api.app.inject({
        method: operation.method,
        url: path,
        headers: { authorization: `Bearer ${tenant.organizationOwner.token}`, ...headers },
      });

      expect([operation.operationId, reply.statusCode]).toEqual([operation.operationId, 403]);
    }
  }
  expect((await meWith(tenant.serviceKey.plaintext, views[0] ?? {})).status).toBe(403);
});

test('an operator narrows to an organization or workspace, and may act as a user inside the view', async () => {
  const { organizationId, workspaceId, users, tokens } = tenant;

  expect((await meWith(tokens.operator, {})).body).toMatchObject({
    role: 'operator',
    scope: 'platform',
    organization_id: null,
    workspace_ids: [],
    view: null,
  });
  expect((await meWith(tokens.operator, { 'x-view-workspace': workspaceId })).body).toMatchObject({
    role: 'operator',
    scope: 'workspace',
    user: { id: users.operator.id },
    view: { organization_id: organizationId, workspace_id: workspaceId },
    workspace_ids: [workspaceId],
  });
  expect((await meWith(tokens.operator, { 'x-view-organization': organizationId })).body).toMatchObject({
    scope: 'organization',
    view: { workspace_id: null },
  });
  expect((await meWith(tokens.operator, { 'x-view-organization': organizationId, ...acting(users.admin.id) })).body).toMatchObject({
    role: 'admin',
    user: { id: users.operator.id },
    acting_user: { id: users.admin.id },
  });
  expect((await meWith(tokens.operator, acting(users.admin.id))).body).toMatchObject({
    role: 'admin',
    user: { id: users.operator.id },
    organization_id: organizationId,
  });
});

test('headers of the view that disagree or name nothing are 404, garbled ones 422', async () => {
  const { organizationId, workspaceId, tokens } = tenant;
  const view = (headers: Record<string, string>) => meWith(tokens.operator, headers);

  expect((await view({ 'x-view-organization': foreign.organizationId, 'x-view-workspace': workspaceId })).status).toBe(404);
  expect((await view({ 'x-view-organization': newId() })).status).toBe(404);
  expect((await view({ 'x-view-organization': organizationId, 'x-view-workspace': newId() })).status).toBe(404);
  expect((await view({ 'x-view-organization': organizationId, ...acting(foreign.users.viewer.id) })).status).toBe(404);
  expect((await view({ 'x-view-workspace': 'garbled' })).status).toBe(422);
});

test('a stream token opens one of two simultaneous sockets, of its run only, as the caller is then', async () => {
  const own = await client.tenant();
  const { token } = own.users.member;
  const document = { slug: 'one', name: 'One', revision: { model: 'builtin/extractive', instructions: 'Answer.' }, activate: true };

  await client.call('POST', '/agents', { token: own.tokens.admin, body: document });
  const [run, other] = await Promise.all(
    [1, 2].map(() => client.call('POST', '/runs', { token, body: { agent_slug: 'one', input: { text: 'hello' } } })),
  );
  const issue = async (credential: string) =>
    (await client.call('POST', `/runs/${run?.body.id}/stream-token`, { token: credential })).body.token;
  const open = (streamToken: string, runId = run?.body.id) =>
    openStreamToken(client.api.db, streamToken, runId).then(
      (caller) => caller.principalId,
      (failure) => failure.code,
    );
  const [byUser, byKey, byOther] = [await issue(token), await issue(own.serviceKey.plaintext), await issue(token)];

  expect(await open(byUser, other?.body.id)).toBe('stream_token_invalid');
  expect((await Promise.all([open(byUser), open(byUser)])).toSorted()).toEqual([own.users.member.id, 'stream_token_used'].toSorted());
  expect(await open(byKey)).toBe(own.serviceKey.id);
  expect(await open(`lh_st_${'A'.repeat(43)}`)).toBe('stream_token_invalid');
  expect(await me(byOther)).toMatchObject({ status: 401, body: { code: 'credential_invalid' } });
  await client.call('POST', '/auth/logout', { token });
  expect(await open(byOther)).toBe('session_revoked');
});
