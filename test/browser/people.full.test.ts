import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateSync } from 'otplib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { BrowserContext, Page } from 'playwright-core';
import { change } from '../../db/sql.ts';
import { sweep } from '../../db/transaction.ts';
import { priceCall } from '../support/budgets.ts';
import { endOf, watchRun } from '../support/run-checks.ts';
import { makeAgent, scripted, startRun } from '../support/scenario.ts';
import type { Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';
import { makeUser, testPassword, type TestUser } from '../support/tenant.ts';
import { choose, press, tabTo, untilLoaded } from './support/gestures.ts';
import { consoleStack } from './support/on-stack.ts';
import { openTab, reasonToSkip } from './support/stage.ts';

const reason = await reasonToSkip();
if (reason !== null) process.stdout.write(`tests of the console are skipped: ${reason}\n`);

const linkUrl = 'http://longhaul.test/console';

(reason === null ? describe : describe.skip)('usage, people and operators in the console', () => {
  const mails = mkdtempSync(join(tmpdir(), 'longhaul-console-mails-'));
  const on = consoleStack({
    env: {
      MAIL_DIR: mails,
      MAIL_LINK_URL: linkUrl,
      OAUTH_CONSENT_URL: `${linkUrl}/consent`,
      RATE_LIMITS: 'principal=100000/60,workspace=100000/60,anonymous=off,login_pair=1000/60,login_ip=1000/60,invitation_accept=1000/60',
    },
  });

  beforeAll(() => priceCall(on().stack.db, 'compatible/scripted', '0.1'));
  afterAll(() => rmSync(mails, { recursive: true, force: true }));

  /** A user of the tenant's own workspace, who shares nothing with other tests. */
  const person = (role: TestUser['role'], scope: TestUser['scope'] = 'workspace') => {
    const { organizationId, workspaceId } = on().stack.tenant;
    return makeUser(on().stack.db, on().stack.keys, {
      role,
      scope,
      organizationId,
      workspaceId: scope === 'workspace' ? workspaceId : null,
    });
  };

  const openAs = (user: Pick<TestUser, 'email'>, path: string, context?: BrowserContext) =>
    on().signedIn(path, { user, ...(context && { context }) });

  /** As if somebody had signed in an hour ago: what asks for a fresh factor asks them again. */
  const signedInLongAgo = ({ id }: Pick<TestUser, 'id'>) =>
    sweep(on().stack.db, (em) => change(em, `update sessions set verified_at = now() - interval '1 hour' where user_id = ?`, [id]));

  test('a budget is met in a chat, raised in another browser, and the chat goes on without a reload', async () => {
    const agent = await makeAgent(on().stack, []);
    const admin = await person('admin');
    const budget = await openAs(admin, '/budgets');
    await press(budget.page, 'Set a budget…');
    await choose(budget.page, 'Workspace', /per day/);
    await budget.page.getByLabel('Limit', { exact: true }).fill('0.15');
    await press(budget.page, 'Save');
    const row = budget.page.getByRole('row', { name: /day/ });
    await row.getByText('0.15 USD').first().waitFor();
    const chat = await openAs(await person('member'), `/playground?agent=${agent.id}`);
    const loads = countLoads(chat.page);

    await say(chat.page, scripted({ steps: [{ text: 'First answer.' }] }, 'One.'));
    await chat.page.getByText('First answer.', { exact: true }).waitFor();
    await say(chat.page, scripted({ steps: [{ text: 'Second answer.' }] }, 'Two.'));
    await chat.page
      .getByText(/budget/i)
      .first()
      .waitFor();
    await row.getByText('0.10 USD').first().waitFor();
    await press(budget.page, 'Change…');
    await budget.page.getByLabel('Limit', { exact: true }).fill('100');
    await press(budget.page, 'Save');
    await row.getByText('100.00 USD').first().waitFor();
    await say(chat.page, scripted({ steps: [{ text: 'Third answer.' }] }, 'Three.'), { ifEmpty: true });

    await chat.page
      .getByText(/(Second|Third) answer\./)
      .first()
      .waitFor();
    expect(loads()).toBe(0);
    const { body } = await on().stack.request('GET', `/budgets/${on().stack.tenant.workspaceId}?period=day`);
    expect(body).toMatchObject({ limit_amount: '100.00', is_enforced: true });
    await Promise.all([budget.context.close(), chat.context.close()]);
  });

  test('two people change one budget: what one side alone has changed is merged, the rest is chosen, nothing is lost', async () => {
    await on().stack.request('PUT', `/budgets/${on().stack.tenant.workspaceId}`, {
      body: { period: 'month', limit_amount: '50', alert_threshold_pct: 80 },
    });
    const { page, context } = await openAs(await person('admin'), '/budgets');
    const row = page.getByRole('row', { name: /month/ });
    await press(row, 'Change…');
    await page.getByLabel('Limit', { exact: true }).fill('70');

    await on().stack.request('PUT', `/budgets/${on().stack.tenant.workspaceId}`, {
      body: { period: 'month', limit_amount: '60', alert_threshold_pct: 90 },
    });
    await press(page, 'Save');
    await press(page.getByRole('region', { name: 'Limit' }), 'Keep yours');
    await press(page, 'Save');
    await row.getByText('70.00 USD').first().waitFor();

    expect((await on().stack.request('GET', `/budgets/${on().stack.tenant.workspaceId}?period=month`)).body).toMatchObject({
      limit_amount: '70.00',
      alert_threshold_pct: 90,
    });
    await context.close();
  });

  test('a field that the server refuses says so itself and has the focus; what was typed stays', async () => {
    const { page, context } = await openAs(await person('admin'), '/budgets');
    await on().stack.request('PUT', `/budgets/${on().stack.tenant.workspaceId}`, { body: { period: 'month', limit_amount: '70' } });
    await press(page.getByRole('row', { name: /month/ }), 'Change…');

    await page.getByLabel('Limit', { exact: true }).fill('12 apples');
    await press(page, 'Save');

    const field = page.getByLabel('Limit', { exact: true });
    await until(() => field.evaluate((node) => node === document.activeElement && node.getAttribute('aria-invalid') === 'true'));
    expect(await field.inputValue()).toBe('12 apples');
    await context.close();
  });

  test('a colleague is invited by keyboard at 320 px, accepts in another browser, and sees what a viewer sees', async () => {
    const email = `colleague-${crypto.randomUUID().slice(0, 8)}@example.test`;
    const { page, context } = await openAs(await person('admin'), '/invitations', await on().stage.context({ width: 320 }));
    await tabTo(page, page.getByRole('button', { name: 'Invite…' }));
    await page.keyboard.press('Enter');
    await until(() => page.getByLabel('Email address').evaluate((node) => node === document.activeElement));
    await page.keyboard.type(email);
    await page.keyboard.press('Enter');
    await page.getByText(email).waitFor();
    const token = await mailedToken(mails, email, 'invitation');

    const theirs = await openTab(await on().stage.context(), `${on().stack.url()}/console/invitation#token=${token}`);
    await theirs.page.getByLabel('Email address').fill(email);
    await theirs.page.getByLabel('Your name').fill('New Colleague');
    await theirs.page.getByLabel('New password').fill(testPassword);
    await press(theirs.page, 'Join');
    await theirs.page.getByRole('heading', { name: 'Runs' }).waitFor();

    const links = await theirs.page.getByRole('navigation').getByRole('link').allTextContents();
    expect(links).toContain('Budgets');
    expect(links.filter((link) => ['Invitations', 'Service keys', 'Audit log', 'Organizations'].includes(link))).toEqual([]);
    await theirs.page.goto(`${on().home}/budgets`);
    await theirs.page.getByRole('heading', { name: 'Budgets' }).waitFor();
    expect(await theirs.page.getByRole('button', { name: 'Set a budget…' }).count()).toBe(0);
    const users = (await on().stack.request('GET', `/users?q=${encodeURIComponent(email)}`)).body as { items: object[] };
    expect(users.items).toMatchObject([{ email, full_name: 'New Colleague', role: 'viewer' }]);
    await Promise.all([context.close(), theirs.page.context().close()]);
  });

  test('a key is shown once: it works, no storage holds it, and nothing shows it again', async () => {
    const { page, context } = await openAs(await person('admin'), '/service-keys');
    await press(page, 'Make a key…');
    await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('CI');
    await press(page, 'Make the key');
    const plaintext = (await page.getByRole('dialog').locator('code').textContent()) ?? '';
    const stored = await page.evaluate(() => JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage)]));

    const used = await on().stack.request('GET', '/runs', { credential: plaintext });
    await press(page, 'I have it');
    await page.getByRole('row', { name: /CI/ }).waitFor();
    const shown = await page.content();
    await page.reload();
    await page.getByRole('row', { name: /CI/ }).waitFor();

    expect(used.status).toBe(200);
    expect(stored).not.toContain(plaintext);
    expect(shown + (await page.content())).not.toContain(plaintext);
    await context.close();
  });

  test('a second factor is set up after the password is asked for again, and its codes are shown once', async () => {
    const member = await person('member');
    const { page, context } = await openAs(member, '/account');
    await signedInLongAgo(member);
    await press(page, 'Set it up');
    await confirmPassword(page);
    const secret = (await page.locator('form code').textContent()) ?? '';
    expect(await page.getByRole('link', { name: 'Open the authenticator app' }).getAttribute('href')).toContain('otpauth://totp/');

    await page.getByLabel('Six-digit code').fill(generateSync({ secret }));
    await press(page, 'Confirm');
    const codes = (await page.getByRole('dialog').locator('code').textContent()) ?? '';
    await press(page, 'I have it');
    await page.getByText('A code of your authenticator app').waitFor();

    expect(codes.split('\n').length).toBeGreaterThanOrEqual(8);
    const login = await on().stack.request('POST', '/auth/login', { body: { email: member.email, password: testPassword } });
    expect(login.body).toMatchObject({ mfa_required: true });
    await context.close();
  });

  test('sessions elsewhere are ended, and that browser leaves with the reason', async () => {
    const member = await person('member');
    const elsewhere = await openAs(member, '/runs');
    const { page, context } = await openAs(member, '/account');
    await page.getByRole('heading', { name: 'Sessions' }).waitFor();
    await page.getByRole('button', { name: 'End all others…' }).press('Enter');
    await press(page, 'End them');
    await elsewhere.page.getByText('Your session was ended on another device').waitFor();

    await page.getByRole('heading', { name: 'Sessions' }).waitFor();
    await Promise.all([context.close(), elsewhere.context.close()]);
  });

  test('a step-up in the middle of saving settings saves them once, with what was typed', async () => {
    const owner = await person('owner', 'organization');
    const { page, context } = await openAs(owner, '/settings');
    await signedInLongAgo(owner);
    const rules = page.getByRole('region', { name: 'Sign-in and retention' });
    await press(rules, 'Change…');
    await page.getByLabel('An invitation is valid for … days').fill('5');
    const sent: number[] = [];
    page.on('response', (answer) => {
      if (answer.request().method() === 'PATCH') sent.push(answer.status());
    });

    await press(page, 'Save');
    await confirmPassword(page);
    await rules.getByText('5', { exact: true }).waitFor();

    expect(sent).toEqual([401, 200]);
    await context.close();
  });

  test('each role sees what it may do, and nothing else', async () => {
    const controls = async (user: Pick<TestUser, 'email'>) => {
      const { page, context } = await openAs(user, '/people');
      await page.getByRole('table').first().waitFor();
      const links = await page.getByRole('navigation').getByRole('link').allTextContents();
      const accounts = await page.getByRole('heading', { name: 'Accounts' }).count();
      await page.goto(`${on().home}/settings`);
      await page.getByRole('heading', { name: 'Workspaces' }).waitFor();
      const secrets = await page.getByRole('heading', { name: 'Secrets' }).count();
      const rules = await page.getByRole('heading', { name: 'Sign-in and retention' }).count();
      await context.close();
      return [links.includes('Audit log'), links.includes('System'), accounts, secrets, rules];
    };

    expect(await controls(await person('viewer'))).toEqual([false, false, 0, 0, 0]);
    expect(await controls(await person('member'))).toEqual([false, false, 0, 1, 0]);
    expect(await controls(await person('admin'))).toEqual([true, false, 1, 1, 1]);
    expect(await controls(await person('owner'))).toEqual([true, false, 1, 1, 1]);
    expect(await controls(on().stack.tenant.users.operator)).toEqual([true, true, 1, 1, 1]);
  });

  test('an application is let in with some of what it asks for, and refused', async () => {
    const client = await publicClient(on().stack);
    const { page, context } = await openAs(await person('member'), '/runs');
    const answers: string[] = [];
    await context.route('https://app.test/**', (route) => {
      answers.push(route.request().url());
      return route.fulfill({ status: 200, contentType: 'text/html', body: '<title>app</title>' });
    });

    await page.goto(await consentAddress(on().stack, client));
    await page.getByRole('heading', { name: 'Allow Calendar?' }).waitFor();
    await page.getByText('app.test').waitFor();
    await page.getByRole('checkbox').last().uncheck();
    await press(page, 'Allow');
    await until(() => answers.length === 1);
    await page.goto(await consentAddress(on().stack, client));
    await press(page, 'Deny');
    await until(() => answers.length === 2);

    expect(new URL(answers[0] ?? '').searchParams.get('code')).toMatch(/^lh_ac_/);
    expect(new URL(answers[1] ?? '').searchParams.get('error')).toBe('access_denied');
    await context.close();
  });

  test('an operator sees one organization alone, acts as one of its people, and is told of both on every view', async () => {
    const target = await person('member');
    const { page, context } = await openAs(on().stack.tenant.users.operator, '/operator/organizations');
    const asked: (string | undefined)[] = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/auth/me')) asked.push(request.headers()['x-view-organization']);
    });
    await press(
      page
        .getByRole('row')
        .filter({ has: page.getByRole('button', { name: 'View it alone' }) })
        .last(),
      'View it alone',
    );
    await page.getByText(/alone, as if there were nothing else/).waitFor();
    expect(asked.at(-1)).toMatch(/-/);
    await page.reload();
    await press(page, 'See everything again');
    await page.getByText(/alone, as if there were nothing else/).waitFor({ state: 'detached' });

    await page.goto(`${on().home}/operator/impersonations`);
    await press(page, 'Act as somebody…');
    await page.getByLabel('Reason').fill('A look at what they see');
    await choose(page, 'Who', new RegExp(target.email));
    await press(page, 'Act as them');
    await page.getByText(`You act as ${target.email}.`).waitFor();
    await page.getByRole('heading', { name: 'Runs' }).waitFor();
    expect(await page.getByRole('link', { name: 'System' }).count()).toBe(0);
    await press(page, 'Be yourself again');
    await page.getByRole('link', { name: 'System' }).waitFor();

    const { body } = await on().stack.request('GET', '/impersonations', { credential: on().stack.tenant.tokens.operator });
    await until(async () => {
      const now = await on().stack.request('GET', '/impersonations', { credential: on().stack.tenant.tokens.operator });
      return (now.body as { items: { ended_at: string | null }[] }).items[0]?.ended_at !== null;
    });
    expect(body).toMatchObject({ items: [{ target_user_id: target.id, reason: 'A look at what they see' }] });
    await context.close();
  });

  test('every view has nothing for axe, fits, and keeps to the policy: at 320 and 1280 px, light and dark', async () => {
    const { stack, home } = on();
    const { operator, admin } = stack.tenant.users;
    const target = await person('member');
    await stack.request('POST', '/alert-rules', { body: { name: 'Failures', kind: 'run_failures', operator: 'gte', threshold: '1' } });
    const budget = { period: 'day', limit_amount: '100', is_enforced: true };
    await stack.request('PUT', `/budgets/${stack.tenant.workspaceId}`, { body: budget, credential: admin.token });
    const run = await startRun(stack, (await makeAgent(stack, [])).id, scripted({ steps: [{ text: 'It costs something.' }] }));
    await endOf(watchRun(stack, run.id));
    const client = await publicClient(stack);
    const views = [
      ['/usage?calls=shown', 'Usage'],
      ['/budgets', 'Budgets'],
      ['/prices', 'Prices'],
      ['/alerts', 'Alerts'],
      ['/alert-rules', 'Alert rules'],
      ['/people', 'People'],
      [`/people/${target.id}`, target.email],
      ['/invitations', 'Invitations'],
      ['/service-keys', 'Service keys'],
      ['/audit-log', 'Audit log'],
      ['/settings', 'Settings'],
      ['/account', 'Your account'],
      ['/operator/organizations', 'Organizations'],
      ['/operator/impersonations', 'Impersonations'],
      ['/operator/oauth-clients', 'OAuth clients'],
      ['/operator/system', 'System'],
    ] as const;

    const visit = async (page: Page, look: (name: string) => Promise<void>) => {
      for (const [path, sign] of views) {
        await page.goto(home + path);
        await page.getByRole('heading', { level: 1, name: sign }).waitFor();
        await untilLoaded(page);
        if (path.startsWith('/usage')) await page.locator('canvas').first().waitFor();
        await look(path.slice(1).replace(/\?.*/, '').replaceAll('/', '-').replace(target.id, 'one'));
      }
      await page.goto(`${home}/budgets`);
      await press(page, 'Change…');
      await page.getByRole('dialog').getByLabel('Limit', { exact: true }).waitFor();
      await look('budget-form');
      await page.goto(await consentAddress(stack, client));
      await page.getByRole('heading', { name: 'Allow Calendar?' }).waitFor();
      await look('consent');
    };

    expect(await on().looks('/usage', visit, operator)).toEqual([]);
  });
});

