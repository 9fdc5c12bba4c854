import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { row } from '../../db/sql.ts';
import { sweep } from '../../db/transaction.ts';
import { archiveFaults, pendingOf, questionsOf, resolve, runOf, untilRun } from '../support/approvals.ts';
import { checkRun, endOf, watchRun } from '../support/run-checks.ts';
import { makeAgent, scripted, startRun, writeTool, startScenario, type Scenario } from '../support/scenario.ts';
import { until } from '../support/temporal.ts';

let scenario: Scenario;
let effects: Scenario['effects'];
let stack: Scenario['stack'];

beforeAll(async () => {
  scenario = await startScenario();
  ({ effects, stack } = scenario);
});

beforeEach(() => {
  effects.onEffect = null;
});

afterAll(() => scenario?.stop());

const slugOf = (kind: string) => `${kind}-${crypto.randomUUID().slice(0, 8)}`;
const call = (name: string, args: object = { n: 1 }) => ({ tool_calls: [{ name, arguments: args }] });
const effectsOf = (slug: string) => effects.effects.filter((effect) => effect.path === `/${slug}`);
const resultsOf = async (runId: string) =>
  (await endOf(watchRun(stack, runId))).filter((frame) => frame.type === 'tool.result').map((frame) => frame.data);
const asks = { approvals: { write: 'ask' } };
const change = (sql: string, id: string) => sweep(stack.db, (em) => row(em, sql, [id]));

test('ask_user waits for input, takes only what it offers, and the answer is the result', async () => {
  const slug = slugOf('question');
  const agent = await makeAgent(stack, [{ slug, kind: 'builtin', description: 'Asks a person.', config: { name: 'ask_user' } }]);
  const run = await startRun(
    stack,
    agent.id,
    scripted({ steps: [call(slug, { question: 'Which colour?', options: ['red', 'blue'] }), { text: 'Blue it is.' }] }),
  );
  const [question] = await pendingOf(stack, run.id);
  const waiting = await runOf(stack, run.id);
  const answer = (response: unknown) =>
    stack.request('POST', `/runs/${run.id}/input`, { body: { kind: 'answer', approval_id: question?.id, response } });

  const unfit = await answer('green');
  const taken = await answer('blue');

  expect(question).toMatchObject({ reason: 'input_required', prompt: 'Which colour?', decisions: ['respond', 'reject'] });
  expect(question?.response_schema).toEqual({ type: 'string', enum: ['red', 'blue'] });
  expect(waiting).toMatchObject({ status: 'waiting', waiting_on: 'input' });
  expect(unfit).toMatchObject({ status: 422, body: { errors: [{ pointer: '/response' }] } });
  expect(taken.status).toBe(202);
  expect(await resultsOf(run.id)).toMatchObject([{ status: 'succeeded', output: 'blue', output_type: 'text' }]);
  expect(await archiveFaults(stack, run.id)).toEqual([]);
});

test('a call of the client is told with its deadline, never executed here, and times out', async () => {
  const slug = slugOf('client');
  const agent = await makeAgent(stack, [writeTool(slug, effects, { client_owned: true, timeout_s: 3 })]);
  const run = await startRun(stack, agent.id, scripted({ steps: [call(slug), { text: 'Nobody did it.' }] }));
  await untilRun(stack, run.id, (now) => now.waiting_on === 'client_tool');
  const waiting = await runOf(stack, run.id);

  const frames = await endOf(watchRun(stack, run.id));

  const executing = frames.find((frame) => frame.type === 'tool.call' && frame.data['phase'] === 'executing');
  expect(executing?.data).toMatchObject({ client_owned: true, deadline_at: waiting.waiting_until });
  expect(frames.find((frame) => frame.type === 'tool.result')?.data).toMatchObject({ status: 'timed_out', error: { code: 'timed_out' } });
  expect(frames.at(-1)?.data).toMatchObject({ status: 'succeeded' });
  expect(effectsOf(slug)).toHaveLength(0);
  expect(await archiveFaults(stack, run.id)).toEqual([]);
});

