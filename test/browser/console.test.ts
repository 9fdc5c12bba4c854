import { describe, expect, test } from '@jest/globals';
import { makeAgent, scripted, startRun } from '../support/scenario.ts';
import { until } from '../support/temporal.ts';
import { consoleStack } from './support/on-stack.ts';
import { transcriptOf, untilEnded } from './support/run-view.ts';
import { faultsOf, openTab, reasonToSkip, signIn } from './support/stage.ts';

const reason = await reasonToSkip();
if (reason !== null) process.stdout.write(`tests of the console are skipped: ${reason}\n`);

(reason === null ? describe : describe.skip)('console', () => {
  const world = consoleStack();

  test('a browser at / is led to the console; a program still gets the documents', async () => {
    const led = await fetch(world().stack.url(), { headers: { accept: 'text/html' }, redirect: 'manual' });
    const told = await fetch(world().stack.url());

    expect([led.status, led.headers.get('location')]).toEqual([302, '/console']);
    expect(told.status).toBe(404);
  });

  test('a wrong password is told, the right one signs in, and no script can read a token then, nor after a reload', async () => {
    const context = await world().stage.context();
    const { page } = await openTab(context, `${world().home}/runs`);
    await signIn(page, world().stack.tenant.users.admin, 'not this one');
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Email address').fill('');
    await page.getByLabel('Password').fill('');
    await page.getByLabel('Email address').focus();
    await signIn(page, world().stack.tenant.users.admin);
    await page.getByRole('heading', { name: 'Runs' }).waitFor();

    await page.reload();
    await page.getByRole('heading', { name: 'Runs' }).waitFor();

    const stored = await page.evaluate(() =>
      JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage), document.cookie]),
    );
    expect(stored).not.toMatch(/eyJ|lh_rt_/);
    expect((await context.cookies()).map(({ httpOnly, sameSite }) => [httpOnly, sameSite])).toEqual([[true, 'Strict']]);
    await context.close();
  });

  test('a run is shown live to its end, and the page has nothing for axe, fits and keeps to the policy', async () => {
    const agent = await makeAgent(world().stack, []);
    const run = await startRun(world().stack, agent.id, scripted({ steps: [{ tokens: 60, delay_ms: 60 }] }, 'Tell me a lot.'));
    const { context, ...tab } = await world().signedIn('/runs');
    await tab.page.goto(`${world().home}/runs/${run.id}`);

    await untilEnded(tab.page);
    await until(async () => (await transcriptOf(tab.page)).at(-1)?.includes('t59') === true);

    expect(await faultsOf(tab)).toEqual([]);
    await context.close();
  });
});
