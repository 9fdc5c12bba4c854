import { isDeepStrictEqual } from 'node:util';
import { generateSync } from 'otplib';
import { describe, expect, test } from '@jest/globals';
import type { BrowserContext } from 'playwright-core';
import { makeAgent, scripted, startRun, writeTool } from '../support/scenario.ts';
import { until } from '../support/temporal.ts';
import { testPassword } from '../support/tenant.ts';
import { consoleStack } from './support/on-stack.ts';
import { transcriptOf, untilEnded } from './support/run-view.ts';
import { faultsOf, openTab, reasonToSkip, signIn } from './support/stage.ts';

const reason = await reasonToSkip();
if (reason !== null) process.stdout.write(`tests of the console are skipped: ${reason}\n`);

(reason === null ? describe : describe.skip)('console', () => {
  const world = consoleStack();
  const signedIn = (context?: BrowserContext) => world().signedIn('/runs', { ...(context && { context }) });

  test('five tabs that refresh together keep one session and all stay in', async () => {
    const { context, page } = await signedIn();
    const others = await Promise.all([1, 2, 3, 4].map(() => openTab(context, `${world().home}/runs`)));
    const pages = [page, ...others.map((tab) => tab.page)];
    await Promise.all(pages.map((one) => one.getByRole('heading', { name: 'Runs' }).waitFor()));

    for (let round = 0; round < 3; round++) {
      await Promise.all(pages.map((one) => one.reload()));
      await Promise.all(pages.map((one) => one.getByRole('heading', { name: 'Runs' }).waitFor()));
    }

    expect(await Promise.all(pages.map((one) => one.getByLabel('Password').count()))).toEqual([0, 0, 0, 0, 0]);
    await context.close();
  });

  test('a session that is ended elsewhere leaves every tab, with the reason, and the link comes back', async () => {
    const { context, page } = await signedIn();
    const second = await openTab(context, `${world().home}/approvals`);
    await second.page.getByRole('heading', { name: 'Approvals' }).waitFor();
    const { admin } = world().stack.tenant.users;
    const credentials = { email: admin.email, password: testPassword };
    const elsewhere: { body: { access_token: string } } = await world().stack.request('POST', '/auth/login', { body: credentials });

    const revoked = await world().stack.request('POST', '/sessions/revoke-others', { credential: elsewhere.body.access_token });
    expect(revoked.status).toBe(200);
    for (const one of [page, second.page]) await one.getByText('Your session was ended on another device').waitFor();
    await second.page.getByLabel('Email address').focus();
    await signIn(second.page, admin);

    await second.page.getByRole('heading', { name: 'Approvals' }).waitFor();
    await page.getByRole('heading', { name: 'Runs' }).waitFor();
    await context.close();
  });

  test('signing out empties every tab at once', async () => {
    const { context, page } = await signedIn();
    const second = await openTab(context, `${world().home}/approvals`);
    await second.page.getByRole('heading', { name: 'Approvals' }).waitFor();

    await page.getByRole('button', { name: /your account/ }).press('Enter');
    await page.getByRole('menuitem', { name: 'Sign out' }).press('Enter');

    for (const one of [page, second.page]) await one.getByRole('heading', { name: 'Sign in' }).waitFor();
    // The page leaves at once; the answer that takes the cookie comes a moment later.
    await until(async () => (await context.cookies()).length === 0);
    await context.close();
  });

  test('a run is shown to its end across kill -9 of API and worker, and like one that was opened afterwards', async () => {
    const agent = await makeAgent(world().stack, []);
    const run = await startRun(world().stack, agent.id, scripted({ steps: [{ tokens: 60, delay_ms: 60 }] }, 'Tell me a lot.'));
    const { context, page } = await signedIn();
    await page.goto(`${world().home}/runs/${run.id}`);
    await page.getByText('live', { exact: true }).waitFor();

    await Promise.all([world().stack.kill('api'), world().stack.kill('worker-runs')]);
    await Promise.all([world().stack.start('api'), world().stack.start('worker-runs')]);
    await untilEnded(page);
    const shown = await transcriptOf(page);
    const later = await openTab(context, `${world().home}/runs/${run.id}`);
    await untilEnded(later.page);
    // What renders Markdown may be loaded a moment after the text.
    await until(async () => isDeepStrictEqual(await transcriptOf(later.page), shown));

    expect(shown.length).toBeGreaterThanOrEqual(2);
    expect(shown.at(-1)).toContain('t59');
    expect(await transcriptOf(later.page)).toEqual(shown);
    await context.close();
  });

  test('the list changes in place: new runs wait, and one that the filters no longer let through leaves', async () => {
    const agent = await makeAgent(world().stack, []);
    const words = (delayMs: number) => scripted({ steps: [{ tokens: 60, delay_ms: delayMs }] }, 'Tell me a lot.');
    await startRun(world().stack, agent.id, words(150));
    const { context, page } = await signedIn();
    await page.goto(`${world().home}/runs?agent_id=${agent.id}&status=running`);
    const rows = page.getByRole('table').getByRole('link');
    await rows.first().waitFor();

    await startRun(world().stack, agent.id, words(400));
    await page.getByRole('button', { name: '1 new' }).waitFor();
    expect(await rows.count()).toBe(1);
    await page.getByRole('button', { name: '1 new' }).press('Enter');
    await until(async () => (await rows.count()) === 2);

    await until(async () => (await rows.count()) < 2);
    await page.getByText('Nothing matches these filters.').waitFor();
    await context.close();
  });

  test('where upgrades are refused a run is followed all the same', async () => {
    const agent = await makeAgent(world().stack, []);
    const run = await startRun(world().stack, agent.id, scripted({ steps: [{ tokens: 40, delay_ms: 60 }] }, 'Tell me a lot.'));
    const context = await world().stage.context();
    await context.addInitScript(refuseUpgrades);
    const { page } = await signedIn(context);

    await page.goto(`${world().home}/runs/${run.id}`);
    await untilEnded(page);

    // The facts of a run and its transcript are asked for one after the other.
    await until(async () => (await transcriptOf(page)).at(-1)?.includes('t39') === true);
    await context.close();
  });

  test('a second factor is asked for, a wrong code is told, the right one signs in', async () => {
    const { member } = world().stack.tenant.users;
    const enrolled = await world().stack.request('POST', '/auth/mfa/totp', { credential: member.token });
    const { secret } = enrolled.body as { secret: string };
    // The code of the step before: the one of this step is still to be used once.
    const code = (stepsAhead: number) => generateSync({ secret, epoch: Math.floor(Date.now() / 1_000) + 30 * stepsAhead });
    await world().stack.request('POST', '/auth/mfa/totp/confirm', { credential: member.token, body: { code: code(-1) } });
    const context = await world().stage.context();
    const { page } = await openTab(context, `${world().home}/runs`);
    await signIn(page, member);

    await page.getByLabel('Six-digit code').fill('000000');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Six-digit code').fill(code(0));
    await page.keyboard.press('Enter');

    await page.getByRole('heading', { name: 'Runs' }).waitFor();
    await context.close();
  });

  test('a question is approved with keys alone, at 320 px, and its call runs once', async () => {
    const slug = `ask-${crypto.randomUUID().slice(0, 8)}`;
    const agent = await makeAgent(world().stack, [writeTool(slug, world().effects)], { approvals: { write: 'ask' } });
    await startRun(
      world().stack,
      agent.id,
      scripted({ steps: [{ tool_calls: [{ name: slug, arguments: { n: 7 } }] }, { text: 'Done.' }] }),
    );
    const { context, page } = await signedIn(await world().stage.context({ width: 320 }));
    await page.keyboard.press('g');
    await page.keyboard.press('i');
    const card = page.getByRole('article', { name: new RegExp(slug) });
    await card.waitFor();

    while (!(await card.evaluate((node) => node === document.activeElement))) await page.keyboard.press('j');
    await page.keyboard.press('a');
    await until(() => world().effects.effects.some(({ path }) => path === `/${slug}`));
    await card.waitFor({ state: 'detached' });

    expect(world().effects.effects.filter(({ path }) => path === `/${slug}`)).toHaveLength(1);
    await context.close();
  });

  test('every view has nothing for axe, fits, and keeps to the policy: at 320, 768 and 1280 px, light and dark', async () => {
    const agent = await makeAgent(world().stack, []);
    const hostile =
      '**Hi** <script>alert(1)</script> [x](javascript:alert(1)) ![far](https://elsewhere.example/i.png) <img src=x onerror=alert(1)>';
    const run = await startRun(
      world().stack,
      agent.id,
      `Say it. <script>${JSON.stringify({ steps: [{ text: hostile }] }).replaceAll('<', '\\u003c')}</script>`,
    );
    const faults: string[] = [];
    const requested: string[] = [];
    for (const dark of [false, true]) {
      const context = await world().stage.context({ dark });
      context.on('request', (request) => void requested.push(new URL(request.url()).origin));
      const tab = await openTab(context, `${world().home}/runs`);
      const look = async (name: string) => {
        for (const width of [320, 768, 1280]) {
          await tab.page.setViewportSize({ width, height: 800 });
          faults.push(...(await faultsOf(tab)).map((fault) => `${name}, ${width} px, ${dark ? 'dark' : 'light'}: ${fault}`));
        }
      };
      await tab.page.getByLabel('Email address').waitFor();
      await look('sign-in');
      await tab.page.getByLabel('Email address').focus();
      await signIn(tab.page, world().stack.tenant.users.admin);
      await tab.page.getByRole('table').waitFor();
      await look('runs');
      for (const [path, sign] of [
        [`/runs/${run.id}`, 'Run of'],
        ['/approvals', 'Approvals'],
        ['/playground', 'Playground'],
        ['/nowhere', 'Not found'],
      ] as const) {
        await tab.page.goto(world().home + path);
        await tab.page.getByRole('heading', { name: sign }).waitFor();
        if (sign === 'Run of') await untilEnded(tab.page);
        await look(path);
      }
      for (const path of ['forgot', 'password-reset#token=lh_ml_x', 'password-set', 'email-confirm', 'invitation#token=lh_ml_x']) {
        await tab.page.goto(`${world().stack.url()}/console/${path}`);
        await tab.page.getByRole('heading').first().waitFor();
        expect(tab.page.url()).not.toContain('token');
        await look(path);
      }
      await context.close();
    }

    expect(faults).toEqual([]);
    expect(new Set(requested)).toEqual(new Set([world().stack.url()]));
  });
});

/** What a proxy that knows no WebSocket does to a page. */
function refuseUpgrades(): void {
  Object.assign(globalThis, {
    WebSocket: class extends EventTarget {
      constructor() {
        super();
        setTimeout(() => this.dispatchEvent(new CloseEvent('close', { code: 1006 })), 10);
      }
      close(): void {}
    },
  });
}
