import { describe, expect, test } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { writeTool } from '../support/scenario.ts';
import { consoleStack } from './support/on-stack.ts';
import { reasonToSkip } from './support/stage.ts';
import { press, untilLoaded } from './support/gestures.ts';

const reason = await reasonToSkip();
if (reason !== null) process.stdout.write(`tests of the console's tools are skipped: ${reason}\n`);

(reason === null ? describe : describe.skip)('tools, toolkits and skills in the console', () => {
  const on = consoleStack();

  async function made(path: string, body: object): Promise<{ id: string }> {
    const answer = await on().stack.request('POST', path, { body, credential: on().stack.tenant.tokens.admin });
    if (answer.status !== 201) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body as { id: string };
  }

  async function read(path: string) {
    return (await on().stack.request('GET', path)).body as Record<string, unknown>;
  }

  const newSkill = () => made('/skills', { slug: newSlug('skill'), description: 'How to greet.', instructions: 'Say hello.' });

  /** An OpenAPI toolkit whose first revision, with two tools, is active. */
  async function newToolkit(): Promise<{ id: string; slug: string }> {
    const slug = newSlug('kit').replaceAll('-', '_');
    const config = { base_url: 'https://api.example.com/v1/' };
    const { id } = await made('/toolkits', { slug, name: slug, kind: 'openapi', config });
    const document = orders({ '/orders': { get: ['listOrders', 'List orders'], post: ['makeOrder', 'Make an order'] } });
    const revision = await made(`/toolkits/${id}/revisions`, { source: { type: 'openapi', document } });
    const { status } = await on().stack.request('POST', `/toolkits/${id}/revisions/${revision.id}/activate`, {
      body: { approve: 'all' },
      credential: on().stack.tenant.tokens.admin,
    });
    expect(status).toBe(200);
    return { id, slug };
  }

  test('a tool is created, found by its filters, given a secret that stays secret, and called once', async () => {
    const { effects } = on();
    const slug = newSlug('order');
    const secret = `value-${crypto.randomUUID()}`;
    const { config, input_schema } = writeTool(slug, effects);
    const { page, context } = await on().signedIn('/tools?kind=http&effect=write');
    await press(page, 'Create a tool…');
    const form = page.getByRole('dialog');
    await form.getByLabel(/^Slug/).fill(slug);
    await form.getByLabel(/^Description/).fill('Orders something.');
    await form
      .getByLabel('Configuration (JSON)')
      .fill(JSON.stringify({ ...(config as object), headers: { authorization: 'Bearer {{ secrets.api_key }}' } }));
    await form.getByLabel('Input schema (JSON)').fill(JSON.stringify(input_schema));
    await form.getByLabel(/^Names of secrets/).fill('api_key');
    await press(form, 'Create');
    await page.getByRole('link', { name: slug }).click();

    await press(page, 'Set api_key…');
    const field = page.getByRole('dialog').getByLabel('Value');
    expect(await field.getAttribute('type')).toBe('password');
    await field.fill(secret);
    const typed = await storageOf(page);
    await press(page.getByRole('dialog'), 'Save');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByLabel('Arguments (JSON)').fill('{"n": 3}');
    await press(page, 'Run the test');
    await page.getByText(/^Succeeded/).waitFor();
    expect(effects.effects.filter(({ path }) => path === `/${slug}`)).toEqual([]);
    await page.getByText('Only show the request, send nothing').click();
    await press(page, 'Run the test');
    await page.getByRole('heading', { name: 'Test' }).waitFor();
    await page
      .getByText(/"?done"?/)
      .first()
      .waitFor();
    const shown = await page.content();
    await page.reload();
    await page.getByRole('button', { name: 'Set api_key…' }).waitFor();

    expect(effects.effects.filter(({ path }) => path === `/${slug}`)).toMatchObject([{ body: '{"n":3}' }]);
    expect(typed + shown + (await page.content()) + (await storageOf(page))).not.toContain(secret);
    const { items } = (await read(`/tools?q=${slug}`)) as { items: object[] };
    expect(items).toMatchObject([{ slug, kind: 'http', effect: 'write', secrets_required: ['api_key'] }]);
    await context.close();
  });

  test('a tool is renamed in its form; what is done next has the version that the form left', async () => {
    const tool = await made('/tools', writeTool(newSlug('named'), on().effects));
    const { page, context } = await on().signedIn(`/tools/${tool.id}`);
    const statuses: number[] = [];
    page.on('response', (answer) => {
      if (answer.request().method() === 'PATCH') statuses.push(answer.status());
    });
    for (const name of ['Shown name', 'Other name']) {
      await page.getByLabel('Name', { exact: true }).fill(name);
      await press(page, 'Save');
      await page.getByRole('heading', { name, exact: true }).waitFor();
    }

    expect(statuses).toEqual([200, 200]);
    expect(await read(`/tools/${tool.id}`)).toMatchObject({ display_name: 'Other name' });
    await context.close();
  });

  test('a skill is written in the browser and curated', async () => {
    const slug = newSlug('written');
    const { page, context } = await on().signedIn('/skills');
    await press(page, 'Create a skill…');
    const form = page.getByRole('dialog');
    await form.getByLabel(/^Slug/).fill(slug);
    await form.getByLabel(/^Description/).fill('How to greet.');
    await form.getByLabel('Instructions', { exact: true }).fill('Say hello.');
    await press(form, 'Create');
    await page.getByRole('link', { name: slug }).click();
    await press(page, 'Curate…');
    await press(page.getByRole('dialog'), 'Curate version 1');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.locator('dd').getByText('reviewed', { exact: true }).waitFor();

    const { items } = (await read(`/skills?q=${slug}`)) as { items: object[] };
    expect(items).toMatchObject([{ slug, instructions: 'Say hello.', curation_state: 'reviewed', version: 1 }]);
    await context.close();
  });

  test('a changed document of a toolkit is shown tool by tool, activated, and rolled back', async () => {
    const { id } = await newToolkit();
    const { page, context } = await on().signedIn(`/toolkits/${id}`);
    await press(page, 'Add a revision…');
    const next = { '/orders': { get: ['listOrders', 'List all orders'] }, '/stock': { get: ['readStock', 'Read the stock'] } } as const;
    await page
      .getByRole('dialog')
      .getByLabel(/^OpenAPI document/)
      .fill(orders(next));
    await press(page.getByRole('dialog'), 'Save');
    const second = page.getByRole('region', { name: 'Revision 2', exact: true });
    await second.getByRole('table').waitFor();
    const changes = await second.getByRole('row').allTextContents();
    const before = await read(`/toolkits/${id}`);
    await activate(second, page, 'Activate…');
    await second.getByText('active', { exact: false }).first().waitFor();
    const after = await read(`/toolkits/${id}`);
    const first = page.getByRole('region', { name: 'Revision 1', exact: true });
    await activate(first, page, 'Roll back to it…');

    for (const [name, change] of [
      ['listOrders', 'changed'],
      ['makeOrder', 'removed'],
      ['readStock', 'added'],
    ] as const)
      expect(changes).toContainEqual(expect.stringMatching(new RegExp(`${name}.*${change}`)));
    expect(after['active_revision_id']).not.toBe(before['active_revision_id']);
    expect(await read(`/toolkits/${id}`)).toMatchObject({ active_revision_id: before['active_revision_id'], quarantined_count: 0 });
    await context.close();
  });

  test('two people edit one skill: what one side has changed merges, the rest is chosen; it is then curated', async () => {
    const { id } = await newSkill();
    const theirs = await on().signedIn(`/skills/${id}`);
    const { page, context } = await on().signedIn(`/skills/${id}`);
    const statuses: number[] = [];
    page.on('response', (answer) => {
      if (answer.request().method() === 'PATCH') statuses.push(answer.status());
    });
    await page.getByLabel('Instructions', { exact: true }).fill('Say hello, mine.');
    await theirs.page.getByLabel('Instructions', { exact: true }).fill('Say hello, theirs.');
    await theirs.page.getByLabel(/^Description/).fill('Theirs too.');
    await press(theirs.page, 'Save');
    await theirs.page.getByText('Saved.').waitFor();

    await press(page, 'Save');
    const conflict = page.getByRole('region', { name: 'Instructions' });
    await conflict.waitFor();
    const sides = await conflict.locator('dd').allTextContents();
    await press(conflict, 'Keep yours');
    await press(page, 'Save');
    await page.getByText('Saved.').waitFor();
    const merged = await read(`/skills/${id}`);
    await press(page, 'Curate…');
    await press(page.getByRole('dialog'), `Curate version ${String(merged['version'])}`);
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByText('reviewed', { exact: true }).waitFor();

    expect(sides).toEqual(['Say hello.', 'Say hello, theirs.', 'Say hello, mine.']);
    expect(statuses).toEqual([412, 200]);
    expect(merged).toMatchObject({ instructions: 'Say hello, mine.', description: 'Theirs too.' });
    expect(await read(`/skills/${id}`)).toMatchObject({ curation_state: 'reviewed' });
    await Promise.all([context.close(), theirs.context.close()]);
  });

  test('a skill that is imported twice is refused the second time, then becomes a version, and is deleted', async () => {
    const slug = newSlug('imported');
    const bundle = `---\nname: ${slug}\ndescription: How to part.\n---\nSay goodbye.\n`;
    const { page, context } = await on().signedIn('/skills');
    await importSkill(page, bundle);
    await page.getByRole('link', { name: slug }).waitFor();
    await importSkill(page, bundle.replace('goodbye', 'farewell'));
    await page.getByRole('dialog').getByRole('alert').first().waitFor();
    await page.getByRole('dialog').getByText('If there is one of this name, make a new version of it').click();
    await press(page.getByRole('dialog'), 'Import');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    const { items } = (await read(`/skills?q=${slug}`)) as { items: { id: string }[] };
    await page.getByRole('link', { name: slug }).click();
    await press(page, 'Delete…');
    await press(page.getByRole('alertdialog').or(page.getByRole('dialog')), 'Delete the skill');
    await page.getByRole('heading', { name: 'Skills' }).waitFor();

    expect(items).toMatchObject([{ slug, origin: 'import', version: 2 }]);
    expect((await on().stack.request('GET', `/skills/${items[0]?.id}`)).status).toBe(404);
    await context.close();
  });

  test('a viewer sees tools, toolkits and skills, and nothing to change them with', async () => {
    const { stack, effects, home } = on();
    const tool = await made('/tools', { ...writeTool(newSlug('seen'), effects), secrets_required: ['api_key'] });
    const [toolkit, skill] = [await newToolkit(), await newSkill()];
    const { page, context } = await on().signedIn('/tools', { user: stack.tenant.users.viewer });
    const controls = [];
    for (const path of ['/tools', `/tools/${tool.id}`, '/toolkits', `/toolkits/${toolkit.id}`, '/skills', `/skills/${skill.id}`]) {
      await page.goto(home + path);
      await untilLoaded(page);
      controls.push(
        ...(await page
          .getByRole('main')
          .getByRole('button', { name: /…$|^Save|^Run|^Sync/ })
          .allTextContents()),
      );
    }

    expect(controls).toEqual([]);
    await context.close();
  });

  test('each view fits, is accessible and breaks no policy, light and dark', async () => {
    const { effects, home } = on();
    const tool = await made('/tools', { ...writeTool(newSlug('look'), effects), secrets_required: ['api_key'] });
    const [toolkit, skill] = [await newToolkit(), await newSkill()];
    const one = { tools: tool.id, toolkits: toolkit.id, skills: skill.id };

    const faults = await on().looks('/tools', async (page, look) => {
      for (const [area, id] of Object.entries(one))
        for (const [name, path] of [
          [area, `/${area}`],
          [`${area}-one`, `/${area}/${id}`],
        ] as const) {
          await page.goto(home + path);
          await untilLoaded(page);
          await look(name);
        }
    });

    expect(faults).toEqual([]);
  });
});

const newSlug = (prefix: string) => `${prefix}-${crypto.randomUUID().slice(0, 8)}`;

/** An OpenAPI document: by path and method, the name of the operation and what it does. */
function orders(paths: Readonly<Record<string, Readonly<Record<string, readonly [string, string]>>>>): string {
  const described = Object.entries(paths).map(([path, methods]) => [
    path,
    Object.fromEntries(Object.entries(methods).map(([method, [operationId, summary]]) => [method, { operationId, summary }])),
  ]);
  return JSON.stringify({ openapi: '3.1.0', info: { title: 'Orders', version: '1' }, paths: Object.fromEntries(described) });
}

async function activate(revision: Locator, page: Page, label: string): Promise<void> {
  await press(revision, label);
  await press(page.getByRole('dialog'), 'Activate');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
}

async function importSkill(page: Page, markdown: string): Promise<void> {
  await press(page, 'Import…');
  await page.getByRole('dialog').getByLabel('SKILL.md').fill(markdown);
  await press(page.getByRole('dialog'), 'Import');
}

function storageOf(page: Page): Promise<string> {
  return page.evaluate(() => JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage)]));
}
