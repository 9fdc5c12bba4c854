import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { makeAgent, scripted } from '../support/scenario.ts';
import { until } from '../support/temporal.ts';
import { consoleStack } from './support/on-stack.ts';
import { untilEnded } from './support/run-view.ts';
import { reasonToSkip } from './support/stage.ts';
import { choose, press, untilLoaded } from './support/gestures.ts';

const reason = await reasonToSkip();
if (reason !== null) process.stdout.write(`tests of the console's knowledge are skipped: ${reason}\n`);

const pdf = join(import.meta.dirname, '../fixtures/knowledge/pdf/reportlab-three-pages.pdf');
const question = 'How are spare parts ordered?';

(reason === null ? describe : describe.skip)('knowledge in the console', () => {
  const on = consoleStack({ processes: ['api', 'worker-runs', 'worker-bulk'] });

  async function made(path: string, body: object): Promise<{ id: string }> {
    const answer = await on().stack.request('POST', path, { body });
    if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body as { id: string };
  }

  async function read(path: string) {
    return (await on().stack.request('GET', path)).body as Record<string, unknown>;
  }

  const newBase = () => made('/knowledge-bases', { slug: newSlug('base'), name: 'Base', scope: 'workspace', embedding_model: 'hash-v1' });

  test('a base gets a PDF, is searched, and an agent cites it in a run', async () => {
    const slug = newSlug('manuals');
    const { page, context } = await on().signedIn('/knowledge');
    await press(page, 'New knowledge base…');
    const form = page.getByRole('dialog');
    await form.getByLabel('Name').fill('Manuals');
    await form.getByLabel(/^Slug/).fill(slug);
    await press(form, 'Create');
    await page.getByRole('heading', { level: 1, name: 'Manuals' }).waitFor();
    const kbId = page.url().split('/').at(-1) ?? '';
    await page.locator('input[type="file"]').setInputFiles(pdf);
    const sources = page.getByRole('table', { name: 'Sources' });
    await sources.locator('[data-status="ready"]').waitFor();
    await page.getByLabel('Question').fill(question);
    await press(page, 'Search');
    const hit = page.getByRole('table', { name: 'Try a search' }).getByRole('row', { name: /spare parts by phone/i });
    await hit.first().waitFor();
    const cells = await hit.first().getByRole('cell').allTextContents();
    const agent = await makeAgent(on().stack, [], { model: 'builtin/extractive', knowledge: [{ slug }] });
    const run = await made('/runs', { agent_id: agent.id, input: { text: question } });
    await page.goto(`${on().home}/runs/${run.id}`);
    await untilEnded(page);
    const citation = page.getByRole('region', { name: 'citation' });
    await citation.first().waitFor();
    const cited = JSON.parse((await citation.first().textContent()) ?? '') as Record<string, unknown>;

    const { items } = (await read(`/knowledge-bases/${kbId}/items`)) as { items: { id: string }[] };
    expect(items).toMatchObject([{ origin: 'import', chunk_count: expect.any(Number) }]);
    expect(cells.slice(2)).toEqual([expect.stringMatching(/^\d\.\d+$/), expect.stringMatching(/\(#1\)$/), expect.stringMatching(/^–$|#/)]);
    expect(cited).toMatchObject({ type: 'citation', item_id: items[0]?.id, quote: expect.stringContaining('spare parts by phone') });
    await context.close();
  });

  test('a curator marks one item of the queue as reviewed and retires another', async () => {
    const base = await newBase();
    const [kept, retired] = [
      await made(`/knowledge-bases/${base.id}/items`, { title: 'Kept', content: 'Pump 7 is blue.', curation_state: 'pending' }),
      await made(`/knowledge-bases/${base.id}/items`, { title: 'Wrong', content: 'Pump 8 is red.', curation_state: 'pending' }),
    ];
    const { page, context } = await on().signedIn(`/knowledge/${base.id}`);
    const queue = page.getByRole('table', { name: 'Curation queue' });
    await press(queue.getByRole('row', { name: /Kept/ }), 'Mark as reviewed');
    await queue.getByRole('row', { name: /Kept/ }).waitFor({ state: 'detached' });
    await press(queue.getByRole('row', { name: /Wrong/ }), 'Retire');
    await queue.waitFor({ state: 'detached' });

    expect(await read(`/knowledge-items/${kept.id}`)).toMatchObject({ curation_state: 'reviewed' });
    expect(await read(`/knowledge-items/${retired.id}`)).toMatchObject({ curation_state: 'retired' });
    await context.close();
  });

  test('an evaluation is started against a baseline, compared with it, and each item leads to its run', async () => {
    const baseline = await evaluated();
    const before = await read(`/evaluations/${baseline.id}`);
    const agent = await read(`/agents/${String(before['agent_id'])}`);
    const { page, context } = await on().signedIn('/evaluations');
    await page.getByRole('link', { name: String(before['dataset_name']) }).waitFor();
    await press(page, 'New evaluation…');
    const form = page.getByRole('dialog');
    await form.getByLabel('Name of the dataset').fill('Second');
    await choose(form, 'Agent', new RegExp(String(agent['slug'])));
    await form.getByLabel('Items (JSON)').fill(JSON.stringify(greetings));
    await form.getByLabel('Evaluators (JSON)').fill(JSON.stringify(contains));
    await choose(form, 'Baseline', new RegExp(String(before['dataset_name'])));
    await press(form, 'Start');
    await page.getByRole('heading', { level: 1, name: 'Second' }).waitFor();
    const id = page.url().split('/').at(-1) ?? '';
    const comparison = page.getByRole('region', { name: 'Compared with the baseline' });
    await comparison.waitFor();
    const evaluators = await page.getByRole('table', { name: 'Evaluators' }).getByRole('row').allTextContents();
    await page.getByRole('link', { name: 'Open the run' }).click();
    await untilEnded(page);

    const now = (await read(`/evaluations/${id}`)) as { results: { run_id: string }[] };
    expect(now).toMatchObject({ status: 'succeeded', summary: { pass_rate: 1, baseline: { evaluation_run_id: baseline.id } } });
    expect(evaluators[1]).toContain('100.0 %');
    expect(page.url()).toContain(`/runs/${now.results[0]?.run_id}`);
    await context.close();
  });

  test('a viewer sees bases and evaluations, and nothing to change them with', async () => {
    const { stack, home } = on();
    const { base, evaluation } = await shown();
    const { page, context } = await on().signedIn('/knowledge', { user: stack.tenant.users.viewer });
    const controls = [];
    for (const path of ['/knowledge', `/knowledge/${base.id}`, '/evaluations', `/evaluations/${evaluation.id}`]) {
      await page.goto(home + path);
      await untilLoaded(page);
      controls.push(
        ...(await page
          .getByRole('main')
          .getByRole('button', { name: /…$|^Sync|^Mark|^Retire/ })
          .allTextContents()),
      );
    }

    expect(controls).toEqual([]);
    await context.close();
  });

  test('each view fits, is accessible and breaks no policy, light and dark', async () => {
    const { base, evaluation } = await shown();

    const faults = await on().looks('/knowledge', async (page, look) => {
      for (const [name, path] of [
        ['knowledge', '/knowledge'],
        ['knowledge-base', `/knowledge/${base.id}`],
        ['evaluations', '/evaluations'],
        ['evaluation', `/evaluations/${evaluation.id}`],
      ] as const) {
        await page.goto(on().home + path);
        await untilLoaded(page);
        await look(name);
      }
    });

    expect(faults).toEqual([]);
  });

  /** A base with a source and a waiting item, and an evaluation that has ended. */
  async function shown() {
    const base = await newBase();
    await made(`/knowledge-bases/${base.id}/sources`, { text: 'Cranes lift.', title: 'Cranes' });
    await made(`/knowledge-bases/${base.id}/items`, { content: 'Pump 7 is blue.', curation_state: 'pending' });
    const evaluation = await evaluated();
    return { base, evaluation };
  }

  /** An evaluation of an agent that says hello, which has ended. */
  async function evaluated(): Promise<{ id: string }> {
    const agent = await makeAgent(on().stack, []);
    const evaluation = await made('/evaluations', {
      agent_id: agent.id,
      dataset_name: newSlug('greetings'),
      dataset: { items: greetings },
      evaluators: contains,
    });
    await untilFinal(evaluation.id);
    return evaluation;
  }

  const untilFinal = (id: string) => until(async () => (await read(`/evaluations/${id}`))['status'] === 'succeeded');
});

const contains = [{ key: 'has', type: 'contains' }];
const greetings = [{ id: 'hello', input: scripted({ steps: [{ text: 'Well, hello.' }] }, 'Greet.'), expected: 'hello', tags: ['polite'] }];

const newSlug = (prefix: string) => `${prefix}-${crypto.randomUUID().slice(0, 8)}`;