async function say(page: Page, text: string, { ifEmpty = false } = {}): Promise<void> {
  const field = page.getByLabel('Message');
  // What the budget refused is still there, and goes again.
  if (!ifEmpty || (await field.inputValue()) === '') await field.fill(text);
  await field.press('Enter');
}

/** How often a page was loaded since. */
function countLoads(page: Page): () => number {
  let loads = 0;
  page.on('load', () => loads++);
  return () => loads;
}

async function confirmPassword(page: Page): Promise<void> {
  const dialog = page.getByRole('dialog', { name: 'Confirm that it is you' });
  await dialog.getByLabel('Password').fill(testPassword);
  await dialog.getByRole('button', { name: 'Confirm' }).click();
  await dialog.waitFor({ state: 'detached' });
}

/** The token in the mail to somebody, once it has come. */
async function mailedToken(folder: string, email: string, page: string): Promise<string> {
  let token = '';
  await until(() => {
    for (const name of readdirSync(folder)) {
      const text = readFileSync(join(folder, name), 'utf8')
        .replace(/=\r?\n/g, '')
        .replaceAll('=3D', '=');
      if (text.includes(email)) token = new RegExp(`/${page}#token=([\\w.-]+)`).exec(text)?.[1] ?? token;
    }
    return token !== '';
  });
  return token;
}

async function publicClient(stack: Stack): Promise<string> {
  const { status, body } = await stack.request('POST', '/oauth-clients', {
    credential: stack.tenant.tokens.operator,
    body: { client_name: 'Calendar', redirect_uris: ['https://app.test/callback'], scope: 'runs:read agents:read' },
  });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return (body as { client_id: string }).client_id;
}

/** Where the API sends a browser that comes from the application, at this stack's address. */
async function consentAddress(stack: Stack, clientId: string): Promise<string> {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: 'https://app.test/callback',
    scope: 'runs:read agents:read',
    state: 'state-1',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
  });
  const sent = await fetch(`${stack.url()}/oauth/authorize?${query.toString()}`, { headers: { accept: 'text/html' }, redirect: 'manual' });
  const target = new URL(sent.headers.get('location') ?? '');
  return `${stack.url()}${target.pathname}${target.search}`;
}
