import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { newId } from '../../db/ids.ts';
import { makeAgent } from '../support/scenario.ts';
import { startEffects, type EffectServer } from './effects.ts';
import { until } from '../support/temporal.ts';
import { exact, items, judgement, makeEchoAgent, openEvaluations, said, type EvaluationWorld } from './evaluation-world.ts';

let world: EvaluationWorld;
let effects: EffectServer;
let agentId: string;

beforeAll(async () => {
  effects = await startEffects();
  world = await openEvaluations(['api', 'worker-runs', 'worker-bulk'], { egressPorts: [effects.port] });
  agentId = await makeEchoAgent(world);
});
beforeEach(() => {
  world.answers = said;
  world.judges = null;
});
afterAll(async () => {
  await world?.stop();
  await effects?.close();
});

const cancel = (id: string) => world.stack.request('POST', '/runs/cancel', { body: { filter: { evaluation_run_id: id } } });
/** Makes and activates a revision of the agent; gives its id. */
async function activateAnother(instructions: string): Promise<string> {
  const { request } = world.stack;
  const made = await request('POST', `/agents/${agentId}/revisions`, { body: { document: { instructions } } });
  const etag = (await request('GET', `/agents/${agentId}`)).headers.get('etag') ?? '';
  const { id } = made.body as { id: string };
  const activated = await request('POST', `/agents/${agentId}/revisions/${id}/activate`, { headers: { 'if-match': etag } });
  expect([made.status, activated.status]).toEqual([201, 200]);
  return id;
}

const countBy = (done: { results: { status: string }[] }) =>
  Object.fromEntries([...Map.groupBy(done.results, ({ status }) => status)].map(([status, all]) => [status, all.length]));

test('a cancelled evaluation ends its runs, keeps the scores so far and skips the rest; again it is already finished', async () => {
  world.answers = (text) => (text.includes('slow') ? { ...said(text), first_token_ms: 600_000 } : said(text));
  const list = [...items(3), ...Array.from({ length: 12 }, (_, at) => ({ id: `s${at}`, input: `slow say ${at}`, expected: 'x' }))];
  const id = await world.create(agentId, { dataset: { items: list }, evaluators: [exact] });
  await until(async () => (await world.read(id)).results.filter(({ status }: { status: string }) => status === 'passed').length === 3);

  const first = await cancel(id);
  const done = await world.ended(id);
  const live = await world.sql('select 1 from runs where evaluation_run_id = ? and finished_at is null', [id]);
  const again = await cancel(id);

  expect(first).toMatchObject({ status: 202, body: { matched: expect.any(Number), already_finished: 0 } });
  expect(done).toMatchObject({ status: 'cancelled', summary: { failure: null, pass_rate: 1, completed: 15, skipped: 12 } });
  expect(countBy(done)).toEqual({ passed: 3, skipped: 12 });
  expect(live).toEqual([]);
  expect(again).toMatchObject({ status: 202, body: { matched: 1, cancelled: 0, cancelling: 0, already_finished: 1 } });
  expect((await world.read(id)).status).toBe('cancelled');
});

test('max_cost bounds runs and judges together: failed budget_exceeded, the rest skipped, nothing beyond it', async () => {
  await world.sql(
    `insert into model_prices (id, model, tier, bucket, unit, price, currency, effective_from)
     values (?, 'compatible/m', 'standard', 'input', '1m_tokens', 1000, 'USD', now() - interval '1 minute'),
            (?, 'compatible/m', 'standard', 'output', '1m_tokens', 1000, 'USD', now() - interval '1 minute')`,
    [newId(), newId()],
  );
  const priced = await makeEchoAgent(world, { model: 'compatible/m', limits: { max_output_tokens: 20 } });
  world.judges = () => judgement({ reasoning: 'Fine.', score: 5 });
  const judge = { key: 'j', type: 'llm_judge', params: { rubric: 'Fine?' } };
  const id = await world.create(priced, { dataset: { items: items(40) }, evaluators: [exact, judge], max_cost: '3', concurrency: 3 });

  const done = await world.ended(id);
  const [spent] = await world.sql<{ spent: string; closed: boolean }>(
    'select spent::text as spent, closed_at is not null as closed from budget_windows where cap_key = ?',
    [`eval:${id}`],
  );

  expect(done).toMatchObject({ status: 'failed', summary: { failure: { code: 'budget_exceeded' } } });
  expect(done.summary.skipped).toBeGreaterThan(0);
  expect(Number(spent?.spent)).toBeLessThanOrEqual(3);
  expect(Number(done.summary.cost.total)).toBeLessThanOrEqual(3);
  expect(Number(done.summary.cost.total)).toBeGreaterThan(0);
  expect(spent?.closed).toBe(true);
  await world.sql("delete from model_prices where model = 'compatible/m'");
});

