import { createHash } from 'node:crypto';
import { parseHTML } from 'linkedom';
import { generateSync } from 'otplib';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { testPassword } from '../../support/tenant.ts';
import { authorizePath, exchange, newPkce, openOauth, type OauthWorld, type TestClient } from './client.ts';

let world: OauthWorld;
let client: TestClient;

beforeAll(async () => {
  world = await openOauth();
  client = await world.client((await world.tenant()).tokens.operator, { client_name: 'Evil </script><b>app' });
});

afterAll(() => world.close());

const accept = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

interface Page {
  readonly asked: { path: string; body: string; authorization: string | undefined }[];
  readonly sentTo: string[];
  text(id: string): string;
  isShown(id: string): boolean;
  uncheck(name: string): void;
  submit(id: string, fields: Readonly<Record<string, string>>, button?: string): Promise<void>;
}

test('a browser gets a page that loads nothing, runs nothing else and is framed by nobody', async () => {
  const page = await world.get(authorizePath(client), accept);
  const [policy, html] = [page.headers['content-security-policy'] ?? '', String(page.body)];
  const [, script = ''] = /<script>([\s\S]*?)<\/script>/.exec(html) ?? [];
  const [, style = ''] = /<style>([\s\S]*?)<\/style>/.exec(html) ?? [];
  const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

  expect(page).toMatchObject({
    status: 200,
    headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store', 'x-frame-options': 'DENY' },
  });
  expect(policy.split('; ')).toEqual([
    "default-src 'none'",
    `script-src ${hashOf(script)}`,
    `style-src ${hashOf(style)}`,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ]);
  expect(html).not.toMatch(/ (on\w+|style|src|href|action)=/);
  expect(html).not.toContain('<b>app');
  expect(script).not.toMatch(/innerHTML|localStorage|sessionStorage|document\.cookie|eval\(/);
});

test.each([
  ['application/json', 'application/json; charset=utf-8'],
  ['*/*', 'application/json; charset=utf-8'],
  ['text/html;q=0', 'application/json; charset=utf-8'],
  ['application/json, text/html;q=0.1', 'text/html; charset=utf-8'],
])('Accept %s is answered with %s', async (given, type) => {
  expect((await world.get(authorizePath(client), { accept: given })).headers['content-type']).toBe(type);
});

test('the user signs in, allows some of what is asked, and is sent back with a code; the page signs out', async () => {
  const { users } = await world.tenant();
  const { verifier, challenge } = newPkce();
  const page = await openPage(authorizePath(client, { code_challenge: challenge }));

  expect(page.text('lead')).toContain('Evil </script><b>app');
  expect([page.isShown('sign-in'), page.isShown('factor'), page.isShown('consent')]).toEqual([true, false, false]);
  await page.submit('sign-in', { email: users.member.email, password: testPassword });
  expect([page.isShown('sign-in'), page.isShown('consent')]).toEqual([false, true]);
  expect(page.text('redirect-host')).toBe('app.test');
  page.uncheck('agents:read');
  await page.submit('consent', {}, 'approve');

  const back = new URL(page.sentTo[0] ?? '');
  const issued = await exchange(world, client, { code: back.searchParams.get('code') ?? '', verifier });
  expect(back.searchParams.get('state')).toBe('state-1');
  expect(issued.body.scope).toBe('runs:read');
  expect(page.asked.map(({ path }) => path)).toEqual(['/auth/login', '/oauth/authorize', '/auth/logout']);
  expect((await world.get('/auth/me', { authorization: page.asked.at(-1)?.authorization ?? '' })).status).toBe(401);
});

test('a denial goes back too; a wrong password is said and can be tried again', async () => {
  const { users } = await world.tenant();
  const page = await openPage(authorizePath(client));

  await page.submit('sign-in', { email: users.viewer.email, password: 'wrong' });
  expect([page.isShown('sign-in'), page.isShown('problem'), page.text('problem')]).toEqual([true, true, 'Address or password is wrong.']);
  await page.submit('sign-in', { email: users.viewer.email, password: testPassword });
  expect(page.isShown('problem')).toBe(false);
  await page.submit('consent', {}, 'deny');

  expect(new URL(page.sentTo[0] ?? '').searchParams.get('error')).toBe('access_denied');
});

test('a second factor is asked for between password and consent, a recovery code is taken for one', async () => {
  const page = await openPage(authorizePath(client), (path, body) => {
    if (path === '/auth/login') return { status: 200, body: { mfa_required: true, challenge_id: 'c-1', access_token: null } };
    if (path !== '/auth/mfa/verify') return null;
    return body['code'] === '123456' || body['method'] === 'recovery_code'
      ? { status: 200, body: { access_token: 'token-after-factor' } }
      : { status: 401, body: { code: 'mfa_code_invalid' } };
  });

  await page.submit('sign-in', { email: 'a@example.test', password: 'x' });
  expect([page.isShown('sign-in'), page.isShown('factor')]).toEqual([false, true]);
  await page.submit('factor', { code: '000000' });
  expect(page.text('problem')).toBe('The code is wrong.');
  await page.submit('factor', { code: '123 456' });
  expect(page.isShown('consent')).toBe(true);
  await page.submit('consent', {}, 'approve');

  const [, wrong, right, decided] = page.asked;
  expect(JSON.parse(wrong?.body ?? '')).toEqual({ challenge_id: 'c-1', method: 'totp', code: '000000' });
  expect(JSON.parse(right?.body ?? '')).toEqual({ challenge_id: 'c-1', method: 'totp', code: '123456' });
  expect(decided).toMatchObject({ path: '/oauth/authorize', authorization: 'Bearer token-after-factor' });
});

test('a user with a factor comes to consent by a code of the app, and next time by a recovery code', async () => {
  const { users } = await world.tenant();
  const begun = await world.json(users.admin.token, '/auth/mfa/totp', {});
  const confirmed = await world.json(users.admin.token, '/auth/mfa/totp/confirm', { code: generateSync({ secret: begun.body.secret }) });
  // The step of the confirmation is used up: the next one is within the drift.
  const next = generateSync({ secret: begun.body.secret, epoch: Math.floor(Date.now() / 1_000) + 30 });

  for (const code of [next, confirmed.body.codes[0]]) {
    const page = await openPage(authorizePath(client));
    await page.submit('sign-in', { email: users.admin.email, password: testPassword });
    expect([page.isShown('factor'), page.isShown('consent')]).toEqual([true, false]);
    await page.submit('factor', { code });
    await page.submit('consent', {}, 'approve');
    expect(new URL(page.sentTo[0] ?? '').searchParams.get('code')).toMatch(/^lh_ac_/);
  }
});

test('with a page of the deployment the browser is sent there with the transaction', async () => {
  const own = await openOauth({ env: { OAUTH_CONSENT_URL: 'https://login.test/consent?theme=a' } });
  const { tokens } = await own.tenant();
  const ownClient = await own.client(tokens.operator);

  const sent = await own.get(authorizePath(ownClient), accept);
  const target = new URL(sent.headers['location'] ?? '');
  const decided = await own.json(tokens.member, '/oauth/authorize', {
    transaction_id: target.searchParams.get('transaction_id'),
    decision: 'approve',
  });
  const json = await own.get(authorizePath(ownClient));
  await own.close();

  expect(sent).toMatchObject({ status: 303, body: null });
  expect(target.origin + target.pathname).toBe('https://login.test/consent');
  expect(target.searchParams.get('theme')).toBe('a');
  expect(target.searchParams.get('client_id')).toBe(ownClient.clientId);
  expect(decided.status).toBe(200);
  expect(json.status).toBe(200);
});

type Fake = (path: string, body: Record<string, unknown>) => { status: number; body: unknown } | null;

/** The page as a browser would run it, over the API itself or a fake of parts of it. */
async function openPage(path: string, fake: Fake = () => null): Promise<Page> {
  const html = String((await world.get(path, accept)).body);
  const { document } = parseHTML(html);
  const asked: Page['asked'] = [];
  const sentTo: string[] = [];
  const fetchHere = async (url: string, init: { headers: Record<string, string>; body: string }) => {
    asked.push({ path: url, body: init.body, authorization: init.headers['authorization'] });
    const made = fake(url, JSON.parse(init.body));
    const real = made ?? (await world.json(null, url, init.body, init.headers));
    return { ok: real.status < 400, status: real.status, json: async () => real.body };
  };
  const [, script = ''] = /<script>([\s\S]*?)<\/script>/.exec(html) ?? [];
  // The script of the page, with the page's own surroundings in place of a browser's.
  // oxlint-disable-next-line no-implied-eval, no-new-func
  new Function('document', 'location', 'fetch', script)(document, { replace: (url: string) => sentTo.push(url) }, fetchHere);

  const find = (id: string) => {
    const found = document.getElementById(id);
    if (!found) throw new Error(`the page has no ${id}`);
    return found;
  };
  return {
    asked,
    sentTo,
    text: (id) => find(id).textContent ?? '',
    isShown: (id) => !find(id).hidden,
    uncheck: (name) => void Reflect.set(document.querySelector(`[name="${name}"]`) ?? {}, 'checked', false),
    async submit(id, fields, button) {
      for (const [name, value] of Object.entries(fields)) Reflect.set(find(id).querySelector(`[name="${name}"]`) ?? {}, 'value', value);
      const event = new (document.defaultView ?? globalThis).Event('submit', { cancelable: true });
      Object.assign(event, {
        submitter: button === undefined ? null : { value: find(id).querySelector(`[value=${button}]`)?.getAttribute('value') },
      });
      find(id).dispatchEvent(event);
      await until(() => find('page').getAttribute('aria-busy') === 'false');
    },
  };
}

async function until(isTrue: () => boolean): Promise<void> {
  for (let tries = 0; tries < 500 && !isTrue(); tries += 1) await new Promise((resolve) => setTimeout(resolve, 10));
  if (!isTrue()) throw new Error('the page did not go on');
}
