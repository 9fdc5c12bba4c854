import { describe, expect, test } from '@jest/globals';
import type { BrowserContext, Page } from 'playwright-core';
import { created, makeAgent, writeTool } from '../support/scenario.ts';
import { until } from '../support/temporal.ts';
import type { TestUser } from '../support/tenant.ts';
import { consoleStack } from './support/on-stack.ts';
import { reasonToSkip } from './support/stage.ts';
import { press, tabTo, untilLoaded } from './support/gestures.ts';

const reason = await reasonToSkip();
if (reason !== null) process.stdout.write(`tests of the console's agents are skipped: ${reason}\n`);

(reason === null ? describe : describe.skip)('agents in the console', () => {
  const on = consoleStack();

  async function openAs(path: string, options: { readonly user?: TestUser; readonly context?: BrowserContext } = {}) {
    const tab = await on().signedIn(path, options);
    // Leaving a page with changes asks in a dialog of the browser.
    tab.page.on('dialog', (dialog) => void dialog.accept());
    return tab;
  }

  async function read(path: string) {
    return (await on().stack.request('GET', path)).body as Record<string, unknown>;
  }

  test('an agent is created, gets its first revision and is activated by keyboard alone at 320 px', async () => {
    const slug = `keys-${crypto.randomUUID().slice(0, 8)}`;
    const { page, context } = await openAs('/agents', { context: await on().stage.context({ width: 320 }) });
    await pressByKey(page, 'Create an agent…');
    await until(() => page.getByLabel('Slug', { exact: true }).evaluate((node) => node === document.activeElement));
    await page.keyboard.type(slug);
    await page.keyboard.press('Tab');
    await page.keyboard.type('By keyboard');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'By keyboard' }).waitFor();

    await tabTo(page, page.getByLabel('Instructions', { exact: true }));
    await page.keyboard.type('Answer in one word.');
    await page.getByText('It is valid.').waitFor();
    await pressByKey(page, 'Save as a new revision');
    await page.getByText('Saved.').waitFor();
    await tabTo(page, page.getByRole('link', { name: 'Revisions' }));
    await page.keyboard.press('Enter');
    await pressByKey(page, 'Activate…');
    await page.getByRole('dialog').waitFor();
    await pressByKey(page, 'Activate');
    await page.getByRole('dialog').waitFor({ state: 'detached' });

    const { items } = (await read(`/agents?q=${slug}`)) as { items: { id: string }[] };
    expect(await read(`/agents/${items[0]?.id}`)).toMatchObject({
      slug,
      active_revision: { number: 1, document: { instructions: 'Answer in one word.' } },
    });
    await context.close();
  });

  test('two people edit one agent: what one side has changed merges, the rest is chosen, no field is lost', async () => {
    const agent = await makeAgent(on().stack, []);
    const { page, context } = await openAs(`/agents/${agent.id}`);
    const statuses: number[] = [];
    page.on('response', (answer) => {
      if (answer.request().method() === 'PATCH') statuses.push(answer.status());
    });
    await page.getByLabel('Name', { exact: true }).fill('Mine');
    await page.getByLabel('Image address').fill('https://example.test/mine.png');

    await patch(agent.id, { name: 'Theirs', description: 'Theirs too.' });
    await press(page, 'Save');
    const conflict = page.getByRole('region', { name: 'Name' });
    await conflict.waitFor();
    const sides = await conflict.locator('dd').allTextContents();
    await press(conflict, 'Keep yours');
    await press(page, 'Save');
    await page.getByText('Saved.').waitFor();

    expect(sides).toEqual(['Test agent', 'Theirs', 'Mine']);
    expect(statuses).toEqual([412, 200]);
    expect(await read(`/agents/${agent.id}`)).toMatchObject({
      name: 'Mine',
      description: 'Theirs too.',
      image_url: 'https://example.test/mine.png',
    });
    await context.close();
  });

  test('polling changes a form that nobody has touched, and never one that somebody has', async () => {
    const agent = await makeAgent(on().stack, []);
    const { page, context } = await openAs(`/agents/${agent.id}`);
    const name = page.getByLabel('Name', { exact: true });
    await name.waitFor();
    await patch(agent.id, { name: 'Second name' });
    await until(async () => (await name.inputValue()) === 'Second name');

    await page.getByLabel('Description').fill('Typed.');
    await patch(agent.id, { name: 'Third name' });
    await page.getByRole('heading', { name: 'Third name' }).waitFor();

    expect(await name.inputValue()).toBe('Second name');
    expect(await page.getByLabel('Description').inputValue()).toBe('Typed.');
    await context.close();
  });

  test('a changed form asks before it is left; its draft outlives a reload, and is gone once it is discarded', async () => {
    const agent = await makeAgent(on().stack, []);
    const { page, context } = await openAs(`/agents/${agent.id}`);
    const name = page.getByLabel('Name', { exact: true });
    await name.fill('A draft');
    await page.getByText('Not saved yet.').waitFor();

    await page.reload();
    await page.getByText('Not saved yet.').waitFor();
    expect(await name.inputValue()).toBe('A draft');
    await page.getByRole('navigation').getByRole('link', { name: 'Skills' }).click();
    await press(page.getByRole('alertdialog'), 'Stay here');
    expect(await name.inputValue()).toBe('A draft');
    await page.getByRole('navigation').getByRole('link', { name: 'Skills' }).click();
    await press(page.getByRole('alertdialog'), 'Leave, and discard it');
    await page.getByRole('heading', { name: 'Skills' }).waitFor();

    expect(await page.evaluate(() => Object.keys(sessionStorage).filter((key) => key.includes('edit:')))).toEqual([]);
    expect(await read(`/agents/${agent.id}`)).toMatchObject({ name: 'Test agent' });
    await context.close();
  });

  test('what the server refuses is said at the field, which has the focus', async () => {
    const agent = await makeAgent(on().stack, []);
    const { page, context } = await openAs(`/agents/${agent.id}`);
    const slug = page.getByLabel('Slug', { exact: true });
    await slug.fill('Not A Slug');
    await press(page, 'Save');

    await until(() => slug.evaluate((node) => node === document.activeElement && node.getAttribute('aria-invalid') === 'true'));
    expect(await slug.inputValue()).toBe('Not A Slug');
    await context.close();
  });

  test('a draft is checked while it is written, at most once a second, and its problems stand at the fields', async () => {
    const agent = await makeAgent(on().stack, []);
    const { page, context } = await openAs(`/agents/${agent.id}?part=draft`);
    const asked: number[] = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/validate')) asked.push(Date.now());
    });
    await page.getByText('It is valid.').waitFor();
    const model = page.getByLabel('Model', { exact: true });
    await model.pressSequentially('no-such-model', { delay: 20 });

    await until(async () => (await model.getAttribute('aria-invalid')) === 'true');
    await model.fill('');
    await page.getByText('It is valid.').waitFor();

    const gaps = asked.slice(1).map((at, index) => at - (asked[index] ?? 0));
    expect(asked.length).toBeGreaterThan(1);
    expect(gaps.filter((gap) => gap < 950)).toEqual([]);
    await context.close();
  });

  test('a draft is written as JSON, Tab leaves the editor, and the revision is compared, activated and rolled back', async () => {
    const agent = await makeAgent(on().stack, []);
    const { page, context } = await openAs(`/agents/${agent.id}?part=draft`);
    await press(page, 'As JSON');
    const editor = page.getByRole('textbox', { name: 'Document (JSON)' });
    await editor.fill('{"instructions": ');
    await page
      .getByText(/This is not valid JSON/)
      .first()
      .waitFor();
    expect(await page.getByRole('button', { name: 'Save as a new revision' }).isDisabled()).toBe(true);
    await editor.fill(JSON.stringify({ instructions: 'Second.' }));
    await editor.press('Tab');
    expect(await editor.evaluate((node) => node.matches(':focus'))).toBe(false);
    await press(page, 'Save as a new revision');
    await page.getByText('Saved.').waitFor();

    await page.getByRole('link', { name: 'Revisions' }).click();
    await page.getByRole('link', { name: 'Show 2' }).click();
    await page.getByRole('region', { name: 'Revision 2, compared with 1' }).waitFor();
    await activate(page, 'Activate…');
    expect(await activeNumber(agent.id)).toBe(2);
    await activate(page, 'Roll back to it…');
    expect(await activeNumber(agent.id)).toBe(1);
    await context.close();
  });

  test('a viewer sees agents, tools and skills, and nothing to change them with', async () => {
    const agent = await makeAgent(on().stack, []);
    const { page, context } = await openAs('/agents', { user: on().stack.tenant.users.viewer });
    const seen: string[] = [];
    for (const path of ['/agents', `/agents/${agent.id}`, `/agents/${agent.id}?part=revisions`, '/tools', '/toolkits', '/skills']) {
      await page.goto(on().home + path);
      await page.locator('#content h1').waitFor();
      await page.getByText('Loading…').first().waitFor({ state: 'detached' });
      seen.push(
        ...(await page
          .getByRole('main')
          .getByRole('button', { name: /…$|^Save|^Export/ })
          .allTextContents()),
      );
    }

    expect(seen).toEqual([]);
    await context.close();
  });

  test('each view fits, is accessible and breaks no policy, light and dark', async () => {
    const { stack, effects, home } = on();
    const agent = await makeAgent(stack, [writeTool(`look-${crypto.randomUUID().slice(0, 8)}`, effects)]);
    await created(stack, `/agents/${agent.id}/personas`, { slug: 'host', name: 'Host', instructions: 'Be kind.' });
    const second = await created(stack, `/agents/${agent.id}/revisions`, { document: { instructions: 'Second.' } });

    const faults = await on().looks('/agents', async (page, look) => {
      // Leaving a page with changes asks in a dialog of the browser.
      page.on('dialog', (dialog) => void dialog.accept());
      const parts = ['settings', 'draft', 'revisions', 'personas', 'effective'].map((part) => `/agents/${agent.id}?part=${part}`);
      for (const path of ['/agents', ...parts]) {
        await page.goto(home + path);
        await untilLoaded(page);
        await look(path.slice(1).replace(agent.id, 'one').replace('?part=', '-').replaceAll('/', '-'));
      }
      await page.goto(`${home}/agents/${agent.id}?part=revisions&revision=${second.id}`);
      await page.getByRole('region', { name: 'Revision 2, compared with 1' }).waitFor();
      await look('agents-one-revisions-compared');
      await page.goto(`${home}/agents/${agent.id}?part=draft`);
      await press(page, 'As JSON');
      await page.getByRole('textbox', { name: 'Document (JSON)' }).waitFor();
      await look('agents-one-draft-json');
    });

    expect(faults).toEqual([]);
  });

  async function patch(agentId: string, body: object): Promise<void> {
    const { status, headers } = await on().stack.request('GET', `/agents/${agentId}`);
    expect(status).toBe(200);
    const answer = await on().stack.request('PATCH', `/agents/${agentId}`, { body, headers: { 'if-match': headers.get('etag') ?? '' } });
    expect(answer.status).toBe(200);
  }

  async function activeNumber(agentId: string): Promise<number | undefined> {
    return ((await read(`/agents/${agentId}`)) as { active_revision?: { number: number } }).active_revision?.number;
  }
});

async function pressByKey(page: Page, name: string): Promise<void> {
  await tabTo(page, page.getByRole('button', { name, exact: true }).first());
  await page.keyboard.press('Enter');
}

async function activate(page: Page, label: string): Promise<void> {
  await press(page, label);
  await press(page.getByRole('dialog'), 'Activate');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
}
