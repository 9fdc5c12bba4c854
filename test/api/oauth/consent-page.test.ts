import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseHTML } from 'linkedom';
import { generateSync } from 'otplib';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { problemPage } from '../../../api/oauth/consent-page.ts';
import { testPassword, testPublicUrl } from '../../support/tenant.ts';
import { age, authorizePath, exchange, newPkce, openOauth, type OauthWorld, type TestClient } from './client.ts';

let world: OauthWorld;
let client: TestClient;

beforeAll(async () => {
  world = await openOauth();
  client = await world.client((await world.tenant()).tokens.operator, { client_name: 'Evil </script><b>app' });
});

afterAll(() => world.close());

const accept = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

interface Page {
  readonly asked: { method: string; path: string; body: string; authorization: string | undefined }[];
  /** Id of the element that has the focus. */
  focus(): string | null;
  /** A key on the page; gives whether its default (submit, click) would follow. */
  key(type: 'keydown' | 'keyup', key: string, isRepeat?: boolean): boolean;
  isDisabled(id: string): boolean;
  press(id: string): void;
  /** Waits until a button can be used, and clicks it. */
  click(id: string): Promise<void>;
  readonly sentTo: string[];
  text(id: string): string;
  isShown(id: string): boolean;
  uncheck(name: string): void;
  submit(id: string, fields: Readonly<Record<string, string>>): Promise<void>;
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
  const { users, organizationId } = await world.tenant();
  const { verifier, challenge } = newPkce();
  const page = await openPage(authorizePath(client, { code_challenge: challenge }));

  expect(page.text('lead')).toContain('Evil </script><b>app');
  expect([page.isShown('sign-in'), page.isShown('factor'), page.isShown('consent')]).toEqual([true, false, false]);
  await page.submit('sign-in', { email: users.member.email, password: testPassword });
  expect([page.isShown('sign-in'), page.isShown('consent')]).toEqual([false, true]);
  expect(page.text('redirect-host')).toBe('app.test');
  page.uncheck('agents:read');
  await page.click('allow');

  const back = new URL(page.sentTo[0] ?? '');
  const issued = await exchange(world, client, { code: back.searchParams.get('code') ?? '', verifier });
  expect(back.searchParams.get('state')).toBe('state-1');
  expect(issued.body.scope).toBe('runs:read');
  expect(page.asked.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'POST /auth/login',
    `GET /organizations/${organizationId}`,
    'POST /oauth/authorize',
    'POST /auth/logout',
  ]);
  expect((await world.get('/auth/me', { authorization: page.asked.at(-1)?.authorization ?? '' })).status).toBe(401);
});

test('of a private scheme people see the whole address and a warning, and the code goes there', async () => {
  const { tokens, users } = await world.tenant();
  const uri = 'cursor://anysphere.cursor-mcp/oauth/callback';
  const native = await world.client(tokens.operator, { client_name: 'Cursor', redirect_uris: [uri] });
  const page = await openPage(authorizePath(native));

  await page.submit('sign-in', { email: users.member.email, password: testPassword });
  expect(page.text('redirect-host')).toBe(uri);
  expect(page.text('warnings')).toMatch(/^The answer goes to an application on this device/);
  await page.click('allow');

  expect(page.sentTo).toEqual([expect.stringMatching(/^cursor:\/\/anysphere\.cursor-mcp\/oauth\/callback\?code=lh_ac_/)]);
});

test('a denial goes back too; a wrong password is said and can be tried again', async () => {
  const { users } = await world.tenant();
  const page = await openPage(authorizePath(client));

  await page.submit('sign-in', { email: users.viewer.email, password: 'wrong' });
  expect([page.isShown('sign-in'), page.text('problem')]).toEqual([true, 'The email address or password is wrong.']);
  await page.submit('sign-in', { email: users.viewer.email, password: testPassword });
  expect(page.text('problem')).toBe('');
  await page.click('deny');

  expect(new URL(page.sentTo[0] ?? '').searchParams.get('error')).toBe('access_denied');
});