test('a gated call of the client goes to it once it is approved', async () => {
  const slug = slugOf('gated-client');
  const agent = await makeAgent(stack, [writeTool(slug, effects, { client_owned: true, timeout_s: 600 })], asks);
  const run = await startRun(stack, agent.id, scripted({ steps: [call(slug), { text: 'Done.' }] }));
  const [question] = await pendingOf(stack, run.id);

  const early = await stack.request('POST', `/runs/${run.id}/input`, {
    body: { kind: 'tool_results', results: [{ tool_call_id: question?.tool_call_id, status: 'succeeded', output: 1 }] },
  });
  const approved = await resolve(stack, run.id, [{ approval_id: question?.id, decision: 'approve' }]);
  const given = await stack.request('POST', `/runs/${run.id}/input`, {
    body: { kind: 'tool_results', results: [{ tool_call_id: question?.tool_call_id, status: 'succeeded', output: 'by the client' }] },
  });

  expect(early).toMatchObject({ status: 409, body: { context: { reason: 'not_awaited' } } });
  expect(approved).toMatchObject({ status: 200, body: { run: { status: 'waiting', waiting_on: 'client_tool' } } });
  expect(given.status).toBe(202);
  expect(await resultsOf(run.id)).toMatchObject([{ status: 'succeeded', output: 'by the client' }]);
  expect(await archiveFaults(stack, run.id)).toEqual([]);
});

test('unanswered approvals expire: the call is denied or the run fails, as the run says', async () => {
  const slug = slugOf('expiry');
  const agent = await makeAgent(stack, [writeTool(slug, effects)], asks);
  const start = async (onExpiry: string) => {
    const started = await stack.request('POST', '/runs', {
      body: {
        agent_id: agent.id,
        input: { text: scripted({ steps: [call(slug), { text: 'So be it.' }] }) },
        limits: { approval_ttl_s: 30, on_expiry: onExpiry },
      },
    });
    const { id }: { id: string } = started.body;
    const [question] = await pendingOf(stack, id);
    return { id, question };
  };
  const expectExpired = async ({ id, question }: Awaited<ReturnType<typeof start>>, end: object, result: string) => {
    await until(() => Date.now() > new Date(question?.expires_at ?? 0).getTime());
    const late = await resolve(stack, id, [{ approval_id: question?.id, decision: 'approve' }]);

    const frames = await endOf(watchRun(stack, id));

    expect(late).toMatchObject({ status: 409 });
    expect(['approval_expired', 'run_finished']).toContain(late.body['context']['reason']);
    expect(frames.find((frame) => frame.type === 'approval.resolved')?.data).toMatchObject({ decision: 'expired', resolved_by: null });
    expect(frames.find((frame) => frame.type === 'tool.result')?.data).toMatchObject({ status: result });
    expect(frames.at(-1)?.data).toMatchObject(end);
    expect(await archiveFaults(stack, id)).toEqual([]);
  };

  // Their times run at once.
  const [denied, failed] = await Promise.all([start('deny'), start('fail')]);
  await expectExpired(denied, { status: 'succeeded' }, 'denied');
  await expectExpired(failed, { status: 'failed', finish_reason: 'approval_expired' }, 'cancelled');

  expect(effectsOf(slug)).toHaveLength(0);
});

test('a run goes on while something of it is executed, and waits when only people are left', async () => {
  const [asked, free] = [slugOf('asked'), slugOf('free')];
  const agent = await makeAgent(stack, [writeTool(asked, effects, { critical: true }), writeTool(free, effects)]);
  let isHeld = true;
  effects.onEffect = () => until(() => !isHeld);
  const run = await startRun(
    stack,
    agent.id,
    scripted({ steps: [{ tool_calls: [asked, free].map((name) => ({ name, arguments: { n: 1 } })) }, { text: 'Done.' }] }),
  );
  await untilRun(stack, run.id, (now) => now.pending_approvals === 1 && effectsOf(free).length === 1);
  const beside = await runOf(stack, run.id);

  isHeld = false;
  const [question] = await pendingOf(stack, run.id);
  await resolve(stack, run.id, [{ approval_id: question?.id, decision: 'approve' }]);
  await endOf(watchRun(stack, run.id));

  expect(beside.status).toBe('running');
  expect(effectsOf(asked)).toHaveLength(1);
  expect((await checkRun(stack, run.id)).faults).toEqual([]);
});

