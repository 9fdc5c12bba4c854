import { describe, expect, test } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { endOf, watchRun } from '../support/run-checks.ts';
import { makeAgent, scripted, startRun } from '../support/scenario.ts';
import { consoleStack } from './support/on-stack.ts';
import { lookAtWidths, reasonToSkip } from './support/stage.ts';

const reason = await reasonToSkip();
if (reason !== null) process.stdout.write(`tests of the console are skipped: ${reason}\n`);

(reason === null ? describe : describe.skip)('agents in the console', () => {
  const world = consoleStack();

  test('an agent is created, written, activated and runs, by keyboard alone at 320 px', async () => {
    const { stack } = world();
    const { context, page } = await world().signedIn('/agents', { width: 320 });
    const slug = `made-${crypto.randomUUID().slice(0, 8)}`;

    await press(page, 'New agent…');
    await type(page.getByRole('dialog'), 'Name', 'Made by hand');
    await type(page.getByRole('dialog'), 'Slug', slug);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Made by hand' }).waitFor();
    await follow(page, 'New revision');
    await type(page, 'Model', 'compatible/scripted');
    await type(page, 'Instructions', 'Be brief.');
    await page.getByText(/Nothing is wrong with it/).waitFor();
    await press(page, 'Save as a new revision');
    await page.getByRole('heading', { level: 1, name: 'Revision 1' }).waitFor();
    await press(page, 'Activate…');
    await press(page.getByRole('dialog'), 'Activate');
    await page.getByText('It is the active one.').waitFor();

    const { body } = await stack.request('GET', '/agents', { query: { q: slug } } as never);
    const [agent] = (body as { items: { id: string; active_revision_id: string | null }[] }).items;
    expect(agent?.active_revision_id).toEqual(expect.any(String));
    const run = await startRun(stack, agent?.id ?? '', scripted({ steps: [{ text: 'Brief.' }] }, 'Say it.'));
    expect(await endOf(watchRun(stack, run.id))).toBeDefined();
    await context.close();
  });

  test('two people edit one agent: what one side changed merges by itself, what both changed is chosen, nothing is lost', async () => {
    const { stack } = world();
    const agent = await makeAgent(stack, []);
    const { context, page } = await world().signedIn(`/agents/${agent.id}`);
    await press(page, 'Edit…');
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name', { exact: true }).fill('Mine');
    await dialog.getByLabel('Description', { exact: true }).fill('Mine as well');

    const theirs = await stack.request('PATCH', `/agents/${agent.id}`, { body: { name: 'Theirs', is_active: false } });
    expect(theirs.status).toBe(200);
    await press(dialog, 'Save');
    await dialog.getByText(/Somebody else has changed this meanwhile/).waitFor();
    await press(dialog, 'Keep yours');
    await press(dialog, 'Save');
    await dialog.waitFor({ state: 'detached' });

    const { body } = await stack.request('GET', `/agents/${agent.id}`);
    expect(body).toMatchObject({ name: 'Mine', description: 'Mine as well', is_active: false });
    await context.close();
  });

  test('a draft is kept over a reload, says what is wrong with it, and asks before it is left', async () => {
    const { stack } = world();
    const agent = await makeAgent(stack, []);
    const { context, page } = await world().signedIn(`/agents/${agent.id}/draft`);
    await page.getByLabel('Instructions').fill('Hello {{ nobody');
    await page
      .getByText(/^error: /)
      .first()
      .waitFor();
    page.once('dialog', (dialog) => void dialog.accept());
    await page.reload();
    await page.getByText('A draft of yours is shown.', { exact: false }).waitFor();
    expect(await page.getByLabel('Instructions').inputValue()).toBe('Hello {{ nobody');

    await page.getByRole('navigation').getByRole('link', { name: 'Agents' }).click();
    await press(page.getByRole('alertdialog'), 'Stay');
    expect(page.url()).toContain('/draft');
    await page.getByLabel('Instructions').fill('Hello.');
    await page.getByText(/Nothing is wrong with it/).waitFor();
    await press(page, 'Save as a new revision');
    await page.getByRole('heading', { level: 1, name: 'Revision 2' }).waitFor();
    await page.getByRole('table', { name: 'Differences' }).getByText('/instructions').waitFor();
    await context.close();
  });

  test('a persona is added, changed and deleted; a viewer sees all and no control', async () => {
    const { stack } = world();
    const agent = await makeAgent(stack, []);
    const { context, page } = await world().signedIn(`/agents/${agent.id}`);
    await press(page, 'New persona…');
    await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('Kind');
    await page.getByRole('dialog').getByLabel('Slug', { exact: true }).fill('kind');
    await press(page.getByRole('dialog'), 'Create');
    const row = page.getByRole('table', { name: 'Personas' }).getByRole('row', { name: /Kind/ });
    await row.waitFor();

    const viewer = await world().signedIn(`/agents/${agent.id}`, { user: stack.tenant.users.viewer });
    await viewer.page.getByRole('table', { name: 'Personas' }).getByText('Kind').waitFor();
    expect(await viewer.page.getByRole('main').getByRole('button').allTextContents()).toEqual([]);
    await press(row, 'Delete…');
    await press(page.getByRole('dialog'), 'Delete the persona');
    await row.waitFor({ state: 'detached' });

    await Promise.all([context.close(), viewer.context.close()]);
  });

  test('every view of agents has nothing for axe, fits, and keeps to the policy, light and dark', async () => {
    const { stack } = world();
    const agent = await makeAgent(stack, []);
    const { body } = await stack.request('GET', `/agents/${agent.id}/revisions`);
    const [revision] = (body as { items: { id: string }[] }).items;
    const faults: string[] = [];
    for (const dark of [false, true]) {
      const { context, ...tab } = await world().signedIn('/agents', { dark });
      for (const [name, path] of [
        ['agents', '/agents'],
        ['agent', `/agents/${agent.id}`],
        ['agent-draft', `/agents/${agent.id}/draft`],
        ['agent-revision', `/agents/${agent.id}/revisions/${revision?.id}`],
      ] as const) {
        await tab.page.goto(world().home + path);
        await tab.page.locator('#content h1').waitFor();
        faults.push(...(await lookAtWidths(tab, name)));
      }
      await context.close();
    }

    expect(faults).toEqual([]);
  });
});

/** By the keyboard: the focus is put on it, and Enter pressed. */
async function press(place: Page | Locator, name: string): Promise<void> {
  await place.getByRole('button', { name, exact: true }).first().press('Enter');
}

async function follow(page: Page, name: string): Promise<void> {
  await page.getByRole('main').getByRole('link', { name, exact: true }).press('Enter');
}

async function type(place: Page | Locator, label: string, text: string): Promise<void> {
  await place.getByLabel(label, { exact: true }).focus();
  await place.getByLabel(label, { exact: true }).pressSequentially(text);
}