test('a second factor is asked for between password and consent, a recovery code is taken for one', async () => {
  const page = await openPage(authorizePath(client), (path, body) => {
    if (path === '/auth/login') return { status: 200, body: { mfa_required: true, challenge_id: 'c-1', access_token: null } };
    if (path !== '/auth/mfa/verify') return null;
    return body['code'] === '123456' || body['method'] === 'recovery_code'
      ? {
          status: 200,
          body: { access_token: 'token-after-factor', user: { email: 'a@example.test', full_name: null, organization_id: null } },
        }
      : { status: 401, body: { code: 'mfa_code_invalid' } };
  });

  await page.submit('sign-in', { email: 'a@example.test', password: 'x' });
  expect([page.isShown('sign-in'), page.isShown('factor')]).toEqual([false, true]);
  await page.submit('factor', { code: '000000' });
  expect(page.text('problem')).toMatch(/^The code is wrong/);
  await page.submit('factor', { code: '123 456' });
  expect(page.isShown('consent')).toBe(true);
  await page.click('allow');

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
    await page.click('allow');
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

test('while the console, whose page it would be, is not built, the own page asks; once it is, the browser is sent there', async () => {
  const builds = mkdtempSync(join(tmpdir(), 'longhaul-console-'));
  const env = { OAUTH_CONSENT_URL: `${testPublicUrl}/console/consent`, CONSOLE_DIR: builds };
  const own = await openOauth({ env });
  const { tokens } = await own.tenant();
  const ownClient = await own.client(tokens.operator);

  const before = await own.get(authorizePath(ownClient), accept);
  mkdirSync(join(builds, 'a'));
  writeFileSync(join(builds, 'a', 'index.html'), '<!doctype html>');
  const after = await own.get(authorizePath(ownClient), accept);
  await own.close();
  rmSync(builds, { recursive: true });

  expect([before.status, before.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
  expect([after.status, after.headers['location']?.startsWith(`${testPublicUrl}/console/consent?`)]).toEqual([303, true]);
});

test('after the sign-in the focus is on nothing that grants, and no key that is held or pressed again grants anything', async () => {
  const { users } = await world.tenant();
  const page = await openPage(authorizePath(client));
  page.key('keydown', 'Enter');
  await page.submit('sign-in', { email: users.member.email, password: testPassword });

  expect([page.isShown('consent'), page.focus(), page.isDisabled('allow')]).toEqual([true, 'title', true]);
  // No form: an Enter in a field has no button to press.
  expect(String((await world.get(authorizePath(client), accept)).body)).not.toMatch(/<form[^>]*id="consent"/);
  // Held: its repeats press nothing, and Allow stays out of reach however long it takes.
  const endsAt = performance.now() + 1_500;
  while (performance.now() < endsAt) {
    expect(page.key('keydown', 'Enter', true)).toBe(false);
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
  expect(page.isDisabled('allow')).toBe(true);
  page.press('allow'); // as a click that finds it all the same
  const letGoAt = performance.now();
  page.key('keyup', 'Enter');
  expect([page.isDisabled('allow'), page.asked.some(({ path }) => path === '/oauth/authorize')]).toEqual([true, false]);

  await page.click('allow'); // a moment later
  expect(performance.now() - letGoAt).toBeGreaterThan(900);
  expect(new URL(page.sentTo[0] ?? '').searchParams.get('code')).toMatch(/^lh_ac_/);
});

test('the page says who is signed in, of which organization, and lets another account decide', async () => {
  const { users, organizationId } = await world.tenant();
  const page = await openPage(authorizePath(client));
  const organization = await world.get(`/organizations/${organizationId}`, { authorization: `Bearer ${users.member.token}` });

  await page.submit('sign-in', { email: users.member.email, password: testPassword });
  expect(page.isShown('account')).toBe(true);
  expect(page.text('who')).toContain(users.member.email);
  expect(page.text('who')).toContain(organization.body.name);
  const first = page.asked.at(-1)?.authorization ?? '';
  await page.click('other-account');
  expect([page.isShown('sign-in'), page.isShown('consent'), page.isShown('account')]).toEqual([true, false, false]);
  expect((await world.get('/auth/me', { authorization: first })).status).toBe(401);
  await page.submit('sign-in', { email: users.viewer.email, password: testPassword });
  expect(page.text('who')).toContain(users.viewer.email);
  await page.click('allow');

  expect(new URL(page.sentTo[0] ?? '').searchParams.get('code')).toMatch(/^lh_ac_/);
});

test('who must enrol a factor first is told so, and who decides too late is told that', async () => {
  const { users, organizationId } = await world.tenant();
  const late = await openPage(authorizePath(client));
  await late.submit('sign-in', { email: users.viewer.email, password: testPassword });
  await age(world, "update oauth_transactions set expires_at = now() - interval '1 second'");
  await late.click('allow');
  await age(world, 'update organization_settings set require_mfa = true where organization_id = ?', [organizationId]);
  const page = await openPage(authorizePath(client));
  await page.submit('sign-in', { email: users.member.email, password: testPassword });

  expect([late.isShown('consent'), late.text('problem')]).toEqual([false, expect.stringContaining('has expired')]);
  expect([page.isShown('consent'), page.text('problem')]).toEqual([false, expect.stringContaining('requires a second factor')]);
  expect([page.isShown('account'), page.sentTo]).toEqual([true, []]);
});

const hostile = '<img src=x onerror=alert(1)>"\'&{advice}';

test.each<[string, string, Record<string, string>]>([
  ['an unknown client', `/oauth/authorize?client_id=${encodeURIComponent(hostile)}`, {}],
  ['a client that is missing', '/oauth/authorize', {}],
  ['a redirect that is not registered', '', { redirect_uri: `https://evil.test/${encodeURIComponent(hostile)}` }],
])(
  'a browser that comes with %s is shown a page, is sent nowhere, and nothing of the request stands in it',
  async (_, path, parameters) => {
    const url = path || authorizePath(client, parameters);
    const [page, json] = [await world.get(url, accept), await world.get(url)];
    const html = String(page.body);
    const [, style = ''] = /<style>([\s\S]*?)<\/style>/.exec(html) ?? [];

    expect(page).toMatchObject({ status: 400, headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' } });
    expect(page.headers['location']).toBeUndefined();
    expect(page.headers['content-security-policy']).toBe(
      `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    );
    expect(html).not.toMatch(/onerror|evil|<script|<img|\{\w+\}/);
    expect(parseHTML(html).document.querySelector('[role=alert]')?.textContent).toMatch(/Nothing was granted/);
    expect(json).toMatchObject({ status: 400, body: { code: 'oauth_request_invalid' } });
  },
);

test('what an envelope says stands in the page as text', () => {
  const { html } = problemPage({
    ...({ type: '', title: '', status: 400, instance: '', retryable: false, retry_after_s: null, errors: [], context: {} } as const),
    code: 'oauth_request_invalid',
    detail: hostile,
    correlation_id: '00000000-0000-7000-8000-000000000000',
  });
  const { document } = parseHTML(html);

  expect([document.querySelector('img'), document.querySelectorAll('script').length]).toEqual([null, 0]);
  expect(document.querySelector('main')?.textContent).toContain(hostile);
});

test('a browser that is over the limit gets a page as well', async () => {
  const strict = await openOauth({ env: { RATE_LIMITS: 'anonymous=1/600' } });
  const answers = [
    await strict.get('/oauth/authorize', accept),
    await strict.get('/oauth/authorize', accept),
    await strict.get('/oauth/authorize'),
  ];
  await strict.close();

  expect(answers.map(({ status }) => status)).toEqual([400, 429, 429]);
  expect(String(answers[1]?.body)).toContain('Wait a moment');
  expect(answers[2]?.body.code).toBe('rate_limited');
});

type Fake = (path: string, body: Record<string, unknown>) => { status: number; body: unknown } | null;

/** The page as a browser would run it, over the API itself or a fake of parts of it. */
async function openPage(path: string, fake: Fake = () => null): Promise<Page> {
  const html = String((await world.get(path, accept)).body);
  const { document, window } = parseHTML(html);
  const asked: Page['asked'] = [];
  const sentTo: string[] = [];
  let focused: string | null = null;
  const fetchHere = async (url: string, init: { method: string; headers: Record<string, string>; body?: string }) => {
    asked.push({ method: init.method, path: url, body: init.body ?? '', authorization: init.headers['authorization'] });
    const made = fake(url, JSON.parse(init.body ?? '{}'));
    const real = made ?? (await overHttp(url, init));
    return { ok: real.status < 400, status: real.status, json: async () => real.body };
  };
  for (const element of document.querySelectorAll('*'))
    Object.assign(element, { focus: () => (focused = element.id || element.getAttribute('name')) });
  const [, script = ''] = /<script>([\s\S]*?)<\/script>/.exec(html) ?? [];
  // The script of the page, with the page's own surroundings in place of a browser's.
  // oxlint-disable-next-line no-implied-eval, no-new-func
  new Function('document', 'window', 'location', 'fetch', script)(
    document,
    document,
    { replace: (url: string) => sentTo.push(url) },
    fetchHere,
  );

  const find = (id: string) => {
    const found = document.getElementById(id);
    if (!found) throw new Error(`the page has no ${id}`);
    return found;
  };
  const dispatch = (on: EventTarget, type: string, more: object = {}) =>
    on.dispatchEvent(Object.assign(new window.Event(type, { cancelable: true, bubbles: true }), more));
  const idle = () => until(() => find('page').getAttribute('aria-busy') !== 'true');
  return {
    asked,
    sentTo,
    text: (id) => find(id).textContent ?? '',
    isShown: (id) => !find(id).hidden,
    focus: () => focused,
    key: (type, key, isRepeat = false) => dispatch(document, type, { key, repeat: isRepeat }),
    isDisabled: (id) => find(id).getAttribute('aria-disabled') === 'true',
    uncheck: (name) => void Reflect.set(document.querySelector(`[name="${name}"]`) ?? {}, 'checked', false),
    press: (id) => void dispatch(find(id), 'click'),
    async click(id) {
      await until(() => find(id).getAttribute('aria-disabled') !== 'true');
      dispatch(find(id), 'click');
      await idle();
    },
    async submit(id, fields) {
      for (const [name, value] of Object.entries(fields)) Reflect.set(find(id).querySelector(`[name="${name}"]`) ?? {}, 'value', value);
      dispatch(find(id), 'submit');
      await idle();
    },
  };
}

async function overHttp(url: string, init: { method: string; headers: Record<string, string>; body?: string }) {
  const reply = await fetch(world.api.url + url, init);
  const text = await reply.text();
  return { status: reply.status, body: text === '' ? null : JSON.parse(text) };
}

async function until(isTrue: () => boolean): Promise<void> {
  for (let tries = 0; tries < 6_000 && !isTrue(); tries += 1) await new Promise((resolve) => setTimeout(resolve, 10));
  if (!isTrue()) throw new Error('the page did not go on');
}
