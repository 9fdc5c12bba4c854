import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { testPassword, testPublicUrl, type TestTenant } from '../../support/tenant.ts';
import { goodPassword, newAddress, openPeople, type People } from '../users/people.ts';
import type { Answer, Client } from './client.ts';
import { codeOf, enrol } from './second-factor.ts';

let world: People;
/** Under the same host as `world` with another port, and under https. */
let otherPort: People;
let secure: People;
let tenant: TestTenant;

const otherUrl = 'http://longhaul.test:4000';
const secureUrl = 'https://longhaul.test';

beforeAll(async () => {
  world = await openPeople();
  const { database, keys, redisPrefix } = world.api;
  const beside = (url: string) => openPeople({ database, keys, redisPrefix, env: { PUBLIC_URL: url } });
  [otherPort, secure] = await Promise.all([beside(otherUrl), beside(secureUrl)]);
  tenant = await world.tenant();
});
afterAll(async () => {
  await Promise.all([otherPort.close(), secure.close()]);
  await world.close();
});

const nameUnder = (publicUrl: string) =>
  `${publicUrl.startsWith('https') ? '__Host-' : ''}lh_rt_${createHash('sha256').update(publicUrl).digest('hex').slice(0, 8)}`;
const name = nameUnder(testPublicUrl);
const sameOrigin = { 'x-refresh-cookie': '1', 'sec-fetch-site': 'same-origin' };

const setCookieOf = ({ headers }: Answer) => headers['set-cookie'];
/** Name and value of the cookie that a reply sets, as the browser sends it. */
const cookieOf = (answer: Answer) => String(setCookieOf(answer)).split(';')[0] ?? '';

const logIn = (at = world, headers: Readonly<Record<string, string>> = sameOrigin, email = tenant.users.member.email) =>
  at.ask('POST', '/auth/login', { email, password: testPassword }, headers);
const refresh = (cookie: string | null, at = world, headers: Readonly<Record<string, string>> = sameOrigin) =>
  at.ask('POST', '/auth/refresh', { refresh_token: 'cookie' }, { ...headers, ...(cookie === null ? {} : { cookie }) });
const logOut = (token: string, headers: Readonly<Record<string, string>>, at = world) =>
  at.call(token, 'POST', '/auth/logout', { headers });

function expectCookie(answer: Answer, publicUrl = testPublicUrl) {
  const [pair = '', ...attributes] = String(setCookieOf(answer)).split('; ');
  const maxAge = Number(attributes[0]?.replace('Max-Age=', ''));
  const left = (Date.parse(answer.body.refresh_expires_at) - Date.now()) / 1_000;

  expect(pair).toMatch(new RegExp(`^${nameUnder(publicUrl)}=lh_rt_[\\w-]{43}$`));
  expect(Math.abs(maxAge - left)).toBeLessThan(60);
  expect(attributes.slice(1)).toEqual(['Path=/', 'HttpOnly', 'SameSite=Strict', ...(publicUrl.startsWith('https') ? ['Secure'] : [])]);
  expect(answer).toMatchObject({ status: 200, body: { access_token: expect.any(String), refresh_token: null } });
}

test('a login puts the refresh token into the cookie and nowhere else, a refresh takes it from there and replaces it', async () => {
  const login = await logIn();
  const next = await refresh(cookieOf(login));
  const afterwards = await refresh(cookieOf(next));

  expectCookie(login);
  expectCookie(next);
  expectCookie(afterwards);
  expect(new Set([login, next, afterwards].map(cookieOf)).size).toBe(3);
  expect(new Set([login, next, afterwards].map(({ body }) => body.session_id)).size).toBe(1);
});

test('under https the cookie is Secure and bound to the host', async () => {
  const login = await logIn(secure);

  expectCookie(login, secureUrl);
  expectCookie(await refresh(cookieOf(login), secure), secureUrl);
});

test('an accepted invitation sets the cookie', async () => {
  const email = newAddress();
  const invited = await world.call(tenant.tokens.admin, 'POST', '/invitations', { body: { email, role: 'member' } });
  const body = { token: await world.tokenOf(invited.body.id), email, password: goodPassword };
  const foreign = await world.ask('POST', '/invitations/accept', body, { ...sameOrigin, 'sec-fetch-site': 'same-site' });
  const accepted = await world.ask('POST', '/invitations/accept', body, sameOrigin);

  expect(foreign).toMatchObject({ status: 403, body: { context: { reason: 'cross_origin' } } });
  expectCookie(accepted);
  expectCookie(await refresh(cookieOf(accepted)));
});