test('critical calls whose worker was killed are put before people, who approve, reject or respond', async () => {
  const cases = [
    { decision: 'approve', count: 2, result: { status: 'succeeded' } },
    { decision: 'reject', count: 1, result: { status: 'failed', error: { code: 'outcome_unknown' } } },
    { decision: 'respond', response: 'it was done', count: 1, result: { status: 'succeeded', output: 'it was done' } },
  ].map((one) => ({ ...one, slug: slugOf('critical') }));
  const runs = await Promise.all(
    cases.map(async ({ slug }) => {
      const agent = await makeAgent(stack, [writeTool(slug, effects, { critical: true })]);
      const run = await startRun(stack, agent.id, scripted({ steps: [call(slug), { text: 'Noted.' }] }));
      const [question] = await pendingOf(stack, run.id);
      return { id: run.id, question };
    }),
  );
  let isKilled = false;
  // No call is answered while its worker lives.
  effects.onEffect = () => until(() => isKilled);
  for (const { id, question } of runs) await resolve(stack, id, [{ approval_id: question?.id, decision: 'approve' }]);
  await until(() => cases.every(({ slug }) => effectsOf(slug).length === 1));
  await stack.kill('worker-runs');
  [isKilled, effects.onEffect] = [true, null];
  await stack.start('worker-runs');

  for (const [n, { decision, response, count, result, slug }] of cases.entries()) {
    const id = runs[n]?.id ?? '';
    const [question] = await pendingOf(stack, id);
    await resolve(stack, id, [{ approval_id: question?.id, decision, ...(response === undefined ? {} : { response }) }]);
    const results = await resultsOf(id);

    expect(question).toMatchObject({ reason: 'confirmation', critical: true, decisions: ['approve', 'reject', 'respond'] });
    expect(results).toMatchObject([result]);
    expect(effectsOf(slug)).toHaveLength(count);
    expect(await archiveFaults(stack, id)).toEqual([]);
  }
});

test('everything is killed while two gates are open: the answers reach their calls, each runs once', async () => {
  const slug = slugOf('restart');
  const agent = await makeAgent(stack, [writeTool(slug, effects)], asks);
  const steps = [{ tool_calls: [1, 2].map((n) => ({ name: slug, arguments: { n } })) }, { text: 'Done.' }];
  const run = await startRun(stack, agent.id, scripted({ steps }));
  const pending = await pendingOf(stack, run.id, 2);

  await Promise.all([stack.kill('worker-runs'), stack.kill('api')]);
  await stack.start('api');
  const of = (n: number) => pending.find((one) => one.args?.['n'] === n)?.id;
  const answer = await resolve(stack, run.id, [
    { approval_id: of(2), decision: 'approve' },
    { approval_id: of(1), decision: 'reject' },
  ]);
  await stack.start('worker-runs');
  await endOf(watchRun(stack, run.id));

  expect(answer).toMatchObject({ status: 200, body: { applied: 2 } });
  expect(effectsOf(slug).map((effect) => JSON.parse(effect.body))).toEqual([{ n: 2 }]);
  expect((await checkRun(stack, run.id)).faults).toEqual([]);
});

test('inside an evaluation nobody is asked: a gate is rejected at once, any other wait cancels', async () => {
  const [free, asked, client] = [slugOf('free'), slugOf('asked'), slugOf('client')];
  const agent = await makeAgent(stack, [
    writeTool(free, effects),
    writeTool(asked, effects, { critical: true }),
    writeTool(client, effects, { client_owned: true }),
  ]);
  const steps = [call(free), call(asked), call(client), { text: 'Never.' }];
  let runId = '';
  effects.onEffect = async () => {
    await until(() => runId !== '');
    await change(`update runs set source = 'evaluation' where id = ?`, runId);
  };

  runId = (await startRun(stack, agent.id, scripted({ steps }))).id;
  const results = await resultsOf(runId);

  expect(results.map((result) => result['status'])).toEqual(['succeeded', 'denied', 'cancelled']);
  expect(await questionsOf(stack, runId)).toMatchObject([{ status: 'rejected', resolved_by: { kind: 'system' } }]);
  expect(await runOf(stack, runId)).toMatchObject({ status: 'cancelled' });
  expect(effectsOf(asked)).toHaveLength(0);
  expect(await archiveFaults(stack, runId)).toEqual([]);
});
