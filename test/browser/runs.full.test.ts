import { describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { created, makeAgent, scripted, startRun, writeTool } from '../support/scenario.ts';
import { until } from '../support/temporal.ts';
import { consoleStack } from './support/on-stack.ts';
import { reasonToSkip } from './support/stage.ts';
import { say } from './support/gestures.ts';

const reason = await reasonToSkip();
if (reason !== null) process.stdout.write(`tests of the console's runs are skipped: ${reason}\n`);

interface RunRow {
  readonly id: string;
  readonly status: string;
  readonly retry_of_run_id: string | null;
  readonly forked_at_message_id: string | null;
  readonly input: { readonly attachments: readonly { readonly name: string }[] };
}

(reason === null ? describe : describe.skip)('runs in the console', () => {
  const on = consoleStack();

  /** What the API lists. */
  async function listed(query: string): Promise<RunRow[]> {
    const answer = await on().stack.request('GET', `/runs?limit=200&${query}`);
    return (answer.body as { items: RunRow[] }).items;
  }

  /** Runs of a new agent that each wait for consent to one call. */
  async function askingRuns(count: number) {
    const { stack, effects } = on();
    const slug = `ask-${crypto.randomUUID().slice(0, 8)}`;
    const agent = await makeAgent(stack, [writeTool(slug, effects)], { approvals: { write: 'ask' } });
    const runs = [];
    for (let n = 1; n <= count; n++) {
      const script = { steps: [{ tool_calls: [{ name: slug, arguments: { n } }] }, { text: 'Done.' }] };
      runs.push(await startRun(stack, agent.id, scripted(script, `Ask ${n}.`)));
    }
    await until(async () => (await listed(`agent_id=${agent.id}&status=waiting`)).length === count);
    return { slug, agent, runs, done: () => effects.effects.filter(({ path }) => path === `/${slug}`) };
  }

  test('an agent is asked with a file, stopped and asked again; its runs are found by their filters, and the file is shown', async () => {
    const { stack, signedIn, home } = on();
    const agent = await makeAgent(stack, []);
    const { page, context } = await signedIn(`/playground?agent=${agent.id}`);
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('Rain at noon.\n') });
    await page.getByText('ready', { exact: true }).waitFor();

    await say(page, scripted({ steps: [{ tokens: 400, delay_ms: 60 }] }, 'Read it.'));
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.locator('main [data-status="cancelled"]').waitFor();
    await say(page, scripted({ steps: [{ text: 'It rains at noon.' }] }, 'Again.'));
    await page.locator('main [data-status="succeeded"]').waitFor();
    const session = new URL(page.url()).searchParams.get('session') ?? '';

    await page.goto(`${home}/runs`);
    await page.getByText('More filters').click();
    await page.getByLabel('Session key').fill(session);
    await until(async () => (await page.getByRole('table').getByRole('link').count()) === 2);
    await page
      .getByRole('button', { name: /Any Status|Status/ })
      .first()
      .click();
    await page.getByRole('option', { name: 'cancelled' }).click();
    await until(async () => (await page.getByRole('table').getByRole('link').count()) === 1);
    await page.getByRole('table').getByRole('link').click();
    await page.getByRole('button', { name: 'Show: notes.txt' }).click();
    await page.getByText('Rain at noon.').waitFor();

    const runs = await listed(`session_key=${session}`);
    expect(runs.map(({ status }) => status)).toEqual(['succeeded', 'cancelled']);
    expect(runs[1]?.input.attachments.map(({ name }) => name)).toEqual(['notes.txt']);
    await context.close();
  });

  test('two of three questions are approved together with keys alone, at 320 px', async () => {
    const asked = await askingRuns(3);
    const { page, context } = await on().signedIn('/approvals', { width: 320 });
    const cards = page.getByRole('article', { name: new RegExp(asked.slug) });
    await until(async () => (await cards.count()) === 3);

    await page.keyboard.press('j');
    await page.keyboard.press('x');
    await page.keyboard.press('j');
    await page.keyboard.press('x');
    await page.getByText('2 questions are selected.').waitFor();
    await page.keyboard.press('Shift+A');
    await until(() => asked.done().length === 2);
    await until(async () => (await cards.count()) === 1);

    expect(
      asked
        .done()
        .map(({ body }) => body)
        .toSorted(),
    ).toEqual(['{"n":1}', '{"n":2}']);
    await cards.getByRole('button', { name: 'Reject' }).click();
    await cards.waitFor({ state: 'detached' });
    await context.close();
  });

  test('a question of a sub-agent is in the inbox, and the tree shows what waits and what each costs', async () => {
    const { stack, models, effects, signedIn, home } = on();
    const slug = `ask-${crypto.randomUUID().slice(0, 8)}`;
    const tool = await created(stack, '/tools', writeTool(slug, effects));
    const agentWith = async (document: Record<string, unknown>) => {
      const name = `agent-${crypto.randomUUID().slice(0, 8)}`;
      const revision = { instructions: 'Do what the script says.', ...document };
      return { ...(await created(stack, '/agents', { slug: name, name, revision, activate: true })), slug: name };
    };
    const leaf = await agentWith({ tools: [{ id: tool.id }], approvals: { write: 'ask' } });
    const top = await agentWith({ sub_agents: [{ id: leaf.id }] });
    models.script(`${slug}-leaf`, { steps: [{ tool_calls: [{ name: slug, arguments: { n: 5 } }] }, { text: 'Written.' }] });
    models.script(`${slug}-top`, {
      steps: [{ tool_calls: [{ name: `ask_${leaf.slug}`, arguments: { task: `[script:${slug}-leaf]` } }] }, { text: 'Done.' }],
    });
    const run = await startRun(stack, top.id, `[script:${slug}-top]`);
    const { page, context } = await signedIn('/approvals');
    const card = page.getByRole('article', { name: new RegExp(slug) });
    await card.waitFor();

    await page.goto(`${home}/runs/${run.id}?tab=tree`);
    const tree = page.getByRole('list', { name: 'Sub-agents' });
    const child = tree.getByRole('listitem').filter({ hasText: leaf.slug }).last();
    await child.getByText('Waits for an approval').waitFor();
    const costs = await child.getByText('with sub-agents').count();
    await page.goto(`${home}/approvals`);
    await card.getByRole('button', { name: 'Approve', exact: true }).click();
    await until(async () => (await listed(`agent_id=${top.id}&status=succeeded`)).length === 1);

    expect(costs).toBe(1);
    expect(effects.effects.filter(({ path }) => path === `/${slug}`)).toHaveLength(1);
    await context.close();
  });

  test('arguments are edited in a form that shows what changes, and the call gets them', async () => {
    const asked = await askingRuns(1);
    const { page, context } = await on().signedIn('/approvals');
    const card = page.getByRole('article', { name: new RegExp(asked.slug) });
    await card.getByRole('button', { name: 'Edit and approve' }).click();
    await card.getByText('Nothing has been changed yet.').waitFor();

    await card.getByLabel('n', { exact: true }).fill('41');
    const changes = await card.getByRole('region', { name: 'Changes' }).textContent();
    await card.getByRole('button', { name: 'Approve with these arguments' }).click();
    await until(() => asked.done().length === 1);

    expect(changes).toContain('/n');
    expect(asked.done()[0]?.body).toBe('{"n":41}');
    await context.close();
  });

  test('two people answer one question: one decision, and the other is told whose it was', async () => {
    const asked = await askingRuns(1);
    const { stack, signedIn } = on();
    const first = await signedIn('/approvals');
    const second = await signedIn('/approvals', { user: stack.tenant.users.owner });
    const cardOf = (page: Page) => page.getByRole('article', { name: new RegExp(asked.slug) });
    await cardOf(second.page).waitFor();
    // The second one still looks at the question when the first answers it.
    const lists = /\/runs(?:\?|\/[^/]+\/approvals\?)/;
    const kept = new Map<string, string>();
    await second.page.route(lists, async (route) => {
      const url = route.request().url();
      if (!kept.has(url)) kept.set(url, await (await route.fetch()).text());
      await route.fulfill({ contentType: 'application/json', body: kept.get(url) ?? '' });
    });
    await until(() => [...kept.keys()].some((url) => url.includes(`${asked.runs[0]?.id}/approvals`)));

    await cardOf(first.page).getByRole('button', { name: 'Approve', exact: true }).click();
    await until(() => asked.done().length === 1);
    await cardOf(second.page).getByRole('button', { name: 'Reject' }).click();
    await second.page.getByText('Somebody else has answered this question.').waitFor();
    await second.page.unroute(lists);

    await second.page.getByText(/answered: approved/).waitFor();
    expect(asked.done()).toHaveLength(1);
    await first.context.close();
    await second.context.close();
  });

  test('why a run failed is found, and it goes on from the message before, with other words', async () => {
    const { stack, signedIn, home } = on();
    const agent = await makeAgent(stack, []);
    const sessionKey = `night-${crypto.randomUUID()}`;
    const words = (step: object, text: string) => `${text} <script>${JSON.stringify({ steps: [step] })}</script>`;
    const good = await startRun(stack, agent.id, words({ text: 'First.' }, 'One.'), { sessionKey });
    const bad = await startRun(stack, agent.id, words({ fault: { kind: 'status', status: 400 } }, 'Two.'), { sessionKey });
    await until(async () => (await listed(`session_key=${sessionKey}&status=failed`)).length === 1);

    const { page, context } = await signedIn(`/runs?agent_id=${agent.id}&status=failed`);
    await page.getByRole('table').getByRole('link').click();
    await page.getByRole('tab', { name: 'Steps' }).click();
    await page.locator('main details [data-status="failed"]').waitFor();
    await page.locator('main details [role="alert"]').first().waitFor();
    await page.getByRole('tab', { name: 'Messages' }).click();
    await page.getByRole('button', { name: 'Ask again from here' }).click();
    await page.getByLabel('Other words (optional)').fill(words({ text: 'Better.' }, 'Two, again.'));
    await page.getByRole('button', { name: 'Start the run' }).click();
    await page.getByText('Better.', { exact: true }).waitFor();
    await page.locator('header [data-status="succeeded"]').waitFor();

    const [fork] = (await listed(`agent_id=${agent.id}`)).filter(({ id }) => id !== good.id && id !== bad.id);
    expect(page.url()).toBe(`${home}/runs/${fork?.id}`);
    expect([fork?.retry_of_run_id, fork?.status]).toEqual([bad.id, 'succeeded']);
    expect(fork?.forked_at_message_id).not.toBeNull();
    await context.close();
  });

  test('many runs are started together, and what is live among them is cancelled after its count', async () => {
    const { stack, signedIn } = on();
    const agent = await makeAgent(stack, []);
    const { page, context } = await signedIn(`/runs?agent_id=${agent.id}`);
    await page.getByRole('button', { name: 'Start many' }).click();
    const line = scripted({ steps: [{ tokens: 600, delay_ms: 100 }] }, 'Long.');
    await page.getByLabel('Inputs, one a line').fill([line, line, line].join('\n'));
    await page.getByRole('button', { name: 'Start 3 runs' }).click();
    await page.getByText('3 started, 0 refused.').waitFor();
    await page.getByRole('button', { name: 'Close' }).click();

    await page.getByRole('button', { name: 'Cancel these' }).click();
    await page.getByText('3 runs are live and match the filters.').waitFor();
    await page.getByRole('button', { name: 'Cancel 3' }).click();
    await page.getByText('Outcome').waitFor();

    await until(async () => (await listed(`agent_id=${agent.id}&status=cancelled`)).length === 3);
    await context.close();
  });

  test('a vote is cast and counted, and a run is purged after the word', async () => {
    const { stack, signedIn } = on();
    const agent = await makeAgent(stack, []);
    const run = await startRun(stack, agent.id, scripted({ steps: [{ text: 'Fine.' }] }));
    const { page, context } = await signedIn(`/runs/${run.id}`);
    await page.locator('header [data-status="succeeded"]').waitFor();
    await page.getByRole('button', { name: 'No', exact: true }).click();
    await page.getByLabel('Comment (optional)').fill('Too short.');
    await page.getByLabel('Tags, separated by commas').fill('x'.repeat(41));
    await page.getByRole('button', { name: 'Vote', exact: true }).click();
    const tags = page.getByLabel('Tags, separated by commas');
    await until(() => tags.evaluate((node) => node === document.activeElement && node.getAttribute('aria-invalid') === 'true'));
    await tags.fill('short, style');
    await page.getByRole('button', { name: 'Vote', exact: true }).click();
    await page.getByText('This revision has 0 up, 1 down.').waitFor();

    await page.getByRole('button', { name: 'Purge' }).click();
    await page.getByLabel('Type “purge” to confirm').fill('purge');
    await page.getByRole('button', { name: 'Erase the run' }).click();
    await page.getByRole('heading', { name: 'Runs', level: 1 }).waitFor();

    expect((await stack.request('GET', `/runs/${run.id}`)).status).toBe(404);
    await context.close();
  });

  test('Ctrl-K finds views, agents and runs, by keyboard alone', async () => {
    const { stack, signedIn, home } = on();
    const agent = await makeAgent(stack, []);
    const run = await startRun(stack, agent.id, scripted({ steps: [{ text: 'Found.' }] }));
    const { page, context } = await signedIn('/runs');

    await page.keyboard.press('Control+k');
    await page.keyboard.type('approv');
    await page.getByRole('menuitem', { name: /Approvals/ }).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Approvals', level: 1 }).waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.type(run.id);
    await page.getByRole('menuitem', { name: /Please go on/ }).click();

    await page.locator('header [data-status="succeeded"]').waitFor();
    expect(page.url()).toBe(`${home}/runs/${run.id}`);
    await context.close();
  });

  test('a viewer sees runs and questions, and nothing that acts on them', async () => {
    const asked = await askingRuns(1);
    const { stack, signedIn, home } = on();
    const { page, context } = await signedIn('/runs', { user: stack.tenant.users.viewer });
    const seen: string[] = [];
    for (const path of [`/runs`, `/runs/${asked.runs[0]?.id}`, `/runs/${asked.runs[0]?.id}?tab=messages`, '/approvals', '/playground']) {
      await page.goto(home + path);
      await page.locator('#content h1').waitFor();
      if (path === '/approvals') await page.getByRole('article').first().waitFor();
      seen.push(...(await page.locator('main').getByRole('button').allTextContents()));
    }

    const acting = /Start|Cancel|Purge|Run again|Approve|Reject|Edit|Send|Attach|Continue|Ask again/;
    expect(seen.filter((name) => acting.test(name))).toEqual([]);
    await context.close();
  });

  test('every part of these views has nothing for axe, fits, and keeps to the policy: at 320 and 1280 px, light and dark', async () => {
    const asked = await askingRuns(1);
    const { stack, looks, home } = on();
    const agent = await makeAgent(stack, []);
    const run = await startRun(stack, agent.id, scripted({ steps: [{ text: 'Look.' }] }));
    await until(async () => (await listed(`agent_id=${agent.id}&status=succeeded`)).length === 1);

    const faults = await looks('/runs', async (page, look) => {
      await page.getByRole('table').waitFor();
      await page.getByText('More filters').click();
      await look('runs');
      for (const name of ['conversation', 'steps', 'messages', 'tree']) {
        await page.goto(`${home}/runs/${run.id}?tab=${name}`);
        await page.locator('[role="tabpanel"] :is(li, details)').first().waitFor();
        await look(`run-${name}`);
      }
      await page.goto(`${home}/approvals`);
      const card = page.getByRole('article', { name: new RegExp(asked.slug) });
      await card.getByLabel('Select').check();
      await card.getByRole('button', { name: 'Edit and approve' }).click();
      await card.getByLabel('n', { exact: true }).fill('2');
      await look('approvals');
      await page.goto(`${home}/playground?agent=${agent.id}`);
      await page.locator('input[type=file]').setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('a') });
      await page.getByText('ready', { exact: true }).waitFor();
      await look('playground');
      await page.keyboard.press('Control+k');
      await page.getByRole('menuitem').first().waitFor();
      await look('palette');
    });

    expect(faults).toEqual([]);
  });
});