test('a challenge and a step-up leave the cookie alone, the code that completes a sign-in sets it', async () => {
  const { users } = await world.tenant();
  const { token, email } = users.admin;
  // `enrol` only calls; the rest of a client is not needed here.
  const { secret } = await enrol({ call: callOf(world) } as Client, token);

  const challenged = await logIn(world, sameOrigin, email);
  const body = { challenge_id: challenged.body.challenge_id, code: codeOf(secret) };
  const verified = await world.ask('POST', '/auth/mfa/verify', body, sameOrigin);
  const stepUp = await world.call(verified.body.access_token, 'POST', '/auth/mfa/verify', {
    body: { code: codeOf(secret, 1) },
    headers: sameOrigin,
  });

  expect(challenged).toMatchObject({ status: 200, body: { mfa_required: true } });
  expect(setCookieOf(challenged)).toBeUndefined();
  expectCookie(verified);
  expect(stepUp).toMatchObject({ status: 200, body: { refresh_token: null, refresh_expires_at: null } });
  expect(setCookieOf(stepUp)).toBeUndefined();
});

const callOf =
  (people: People): Client['call'] =>
  async (method, path, { token = '', headers, body } = {}) =>
    people.call(token, method, path, { headers, body });

test('signing out deletes the cookie, and only where the header asks for it', async () => {
  const [first, second] = [await logIn(), await logIn()];

  const kept = await logOut(first.body.access_token, { cookie: cookieOf(first) });
  const cleared = await logOut(second.body.access_token, { ...sameOrigin, cookie: cookieOf(second) });
  const again = await logOut(second.body.access_token, { ...sameOrigin, cookie: cookieOf(second) });

  expect([kept.status, setCookieOf(kept)]).toEqual([204, undefined]);
  expect([cleared.status, setCookieOf(cleared)]).toEqual([204, `${name}=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict`]);
  expect([again.status, setCookieOf(again)]).toEqual([401, undefined]);
  expect((await refresh(cookieOf(second))).body.code).toBe('session_revoked');
});

test('without the header a cookie is ignored, and tokens are in bodies as ever', async () => {
  const login = await logIn();
  const plain = await logIn(world, { 'sec-fetch-site': 'cross-site', 'cookie': cookieOf(login) });
  const ignored = await refresh(cookieOf(login), world, { 'sec-fetch-site': 'same-origin' });
  const byBody = await world.ask('POST', '/auth/refresh', { refresh_token: plain.body.refresh_token }, { cookie: cookieOf(login) });

  expect(plain).toMatchObject({ status: 200, body: { refresh_token: expect.stringMatching(/^lh_rt_/) } });
  expect(ignored).toMatchObject({ status: 401, body: { code: 'credential_invalid' } });
  expect(byBody).toMatchObject({
    status: 200,
    body: { session_id: plain.body.session_id, refresh_token: expect.stringMatching(/^lh_rt_/) },
  });
  expect([plain, ignored, byBody].map(setCookieOf)).toEqual([undefined, undefined, undefined]);
  expectCookie(await refresh(cookieOf(login)));
});

test('a refresh by cookie without one, with an unknown one or with two different ones is 401, with a token in the body 422', async () => {
  const [login, other] = [await logIn(), await logIn()];
  const unknown = `${name}=lh_rt_${'A'.repeat(43)}`;
  const twoOfThem = `${cookieOf(login)}; ${cookieOf(other)}`;

  for (const cookie of [null, '', `${name}=`, `${name}=cookie`, `x${cookieOf(login)}`, unknown, twoOfThem]) {
    const refused = await refresh(cookie);
    expect(refused).toMatchObject({ status: 401, body: { code: 'credential_invalid' } });
    expect(setCookieOf(refused)).toBeUndefined();
  }
  const body = { refresh_token: (await logIn(world, {})).body.refresh_token };
  expect(await world.ask('POST', '/auth/refresh', body, { ...sameOrigin, cookie: cookieOf(login) })).toMatchObject({
    status: 422,
    body: { errors: [{ pointer: '/refresh_token', rule: 'range' }] },
  });
  expectCookie(await refresh(`theme=dark; ${cookieOf(login)}; ${cookieOf(login)}`));
});

const foreignOrigins: readonly Readonly<Record<string, string>>[] = [
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'same-site' },
  { 'sec-fetch-site': 'none' },
  // What a page can set does not outweigh what the browser says.
  { 'sec-fetch-site': 'cross-site', 'origin': 'http://longhaul.test', 'host': 'longhaul.test' },
  {},
  { origin: 'null', host: 'longhaul.test' },
  { origin: 'http://evil.test', host: 'longhaul.test' },
  { origin: 'http://longhaul.test:4000', host: 'longhaul.test' },
  { origin: 'http://longhaul.test', host: 'longhaul.test:4000' },
  { origin: 'https://longhaul.test', host: 'longhaul.test:80' },
  { origin: 'http://sub.longhaul.test', host: 'longhaul.test' },
];

