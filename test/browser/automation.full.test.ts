import { describe, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import type { Locator, Page } from 'playwright-core';
import { created, makeAgent } from '../support/scenario.ts';
import { until } from '../support/temporal.ts';
import { consoleStack } from './support/on-stack.ts';
import { reasonToSkip } from './support/stage.ts';
import { press, tabTo, untilLoaded } from './support/gestures.ts';

const reason = await reasonToSkip();
if (reason !== null) process.stdout.write(`tests of the console are skipped: ${reason}\n`);

interface Item {
  readonly id: string;
  readonly name?: string;
  readonly run_id?: string | null;
  readonly replay_of?: string | null;
}

(reason === null ? describe : describe.skip)('triggers, channels and reviews in the console', () => {
  const at = consoleStack();

  const itemsOf = async (path: string) => ((await at().stack.request('GET', path)).body as { items: Item[] }).items;
  const makeSchedule = async (more: Record<string, unknown> = {}) => {
    const agent = await makeAgent(at().stack, []);
    const name = `Report ${crypto.randomUUID().slice(0, 8)}`;
    const { id } = await created(at().stack, '/schedules', {
      agent_id: agent.id,
      name,
      prompt_template: 'Go.',
      every_seconds: 3_600,
      ...more,
    });
    return { id, name };
  };
  const makeHook = async (prompt_template = 'Got {{ body.n }}.') => {
    const agent = await makeAgent(at().stack, []);
    const slug = `hook-${crypto.randomUUID().slice(0, 8)}`;
    const made = await created(at().stack, '/webhook-endpoints', { agent_id: agent.id, slug, prompt_template });
    return { id: made.id, slug, secret: (made as unknown as { secret: string }).secret }; // shown in this answer alone
  };

  test('a schedule is made by keyboard alone at 320 px with its next times, run, and its run is found', async () => {
    await makeAgent(at().stack, []);
    const { page, context } = await at().signedIn('/schedules', { width: 320 });
    await tabTo(page, page.getByRole('button', { name: 'Add a schedule…' }));
    await page.keyboard.press('Enter');
    await typeInto(page, page.getByRole('dialog').getByLabel('Name', { exact: true }), 'Nightly');
    await typeInto(page, page.getByLabel('Cron expression', { exact: true }), '30 2 * * *');
    await page.getByRole('region', { name: 'Next times' }).locator('li').nth(9).waitFor();
    await typeInto(page, page.getByRole('dialog').getByLabel('Prompt', { exact: true }), 'Go.');
    await tabTo(page, page.getByRole('button', { name: 'Save' }));
    await page.keyboard.press('Enter');
    const link = page.getByRole('link', { name: 'Nightly' });
    await tabTo(page, link);
    await page.keyboard.press('Enter');
    await tabTo(page, page.getByRole('button', { name: 'Run now…' }));
    await page.keyboard.press('Enter');
    await tabTo(page, page.getByRole('button', { name: 'Run it' }));
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Open run' }).waitFor();

    const schedule = (await itemsOf('/schedules')).find(({ name }) => name === 'Nightly');
    expect(await itemsOf(`/runs?trigger_id=${schedule?.id}`)).toHaveLength(1);
    await context.close();
  });

  test('a time that the clocks skip is said before it is saved', async () => {
    const { page, context } = await at().signedIn('/schedules');
    await press(page, 'Add a schedule…');
    await page.getByLabel('Time zone', { exact: true }).fill('Europe/Berlin');
    await page.getByLabel('Not before (your time zone)').fill('2027-03-27T12:00');
    await page.getByLabel('Cron expression', { exact: true }).fill('30 2 * * *');

    await page.getByRole('region', { name: 'Next times' }).getByText('Warnings').waitFor();
    await context.close();
  });

  test('what the server refuses is said at its field, and what was typed stays', async () => {
    const { id } = await makeSchedule();
    const { page, context } = await at().signedIn(`/schedules/${id}`);
    await press(page, 'Change…');
    await page.getByLabel('Time zone', { exact: true }).fill('Mars/Olympus');
    await press(page, 'Save');

    const field = page.getByLabel('Time zone', { exact: true });
    await until(() => field.evaluate((node) => node.getAttribute('aria-invalid') === 'true'));
    expect(await field.inputValue()).toBe('Mars/Olympus');
    await context.close();
  });

  test('two people change one schedule: what one side alone has changed is merged, the rest is chosen', async () => {
    const { id } = await makeSchedule();
    const { page, context } = await at().signedIn(`/schedules/${id}`);
    await press(page, 'Change…');
    await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('Mine');

    const { headers } = await at().stack.request('GET', `/schedules/${id}`);
    const etag = headers.get('etag') ?? '';
    await at().stack.request('PATCH', `/schedules/${id}`, { headers: { 'if-match': etag }, body: { name: 'Theirs', jitter_seconds: 7 } });
    await press(page, 'Save');
    await press(page.getByRole('region', { name: 'Name' }), 'Keep yours');
    await press(page, 'Save');
    await page.getByRole('heading', { level: 1, name: 'Mine' }).waitFor();

    expect((await at().stack.request('GET', `/schedules/${id}`)).body).toMatchObject({ name: 'Mine', jitter_seconds: 7 });
    await context.close();
  });

  test('pausing and resuming name the version on screen, also one that a later read has brought', async () => {
    const { id } = await makeSchedule();
    const { page, context } = await at().signedIn(`/schedules/${id}`);
    const sent: (string | null)[] = [];
    const current: (string | null)[] = [];
    await page.route(/\/schedules\/[^/]+$/, async (route) => {
      if (route.request().method() === 'PATCH') {
        sent.push(await route.request().headerValue('if-match'));
        current.push((await at().stack.request('GET', `/schedules/${id}`)).headers.get('etag'));
      }
      await route.continue();
    });
    for (const [button, next] of [
      ['Pause', 'Resume'],
      ['Resume', 'Pause'],
    ] as const) {
      await press(page, button);
      await page.getByRole('button', { name: next, exact: true }).waitFor();
    }

    expect(sent).toEqual(current);
    expect(new Set(sent).size).toBe(2);
    expect(sent).not.toContain(null);
    await context.close();
  });

  test('a backfill is counted before it can be started', async () => {
    const { id } = await makeSchedule();
    const { page, context } = await at().signedIn(`/schedules/${id}`);
    await press(page, 'Backfill…');
    await page.getByLabel('From', { exact: true }).fill('2026-01-01T00:30');
    await page.getByLabel('Up to and including', { exact: true }).fill('2026-01-01T02:30');
    expect(await page.getByRole('button', { name: 'Start 0 runs' }).isDisabled()).toBe(true);

    await press(page, 'Count first');
    await page.getByText(/\d+ runs would start/).waitFor();
    await context.close();
  });

  test('the secret of a webhook is shown once, no storage holds it, and nothing shows it again', async () => {
    await makeAgent(at().stack, []);
    const { page, context } = await at().signedIn('/webhook-endpoints');
    await press(page, 'Add a webhook…');
    await page.getByLabel('Name in its address', { exact: true }).fill('orders');
    await press(page, 'Save');
    const secret = (await page.getByRole('dialog', { name: 'Secret of this webhook' }).locator('code').textContent()) ?? '';
    const stored = await page.evaluate(() => JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage)]));
    await press(page, 'I have it');
    await page.getByRole('link', { name: 'orders' }).click();
    await page.getByRole('heading', { level: 1, name: 'orders' }).waitFor();

    expect(secret).toMatch(/^whsec_/);
    expect(stored + (await page.content())).not.toContain(secret);
    await context.close();
  });

  test('a try shows what a delivery would start; one that failed is seen with its reason, and replayed once its cause is mended', async () => {
    const hook = await makeHook(`Got {{ body.n }}.{% if body.n == 1 %}${endless}{% endif %}`);
    const { page, context } = await at().signedIn(`/webhook-endpoints/${hook.id}`);
    await press(page, 'Try a delivery…');
    await page.getByLabel('Body (JSON)', { exact: true }).fill('{"n": 7}');
    await press(page, 'Try it');
    await page.getByText('Got 7.').first().waitFor();
    expect(await itemsOf(`/runs?trigger_id=${hook.id}`)).toEqual([]);

    expect(await deliver(`${at().stack.url()}/hooks/${at().stack.tenant.workspaceId}/${hook.slug}`, hook.secret)).toBe(422);
    await page.getByRole('row').getByText('template limit').waitFor();
    await press(page, 'Details');
    await page.getByRole('dialog').getByText('{"n":1}').waitFor();
    await press(page, 'Close');
    await press(page, 'Change…');
    await page.getByRole('dialog').getByLabel('Prompt', { exact: true }).fill('Got {{ body.n }} again.');
    await press(page, 'Save');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await press(page, 'Replay…');
    await press(page, 'Replay it');
    await page.getByRole('link', { name: 'Open run' }).waitFor();

    const [replay, first] = await itemsOf(`/webhook-endpoints/${hook.id}/deliveries`);
    expect(first).toMatchObject({ status: 'failed', run_id: null });
    expect(replay).toMatchObject({ status: 'started', replay_of: first?.id });
    expect(await itemsOf(`/runs?trigger_id=${hook.id}`)).toMatchObject([{ id: replay?.run_id }]);
    await context.close();
  });

  test('a viewer sees no control, a member those of schedules alone', async () => {
    const { id } = await makeSchedule();
    const { users } = at().stack.tenant;
    const seen = async (user: Pick<typeof users.viewer, 'email'>) => {
      const { page, context } = await at().signedIn(`/schedules/${id}`, { user });
      await page.getByRole('heading', { name: 'Occurrences' }).waitFor();
      const main = await page.getByRole('main').getByRole('button').allTextContents();
      await page.goto(`${at().home}/webhook-endpoints`);
      await page.getByRole('heading', { level: 1, name: 'Webhooks' }).waitFor();
      const add = await page.getByRole('button', { name: 'Add a webhook…' }).count();
      await context.close();
      return [main.includes('Run now…'), main.includes('Backfill…'), add];
    };

    expect(await seen(users.viewer)).toEqual([false, false, 0]);
    expect(await seen(users.member)).toEqual([true, false, 0]);
    expect(await seen(users.admin)).toEqual([true, true, 1]);
  });

  test('every view has nothing for axe, fits, and keeps to the policy: at 320 and 1280 px, light and dark', async () => {
    const schedule = await makeSchedule();
    const hook = await makeHook();
    const [playbook] = await itemsOf('/review-playbooks');
    const views = [
      ['schedules', 'Schedules', 'schedules'],
      [`schedules/${schedule.id}`, schedule.name, 'schedule'],
      ['webhook-endpoints', 'Webhooks', 'webhook-endpoints'],
      [`webhook-endpoints/${hook.id}`, hook.slug, 'webhook-endpoint'],
      ['event-triggers', 'Event triggers', 'event-triggers'],
      ['events', 'Events', 'events'],
      ['channels', 'Channels', 'channels'],
      ['repositories', 'Repositories', 'repositories'],
      ['review-playbooks', 'Review playbooks', 'review-playbooks'],
      [`review-playbooks/${playbook?.id}`, playbook?.name ?? '', 'review-playbook'],
    ] as const;

    const faults = await at().looks('/schedules', async (page, look) => {
      for (const [path, sign, name] of views) {
        await page.goto(`${at().home}/${path}`);
        await page.getByRole('heading', { level: 1, name: sign }).waitFor();
        await untilLoaded(page);
        await look(name);
      }
      await page.goto(`${at().home}/channels`);
      await press(page, 'Add a channel…');
      await page.getByLabel('Signing secret', { exact: true }).waitFor();
      await look('channel-form');
    });

    expect(faults).toEqual([]);
  });
});

/** Fills no template: it ends at the limit of what a template may take. */
const endless = '{% for a in (1..9000) %}{% for b in (1..9000) %}{% assign x = a | times: b %}{% endfor %}{% endfor %}';

async function typeInto(page: Page, field: Locator, text: string): Promise<void> {
  await tabTo(page, field);
  await page.keyboard.type(text);
}

/** A sender's request, signed. Gives the status. */
async function deliver(url: string, secret: string): Promise<number> {
  const body = '{"n":1}';
  const id = crypto.randomUUID();
  const now = new Date();
  const signature = new Webhook(secret).sign(id, now, body);
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
    'webhook-signature': signature,
  };
  return (await fetch(url, { method: 'POST', headers, body })).status;
}
