import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { rows } from '../../../db/sql.ts';
import { sweep } from '../../../db/transaction.ts';
import { bearer } from '../../support/tenant.ts';
import { age, approve, basic, callback, exchange, grantTo, issuer, newPkce, openOauth, refresh, type OauthWorld } from './client.ts';

let world: OauthWorld;

beforeAll(async () => {
  world = await openOauth();
});

afterAll(() => world.close());

test('a user approves, the client exchanges the code, calls the API, refreshes and goes on', async () => {
  const { tokens, users } = await world.tenant();
  const client = await world.client(tokens.operator);

  const code = await approve(world, client, { token: tokens.member });
  const issued = await exchange(world, client, code);
  const me = await world.get('/auth/me', bearer(issued.body.access_token));
  const renewed = await refresh(world, client, issued.body.refresh_token);
  const again = await world.get('/auth/me', bearer(renewed.body.access_token));

  expect(code.redirect.origin + code.redirect.pathname).toBe(client.redirectUri);
  expect(Object.fromEntries(code.redirect.searchParams)).toEqual({
    code: expect.stringMatching(/^lh_ac_/),
    state: 'state-1',
    iss: issuer,
  });
  expect(issued).toMatchObject({ status: 200, headers: { 'cache-control': 'no-store' } });
  expect(issued.body).toEqual({
    access_token: expect.any(String),
    token_type: 'Bearer',
    expires_in: 600,
    refresh_token: expect.stringMatching(/^lh_rt_/),
    scope: 'runs:read agents:read',
  });
  expect(me.body).toMatchObject({
    principal_kind: 'user',
    client_id: client.clientId,
    user: { id: users.member.id },
    scopes: ['runs:read', 'agents:read'],
    session: { kind: 'oauth', client_id: client.clientId, client_name: 'Test app' },
  });
  expect(renewed.body).toMatchObject({
    scope: 'runs:read agents:read',
    refresh_token: expect.not.stringMatching(issued.body.refresh_token),
  });
  expect(again.status).toBe(200);
});

test('an access token has the form of RFC 9068', async () => {
  const { tokens, users } = await world.tenant();
  const client = await world.client(tokens.operator);

  const { access } = await grantTo(world, client, users.viewer);
  const [header, claims] = access.split('.').map((part, at) => (at < 2 ? JSON.parse(Buffer.from(part, 'base64url').toString()) : null));

  expect(header).toMatchObject({ alg: 'EdDSA', typ: 'at+jwt' });
  expect(claims).toEqual({
    iss: issuer,
    aud: issuer,
    sub: users.viewer.id,
    client_id: client.clientId,
    scope: 'runs:read agents:read',
    sid: expect.any(String),
    iat: expect.any(Number),
    exp: claims.iat + 600,
    jti: expect.any(String),
  });
});

test('a code used twice is refused and its first tokens die', async () => {
  const { tokens, organizationId } = await world.tenant();
  const client = await world.client(tokens.operator);
  const code = await approve(world, client, { token: tokens.member });

  const first = await exchange(world, client, code);
  const second = await exchange(world, client, code);
  const api = await world.get('/auth/me', bearer(first.body.access_token));
  const renewed = await refresh(world, client, first.body.refresh_token);

  expect(second).toMatchObject({ status: 400, body: { code: 'oauth_request_invalid', error: 'invalid_grant' } });
  expect(api).toMatchObject({ status: 401, body: { code: 'session_revoked' } });
  expect(renewed).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
  expect(await auditOf(organizationId, 'logout')).toEqual([
    expect.objectContaining({ resource_type: 'session', operation_id: 'issueOauthToken' }),
  ]);
});

test('of exchanges of one code at once at most one gives tokens, and none of them lives', async () => {
  const { tokens } = await world.tenant();
  const client = await world.client(tokens.operator);
  const code = await approve(world, client, { token: tokens.member });

  const answers = await Promise.all(Array.from({ length: 8 }, () => exchange(world, client, code)));
  const won = answers.filter(({ status }) => status === 200);
  const api = await Promise.all(won.map(({ body }) => world.get('/auth/me', bearer(body.access_token))));

  expect(won).toHaveLength(1);
  expect(answers.filter(({ status, body }) => status === 400 && body.error === 'invalid_grant')).toHaveLength(7);
  expect(api.map(({ status }) => status)).toEqual([401]);
});

