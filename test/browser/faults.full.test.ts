import { describe, expect, test } from '@jest/globals';
import type { Route } from 'playwright-core';
import { makeAgent, scripted, startRun } from '../support/scenario.ts';
import { testPassword } from '../support/tenant.ts';
import { consoleStack } from './support/on-stack.ts';
import { reasonToSkip } from './support/stage.ts';
import { say } from './support/gestures.ts';

const reason = await reasonToSkip();
if (reason !== null) process.stdout.write(`tests of what the console does about faults are skipped: ${reason}\n`);

(reason === null ? describe : describe.skip)('the console and faults', () => {
  const on = consoleStack();

  /** How many runs of an agent there are. */
  async function countOf(agentId: string): Promise<number> {
    const answer = await on().stack.request('GET', `/runs?agent_id=${agentId}`);
    return (answer.body as { items: unknown[] }).items.length;
  }

  test('a start whose answers are all lost, sent again by hand, is one run', async () => {
    const { stack, signedIn } = on();
    const agent = await makeAgent(stack, []);
    const { page, context } = await signedIn(`/playground?agent=${agent.id}`);
    const keys = new Set<string | null>();
    const lose = async (route: Route) => {
      if (route.request().method() !== 'POST') return route.continue();
      keys.add(await route.request().headerValue('idempotency-key'));
      await route.fetch();
      await route.abort('connectionreset');
    };
    await page.route(/\/runs$/, lose);
    await say(page, scripted({ steps: [{ text: 'Once.' }] }, 'Do it.'));
    await page.locator('main').getByText('The API does not answer.').waitFor();
    await page.unroute(/\/runs$/, lose);

    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByText('Once.', { exact: true }).waitFor();

    expect([...keys]).toHaveLength(1);
    expect(await countOf(agent.id)).toBe(1);
    await context.close();
  });

  test('the API goes away for a while: one banner, what was typed stays, it comes back without a reload, and nothing is written twice', async () => {
    const { stack, signedIn } = on();
    const agent = await makeAgent(stack, []);
    const { page, context } = await signedIn(`/playground?agent=${agent.id}`);
    await page.getByLabel('Message', { exact: true }).waitFor();
    await page.evaluate(() => Object.assign(globalThis, { isSamePage: true }));

    await stack.kill('api');
    await say(page, scripted({ steps: [{ text: 'Back.' }] }, 'Are you there?'));
    await page.locator('[data-banner]').waitFor();
    const banners = await page.locator('[data-banner]').count();
    await page.locator('main').getByText('The API does not answer.').waitFor();
    const typed = await page.getByLabel('Message', { exact: true }).inputValue();
    await stack.start('api');
    await page.locator('[data-banner]').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByText('Back.', { exact: true }).waitFor();

    expect([banners, typed.startsWith('Are you there?')]).toEqual([1, true]);
    expect(await page.evaluate(() => 'isSamePage' in globalThis)).toBe(true);
    expect(await countOf(agent.id)).toBe(1);
    await context.close();
  });

  test('a second look at who it is, in the middle of a write, sends what was meant, once', async () => {
    const { stack, signedIn } = on();
    const agent = await makeAgent(stack, []);
    const run = await startRun(stack, agent.id, scripted({ steps: [{ text: 'Fine.' }] }));
    const { page, context } = await signedIn(`/runs/${run.id}`);
    await page.locator('header [data-status="succeeded"]').waitFor();
    const votes: string[] = [];
    await page.route(/\/feedback$/, async (route) => {
      if (route.request().method() !== 'PUT') return route.continue();
      votes.push(route.request().postData() ?? '');
      if (votes.length === 1) return route.fulfill(problem(401, 'mfa_required', { reason: 'step_up_required' }));
      return route.continue();
    });

    await page.getByRole('button', { name: 'Yes', exact: true }).click();
    await page.getByLabel('Comment (optional)').fill('Just right.');
    await page.getByRole('button', { name: 'Vote', exact: true }).click();
    await page.getByLabel('Password').fill('not this one');
    await page.getByRole('button', { name: 'Confirm' }).click();
    await page.getByRole('dialog').getByRole('alert').waitFor();
    await page.getByLabel('Password').fill(testPassword);
    await page.getByRole('button', { name: 'Confirm' }).click();
    await page.getByText('This revision has 1 up, 0 down.').waitFor();

    expect(votes).toHaveLength(2);
    expect(votes[1]).toBe(votes[0]);
    expect(votes[1]).toContain('Just right.');
    await context.close();
  });

  test('a spent budget says which and until when, the draft stays, and after a raise it goes on without a reload', async () => {
    const { stack, signedIn } = on();
    const agent = await makeAgent(stack, []);
    const budget = `/budgets/${stack.tenant.workspaceId}`;
    const set = (limit_amount: string) =>
      stack.request('PUT', budget, { body: { period: 'month', limit_amount, is_enforced: true }, credential: stack.tenant.tokens.admin });
    const { page, context } = await signedIn(`/playground?agent=${agent.id}`);
    const spent = await set('0');
    await say(page, scripted({ steps: [{ text: 'Paid.' }] }, 'Spend.'));
    await page.getByText('This month’s budget of this workspace is spent.').waitFor();
    await page.getByText('The next window begins').waitFor();
    const kept = await page.getByLabel('Message', { exact: true }).inputValue();

    await set('1000');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByText('Paid.', { exact: true }).waitFor();

    expect(spent.status).toBeLessThan(300);
    expect(kept.startsWith('Spend.')).toBe(true);
    expect(await countOf(agent.id)).toBe(1);
    await stack.request('DELETE', `${budget}?period=month`, { credential: stack.tenant.tokens.admin });
    await context.close();
  });

  test('a quota of requests that is used up is waited for visibly, in all tabs', async () => {
    const { signedIn, stage } = on();
    const { page, context } = await signedIn('/runs');
    const second = await context.newPage();
    await second.goto(page.url());
    await second.locator('#content h1').waitFor();
    let isOver = false;
    await page.route(/\/runs\?/, (route) =>
      isOver ? route.continue() : route.fulfill(problem(429, 'rate_limited', { violated_policies: ['principal'] }, 8)),
    );

    for (const one of [page, second]) await one.getByText('Too many requests have come from here.', { exact: false }).waitFor();
    isOver = true;
    for (const one of [page, second]) await one.locator('[data-banner]').waitFor({ state: 'detached' });

    expect(stage.browser.isConnected()).toBe(true);
    await context.close();
  });

  test('an exception in a view takes that view alone, and trying again brings it back', async () => {
    const { stack, signedIn } = on();
    const agent = await makeAgent(stack, []);
    const run = await startRun(stack, agent.id, scripted({ steps: [{ text: 'Fine.' }] }));
    const { page, context } = await signedIn(`/runs/${run.id}`);
    await page.locator('header [data-status="succeeded"]').waitFor();
    await page.route(/\/steps\?/, (route) => route.fulfill({ json: { items: [null], next_cursor: null } }));

    await page.getByRole('tab', { name: 'Steps' }).click();
    await page.getByRole('heading', { name: 'This view has failed' }).waitFor();
    const links = await page.getByRole('navigation', { name: 'Main' }).getByRole('link').count();
    await page.unroute(/\/steps\?/);
    await page.getByRole('button', { name: 'Try again' }).click();

    await page.locator('[role="tabpanel"] details').first().waitFor();
    expect(links).toBeGreaterThanOrEqual(3);
    await context.close();
  });

  test('a value over 64 KB is folded and opens as a tree; one over 1 MiB can only be saved', async () => {
    const { stack, signedIn } = on();
    const agent = await makeAgent(stack, []);
    const run = await startRun(stack, agent.id, scripted({ steps: [{ text: 'Fine.' }] }));
    const { page, context } = await signedIn('/runs');
    await page.route(/\/steps\?/, async (route) => {
      const answer = await route.fetch();
      const body = (await answer.json()) as { items: Record<string, unknown>[] };
      const rows = Array.from({ length: 3_000 }, (_, n) => ({ n, text: 'x'.repeat(40) }));
      const [step] = body.items;
      const large = { ...step, id: crypto.randomUUID(), status: 'failed', args: { rows } };
      const largest = { ...step, id: crypto.randomUUID(), status: 'failed', args: { text: 'y'.repeat(1_200_000) } };
      await route.fulfill({ json: { ...body, items: [large, largest] } });
    });

    await page.goto(page.url().replace(/\/runs.*/, `/runs/${run.id}?tab=steps`));
    await page.getByRole('button', { name: /^Arguments: \d+ KB$/ }).click();
    await page.getByText('rows:', { exact: false }).click();
    await page.getByRole('button', { name: 'Show more (2900)' }).waitFor();
    const opens = await page.getByRole('button', { name: /^Arguments: .*MB$/ }).count();
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: /^Download: Arguments, 1\.\d MB$/ }).click(),
    ]);

    expect(opens).toBe(0);
    expect(saved.suggestedFilename()).toBe('Arguments.json');
    await context.close();
  });
});

/** A refusal as the API words it. */
function problem(status: number, code: string, context: Record<string, unknown>, retryAfter: number | null = null) {
  return {
    status,
    headers: {
      'content-type': 'application/problem+json',
      ...(retryAfter !== null && { 'retry-after': String(retryAfter) }),
    },
    body: JSON.stringify({
      type: `http://longhaul.test/errors/${code}`,
      title: code,
      status,
      detail: 'Refused for the test.',
      instance: 'urn:uuid:00000000-0000-7000-8000-000000000001',
      code,
      retryable: status === 429,
      retry_after_s: retryAfter,
      correlation_id: '00000000-0000-7000-8000-000000000001',
      errors: [],
      context,
    }),
  };
}