test.each(foreignOrigins)('from %j each of the five operations is 403 and nothing is read', async (from) => {
  const login = await logIn();
  const headers: Record<string, string> = { 'x-refresh-cookie': '1', 'cookie': cookieOf(login), ...from };
  // No JSON: whoever read it would answer 400.
  const paths = ['/auth/login', '/auth/mfa/verify', '/auth/refresh', '/invitations/accept'];
  const unread = await Promise.all(
    paths.map((url) =>
      world.api.app.inject({ method: 'POST', url, headers: { 'content-type': 'application/json', ...headers }, payload: '{"' }),
    ),
  );
  const signedOut = await logOut(login.body.access_token, headers);

  for (const reply of [...unread.map((one) => ({ ...one.json(), cookie: one.headers['set-cookie'] })), signedOut.body])
    expect(reply).toMatchObject({ status: 403, code: 'resource_forbidden', context: { reason: 'cross_origin' } });
  expect(unread.map((one) => one.headers['set-cookie'])).toEqual([undefined, undefined, undefined, undefined]);
  expect(setCookieOf(signedOut)).toBeUndefined();
  // Neither session nor token has suffered.
  expectCookie(await refresh(cookieOf(login)));
});

test.each([
  { origin: 'http://longhaul.test', host: 'longhaul.test' },
  { origin: 'http://longhaul.test', host: 'LONGHAUL.test:80' },
  { origin: 'http://192.168.0.7:3000', host: '192.168.0.7:3000' },
  { origin: 'http://[::1]:3000', host: '[::1]:3000' },
])('a browser without Fetch Metadata may ask from %j', async (from) => {
  expectCookie(await logIn(world, { 'x-refresh-cookie': '1', ...from }));
});

test('another value of the header is 422', async () => {
  const refused = await logIn(world, { ...sameOrigin, 'x-refresh-cookie': '2' });

  expect(refused).toMatchObject({ status: 422, body: { errors: [{ in: 'header', name: 'x-refresh-cookie' }] } });
  expect(setCookieOf(refused)).toBeUndefined();
  expect((await logIn(world, { ...sameOrigin, 'x-refresh-cookie': 'true' })).status).toBe(422);
});

test('deployments on several ports of one host keep a cookie each', async () => {
  const [here, there] = [await logIn(), await logIn(otherPort)];
  const jar = `${cookieOf(there)}; ${cookieOf(here)}`;

  const [mine, theirs] = [await refresh(jar), await refresh(jar, otherPort)];

  expectCookie(mine);
  expectCookie(theirs, otherUrl);
  expect([mine.body.session_id, theirs.body.session_id]).toEqual([here.body.session_id, there.body.session_id]);
  expect((await refresh(cookieOf(theirs))).status).toBe(401);
});

test('of concurrent refreshes one gets the next cookie, and no loser takes it away', async () => {
  const login = await logIn();

  const tried = await Promise.all(Array.from({ length: 8 }, () => refresh(cookieOf(login))));
  const [won, ...more] = tried.filter(({ status }) => status === 200);
  const lost = tried.filter(({ status }) => status !== 200);

  expect(more).toEqual([]);
  expect(lost.map(({ body }) => body.code)).toEqual(Array(7).fill('refresh_superseded'));
  expect(lost.map(setCookieOf)).toEqual(Array(7).fill(undefined));
  expectCookie(await refresh(cookieOf(won ?? login)));
});

test('the reply that ends a session for a reused token leaves the cookie alone', async () => {
  const login = await logIn();
  await refresh(cookieOf(login));
  await world.rows("update refresh_tokens set used_at = now() - interval '1 minute' where session_id = ? and used_at is not null", [
    login.body.session_id,
  ]);

  const reused = await refresh(cookieOf(login));

  expect(reused).toMatchObject({ status: 401, body: { code: 'refresh_reuse_detected' } });
  expect(setCookieOf(reused)).toBeUndefined();
});

test('a wrong password sets nothing', async () => {
  const refused = await world.ask('POST', '/auth/login', { email: tenant.users.member.email, password: 'wrong' }, sameOrigin);

  expect(refused).toMatchObject({ status: 401, body: { code: 'login_failed' } });
  expect(setCookieOf(refused)).toBeUndefined();
});

test('CORS allows neither the header nor credentials, even to an origin of the deployment', async () => {
  const { database, keys, redisPrefix } = world.api;
  const listed = await openPeople({ database, keys, redisPrefix, env: { CORS_ORIGINS: 'https://app.test' } });
  const preflight = await listed.api.app.inject({
    method: 'OPTIONS',
    url: '/auth/refresh',
    headers: {
      'origin': 'https://app.test',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'x-refresh-cookie',
    },
  });
  const reply = await logIn(listed, { ...sameOrigin, 'sec-fetch-site': 'cross-site', 'origin': 'https://app.test' });
  await listed.close();

  expect(preflight.headers['access-control-allow-origin']).toBe('https://app.test');
  expect(String(preflight.headers['access-control-allow-headers']).toLowerCase()).not.toContain('refresh');
  expect([preflight, reply].map(({ headers }) => headers['access-control-allow-credentials'])).toEqual([undefined, undefined]);
  expect(reply.status).toBe(403);
});