test.each<[string, Record<string, string>]>([
  ['another verifier', { code_verifier: newPkce().verifier }],
  ['another redirect', { redirect_uri: `${callback}/` }],
  ['the redirect in other letters', { redirect_uri: callback.replace('callback', 'Callback') }],
])('%s gives invalid_grant and uses the code up: who holds it without its proof gets no second try', async (_name, wrong) => {
  const { tokens } = await world.tenant();
  const client = await world.client(tokens.operator);
  const code = await approve(world, client, { token: tokens.member });

  const refused = await exchange(world, client, code, wrong);
  const right = await exchange(world, client, code);

  for (const answer of [refused, right])
    expect(answer).toMatchObject({ status: 400, body: { code: 'oauth_request_invalid', error: 'invalid_grant', context: {} } });
});

test.each<[string, Record<string, string>]>([
  ['another code', { code: `lh_ac_${'A'.repeat(43)}` }],
  ['no code of ours', { code: 'x' }],
  ['another resource', { resource: 'https://elsewhere.test/' }],
  ['more scopes', { scope: 'runs:read runs:write' }],
])('%s is refused, and the code stays good for who can prove it', async (_name, wrong) => {
  const { tokens } = await world.tenant();
  const client = await world.client(tokens.operator);
  const code = await approve(world, client, { token: tokens.member });

  const refused = await exchange(world, client, code, wrong);
  const right = await exchange(world, client, code);

  expect([refused.status, right.status]).toEqual([400, 200]);
});

test('of right and wrong verifiers at once no tokens live: the code was in other hands, whoever came first', async () => {
  const { tokens } = await world.tenant();
  const client = await world.client(tokens.operator);

  for (let round = 0; round < 6; round++) {
    const code = await approve(world, client, { token: tokens.member });
    const [right, ...wrong] = await Promise.all([
      exchange(world, client, code),
      ...Array.from({ length: 3 }, () => exchange(world, client, code, { code_verifier: newPkce().verifier })),
    ]);
    const lives = right.status === 200 ? (await world.get('/auth/me', bearer(right.body.access_token))).status : 401;

    expect(wrong.map(({ status, body }) => [status, body.error])).toEqual(wrong.map(() => [400, 'invalid_grant']));
    expect(lives).toBe(401);
    expect((await exchange(world, client, code)).status).toBe(400);
  }
});

test('a code without its verifier, of another client, of a user who was deactivated, or 60 s old is refused', async () => {
  const { tokens, users } = await world.tenant();
  const [client, other] = [await world.client(tokens.operator), await world.client(tokens.operator)];
  const codes = await Promise.all([0, 1, 2, 3].map(() => approve(world, client, { token: tokens.member })));
  const [bare, foreign, late, orphan] = codes as [(typeof codes)[0], (typeof codes)[0], (typeof codes)[0], (typeof codes)[0]];

  const form = { grant_type: 'authorization_code', code: bare.code, redirect_uri: callback, client_id: client.clientId };
  const withoutVerifier = await world.form('/oauth/token', form);
  const byAnother = await exchange(world, other, foreign);
  await age(world, "update oauth_codes set expires_at = now() - interval '1 second' where code_hash = sha256(?::bytea)", [
    Buffer.from(late.code),
  ]);
  const tooLate = await exchange(world, client, late);
  await age(world, 'update users set is_active = false where id = ?', [users.member.id]);
  const withoutUser = await exchange(world, client, orphan);

  for (const answer of [withoutVerifier, byAnother, tooLate, withoutUser]) {
    expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
  }
});

test('a code that was approved before the password changed is worth nothing after it', async () => {
  const { tokens, users } = await world.tenant();
  const client = await world.client(tokens.operator);
  const code = await approve(world, client, { token: tokens.member });

  await age(world, "update user_credentials set password_changed_at = now() + interval '1 second' where user_id = ?", [users.member.id]);
  const refused = await exchange(world, client, code);

  expect(refused).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
});

test('scope and resource may only narrow', async () => {
  const { tokens } = await world.tenant();
  const client = await world.client(tokens.operator);
  const code = () => approve(world, client, { token: tokens.member });

  const narrowed = await exchange(world, client, await code(), { scope: 'runs:read' });
  const wider = await exchange(world, client, await code(), { scope: 'runs:read runs:write' });
  const elsewhere = await exchange(world, client, await code(), { resource: `${issuer}/mcp` });
  const same = await exchange(world, client, await code(), { resource: `${issuer}/` });
  const back = await refresh(world, client, narrowed.body.refresh_token, { scope: 'runs:read agents:read' });

  expect(narrowed.body.scope).toBe('runs:read');
  expect(wider).toMatchObject({ status: 400, body: { error: 'invalid_scope' } });
  expect(elsewhere).toMatchObject({ status: 400, body: { error: 'invalid_target' } });
  expect(same.status).toBe(200);
  expect(back).toMatchObject({ status: 400, body: { error: 'invalid_scope' } });
});