test('tools that write have no effect in read_only; the calls that were asked for count; the four modes score as documented', async () => {
  const slug = `write-${newId().slice(-8)}`;
  const read = `read-${newId().slice(-8)}`;
  const tool = (name: string, effect: string) => ({
    slug: name,
    kind: 'http',
    description: name,
    effect,
    config: { method: effect === 'read' ? 'GET' : 'POST', url: `${effects.url}/${name}` },
  });
  const agent = await makeAgent(world.stack, [tool(slug, 'write'), tool(read, 'read')], { instructions: 'Do it.' });
  let turn = 0;
  world.answers = () => {
    turn += 1;
    if (turn === 1) return { tool_calls: [{ name: read, arguments: {} }] };
    if (turn === 2) return { tool_calls: [{ name: slug, arguments: {} }] };
    return { text: 'done' };
  };
  const call = (name: string) => ({ tool: name });
  const trajectory = (key: string, mode: string, more: object = {}) => ({
    key,
    type: 'tool_trajectory',
    threshold: 0,
    params: { mode, arguments: 'ignore', ...more },
  });
  const evaluators = [
    trajectory('exact', 'exact'),
    trajectory('in_order', 'in_order'),
    trajectory('any_order', 'any_order'),
    trajectory('subset', 'subset'),
    trajectory('forbidden', 'in_order', { forbidden: [slug] }),
    trajectory('few', 'in_order', { max_calls: 1 }),
  ];
  const list = [{ input: 'go', tools_expected: [call(slug)] }];

  const done = await world.ended(await world.create(agent.id, { dataset: { items: list }, evaluators }));

  const scores = Object.fromEntries(done.results[0].scores.map(({ key, score }: { key: string; score: number }) => [key, score]));
  expect(scores).toEqual({ exact: 0, in_order: 1, any_order: 1, subset: 0.5, forbidden: 0, few: 0 });
  // The one that reads was made, so the other could have been.
  expect(effects.paths.filter((path) => path.includes(slug) || path.includes(read))).toEqual([`GET /${read}`]);
});

test('a run that waits for somebody fails with reason waited; one that is cancelled from outside is in error', async () => {
  const client = `ask-${newId().slice(-8)}`;
  const agent = await makeAgent(world.stack, [{ slug: client, kind: 'http', description: 'x', client_owned: true }], {
    instructions: 'Do it.',
  });
  world.answers = (text) =>
    text.includes('wait') ? { tool_calls: [{ name: client, arguments: {} }] } : { text: 'x', first_token_ms: 600_000 };
  const list = [
    { id: 'w', input: 'wait' },
    { id: 'c', input: 'long' },
  ];
  const any = { key: 'any', type: 'turns', params: { max: 9 } };
  const id = await world.create(agent.id, { dataset: { items: list }, evaluators: [any], max_error_rate: 1, tool_mode: 'live' });
  let runId: string | undefined;
  await until(async () => {
    const { results } = await world.read(id);
    const run = results.find(({ item_id: item }: { item_id: string }) => item === 'c')?.run_id;
    runId = run ?? undefined;
    return runId !== undefined && (await world.sql("select 1 from runs where id = ? and status = 'running'", [runId])).length === 1;
  });

  await world.stack.request('POST', `/runs/${runId}/cancel`, { body: {} });
  const done = await world.ended(id);

  const result = (key: string) => done.results.find(({ item_id: item }: { item_id: string }) => item === key);
  expect(result('w')).toMatchObject({ status: 'failed', score: 0, reason: 'waited' });
  expect(result('c')).toMatchObject({ status: 'error', reason: 'cancelled' });
});