test('a client without the grant refresh_token gets none', async () => {
  const { tokens } = await world.tenant();
  const client = await world.client(tokens.operator, { grant_types: ['authorization_code'] });

  const issued = await exchange(world, client, await approve(world, client, { token: tokens.member }));

  expect(issued.status).toBe(200);
  expect(issued.body).not.toHaveProperty('refresh_token');
});

test.each([
  [
    'a repeated field',
    [
      ['grant_type', 'authorization_code'],
      ['grant_type', 'authorization_code'],
    ],
    'invalid_request',
  ],
  ['no grant type', [['code', 'x']], 'invalid_request'],
  ['an unknown grant type', [['grant_type', 'password']], 'unsupported_grant_type'],
  [
    'no code',
    [
      ['grant_type', 'authorization_code'],
      ['redirect_uri', callback],
    ],
    'invalid_request',
  ],
  ['no refresh token', [['grant_type', 'refresh_token']], 'invalid_request'],
  [
    'an empty value, which counts as none',
    [
      ['grant_type', 'refresh_token'],
      ['refresh_token', ''],
    ],
    'invalid_request',
  ],
  [
    'a verifier that is too short',
    [
      ['grant_type', 'authorization_code'],
      ['code_verifier', 'short'],
    ],
    'invalid_request',
  ],
  ['a grant that the client may not use', [['grant_type', 'client_credentials']], 'unauthorized_client'],
] as const)('%s is 400 %s', async (_name, fields, error) => {
  const { tokens } = await world.tenant();
  const client = await world.client(tokens.operator);

  const refused = await world.form('/oauth/token', [...fields, ['client_id', client.clientId]]);

  expect(refused).toMatchObject({
    status: 400,
    headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' },
  });
  expect(refused.body).toMatchObject({ code: 'oauth_request_invalid', error, error_description: expect.any(String) });
});

test('JSON is 415, and a form with a bad escape 400', async () => {
  const json = await world.json(null, '/oauth/token', { grant_type: 'authorization_code' });
  const reply = await world.api.app.inject({
    method: 'POST',
    url: '/oauth/token',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: 'grant_type=%zz',
  });

  expect(json).toMatchObject({
    status: 415,
    headers: { 'accept-post': 'application/x-www-form-urlencoded' },
    body: { error: 'invalid_request' },
  });
  expect(reply.statusCode).toBe(400);
  expect(JSON.parse(reply.body)).toMatchObject({ code: 'malformed_request', error: 'invalid_request' });
});

test('a confidential client proves itself by its secret, in header or form, a public one by its id alone', async () => {
  const { tokens } = await world.tenant();
  const byHeader = await world.client(tokens.operator, { token_endpoint_auth_method: 'client_secret_basic' });
  const byForm = await world.client(tokens.operator, { token_endpoint_auth_method: 'client_secret_post' });
  const form = { grant_type: 'refresh_token', refresh_token: 'x' };
  const post = (client: typeof byForm) => ({ ...form, client_id: client.clientId, client_secret: client.secret ?? '' });

  const open = await world.client(tokens.operator);
  const right = [
    await world.form('/oauth/token', form, basic(byHeader)),
    await world.form('/oauth/token', post(byForm)),
    await world.form('/oauth/token', post(byHeader)),
    await world.form('/oauth/token', form, basic(byForm)),
    await world.form('/oauth/token', { ...form, client_id: open.clientId }),
  ];
  const wrong = [
    await world.form('/oauth/token', { ...post(byHeader), client_secret: byForm.secret ?? '' }),
    await world.form('/oauth/token', { ...form, client_id: open.clientId, client_secret: byForm.secret ?? '' }),
    await world.form('/oauth/token', { ...form, client_id: byHeader.clientId }),
    await world.form('/oauth/token', form, basic({ ...byHeader, secret: byForm.secret })),
    await world.form('/oauth/token', form, basic({ clientId: 'lh_oc_unknown', secret: byForm.secret })),
    await world.form('/oauth/token', { ...form, client_id: 'lh_oc_unknown' }),
  ];

  for (const answer of right) expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
  for (const answer of wrong) {
    expect(answer).toMatchObject({ status: 401, body: { code: 'credential_invalid', error: 'invalid_client' } });
    expect(answer.headers['www-authenticate']).toMatch(/^Basic /);
  }
});

test('who merely names a client uses up nothing of its limit', async () => {
  const strict = await openOauth({ env: { RATE_LIMITS: 'anonymous=100000/60,oauth_token=3/60' } });
  const { tokens } = await strict.tenant();
  const client = await strict.client(tokens.operator, { token_endpoint_auth_method: 'client_secret_basic' });
  const ask = (secret: string | null) => strict.form('/oauth/introspect', { token: 'x' }, basic({ ...client, secret }));
  const wrong: number[] = [];

  for (let at = 0; at < 4; at += 1) wrong.push((await ask(`lh_cs_${'A'.repeat(43)}`)).status);
  const right = await ask(client.secret);
  await strict.close();

  expect(wrong).toEqual([401, 401, 401, 429]);
  expect(right.status).toBe(200);
});

test('two client authentications at once are 400, garbled ones 401', async () => {
  const { tokens } = await world.tenant();
  const client = await world.client(tokens.operator, { token_endpoint_auth_method: 'client_secret_basic' });
  const form = { grant_type: 'refresh_token', refresh_token: 'x' };
  const encoded = (text: string | Buffer) => `Basic ${Buffer.from(text).toString('base64')}`;

  const twice = await world.form('/oauth/token', { ...form, client_secret: client.secret ?? '' }, basic(client));
  const other = await world.form('/oauth/token', { ...form, client_id: 'lh_oc_other' }, basic(client));
  const garbled = await Promise.all(
    [
      'Basic',
      'Basic !!!',
      encoded('no-colon'),
      encoded('%zz:x'),
      encoded(Buffer.from([0xff, 0xfe, 0x3a, 0x61])),
      encoded(':x'),
      'Bearer x',
      encoded('a\u0000:b'),
    ].map((authorization) => world.form('/oauth/token', form, { authorization })),
  );

  expect(twice).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
  expect(other).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
  expect(garbled.map(({ status, body }) => [status, body.error])).toEqual(garbled.map(() => [401, 'invalid_client']));
});

test('revoke is 200 for anything, and ends the grant of an own token only', async () => {
  const { tokens, users } = await world.tenant();
  const [client, other] = [await world.client(tokens.operator), await world.client(tokens.operator)];
  const [kept, ended, byAccess] = await Promise.all([0, 1, 2].map(() => grantTo(world, client, users.member)));
  const revoke = (token: string, by = client) =>
    world.form('/oauth/revoke', { token, client_id: by.clientId, token_type_hint: 'whatever' });

  const answers = [
    await revoke(kept?.refresh ?? '', other),
    await revoke('garbage'),
    await revoke(ended?.refresh ?? ''),
    await revoke(byAccess?.access ?? ''),
  ];
  const missing = await world.form('/oauth/revoke', { client_id: client.clientId });

  expect(answers.map(({ status, body }) => [status, body])).toEqual(answers.map(() => [200, null]));
  expect(missing).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
  expect((await world.get('/auth/me', bearer(kept?.access ?? ''))).status).toBe(200);
  expect((await world.get('/auth/me', bearer(ended?.access ?? ''))).status).toBe(401);
  expect(await refresh(world, client, ended?.refresh ?? '')).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
  expect((await world.get('/auth/me', bearer(byAccess?.access ?? ''))).status).toBe(401);
});

test('introspect tells a confidential client about its own tokens, and of all else that it is not active', async () => {
  const { tokens, users } = await world.tenant();
  const confidential = await world.client(tokens.operator, { token_endpoint_auth_method: 'client_secret_post' });
  const open = await world.client(tokens.operator);
  const secret = { client_secret: confidential.secret ?? '' };
  const code = await approve(world, confidential, { token: tokens.member });
  const own = (await exchange(world, confidential, code, secret)).body;
  const foreign = await grantTo(world, open, users.member);
  const ask = async (token: string) => (await world.form('/oauth/introspect', { token, client_id: confidential.clientId, ...secret })).body;

  const common = {
    active: true,
    scope: 'runs:read agents:read',
    client_id: confidential.clientId,
    sub: users.member.id,
    iss: issuer,
    aud: issuer,
  };
  expect(await ask(own.access_token)).toEqual({ ...common, iat: expect.any(Number), exp: expect.any(Number), token_type: 'Bearer' });
  expect(await ask(own.refresh_token)).toEqual({ ...common, iat: expect.any(Number), exp: expect.any(Number) });
  for (const token of [foreign.access, foreign.refresh, tokens.member, 'x']) expect(await ask(token)).toEqual({ active: false });
  expect((await world.form('/oauth/introspect', { token: foreign.access, client_id: open.clientId })).body).toEqual({ active: false });

  await world.form('/oauth/revoke', { token: own.refresh_token, client_id: confidential.clientId, ...secret });
  expect(await ask(own.access_token)).toEqual({ active: false });
  expect(await ask(own.refresh_token)).toEqual({ active: false });
});

async function auditOf(organizationId: string, action: string) {
  return sweep(world.api.db, (em) =>
    rows(em, 'select resource_type, operation_id from audit_entries where organization_id = ? and action = ?', [organizationId, action]),
  );
}