test('messages of an item stand before its last one; a revision that is activated meanwhile changes nothing of what is running', async () => {
  world.answers = (text) => ({ text, first_token_ms: 1_500 });
  const conversation = [
    { role: 'user', content: 'My name is Ada.' },
    { role: 'assistant', content: 'Hello Ada.' },
    { role: 'user', content: 'What is my name?' },
  ];
  const list = [
    { id: 'talk', input: conversation, expected: 'What is my name?' },
    { id: 'json', input: { city: 'Bern' } },
  ];
  const any = { key: 'any', type: 'turns', params: { max: 9 } };
  const id = await world.create(agentId, { dataset: { items: list }, evaluators: [any], concurrency: 1 });
  const activated = await activateAnother('Something else.');
  const before = await world.read(id);

  const done = await world.ended(id);
  const asked = world.models
    .calls()
    .map(({ body }) => JSON.stringify(body))
    .find((body) => body.includes('What is my name?'));
  const revisions = await world.sql<{ id: string }>('select distinct agent_revision_id as id from runs where evaluation_run_id = ?', [id]);

  expect(done).toMatchObject({ status: 'succeeded', summary: { pass_rate: 1 } });
  expect(asked).toContain('My name is Ada.');
  expect(asked).toContain('Hello Ada.');
  expect(revisions).toEqual([{ id: done.agent_revision_id }]);
  expect(before.finished_at).toBe(null);
  expect(activated).not.toBe(done.agent_revision_id);
});

test('an agent that is switched off midway ends it: failed agent_inactive, what has not started is skipped', async () => {
  const agent = await makeEchoAgent(world);
  world.answers = (text) => ({ ...said(text), first_token_ms: 3_000 });
  const id = await world.create(agent, { dataset: { items: items(12) }, evaluators: [exact], concurrency: 2 });
  await until(async () => (await world.read(id)).results.some(({ status }: { status: string }) => status === 'running'));

  expect((await world.stack.request('PATCH', `/agents/${agent}`, { body: { is_active: false } })).status).toBe(200);
  const done = await world.ended(id);

  expect(done).toMatchObject({ status: 'failed', summary: { failure: { code: 'agent_inactive' } } });
  expect(done.summary.skipped).toBeGreaterThan(0);
});

test('(a+)+$ over 5,000 characters has its score, and so have schemas, differences, numbers and vectors', async () => {
  world.answers = (text) => ({ text: text.includes('aaa') ? `${'a'.repeat(5_000)}!` : '{"n": 5, "list": [1, 2]}' });
  const of = async (item: object, evaluator: object) => {
    const done = await world.ended(await world.create(agentId, { dataset: { items: [item] }, evaluators: [{ key: 'k', ...evaluator }] }));
    const [{ state, score, error }] = done.results[0].scores;
    return { state, score, error };
  };
  const scored = (score: number) => ({ state: 'done', score, error: null });
  const json = { input: 'json', expected: { n: 5, list: [1, 3] } };

  expect(await of({ input: 'aaa' }, { type: 'regex', params: { pattern: '(a+)+$' } })).toEqual(scored(0));
  expect(await of({ input: 'aaa' }, { type: 'regex', params: { pattern: '^A+!$', flags: 'i' } })).toEqual(scored(1));
  expect(await of(json, { type: 'json_schema', params: { schema: { type: 'object', properties: { n: { minimum: 6 } } } } })).toEqual(
    scored(0),
  );
  expect(await of(json, { type: 'json_schema', params: { schema: { type: 'object', required: ['n'] } } })).toEqual(scored(1));
  expect(await of(json, { type: 'json_diff' })).toEqual(scored(0.666667));
  expect(await of(json, { type: 'numeric_diff', params: { pointer: '/n' }, negate: true, threshold: 0 })).toEqual(scored(0));
  expect((await of(json, { type: 'embedding_similarity', threshold: 0.2, params: { model: 'hash-v1' } })).state).toBe('done');
});
