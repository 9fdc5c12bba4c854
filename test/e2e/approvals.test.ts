import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { archiveFaults, pendingOf, questionsOf, resolve, runOf } from '../support/approvals.ts';
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
const call = (name: string, n = 1) => ({ tool_calls: [{ name, arguments: { n } }] });
const effectsOf = (slug: string) => effects.effects.filter((effect) => effect.path === `/${slug}`);
const resultsOf = async (runId: string) =>
  (await endOf(watchRun(stack, runId))).filter((frame) => frame.type === 'tool.result').map((frame) => frame.data);

/** An agent whose writes are asked about, and its one tool. */
async function askingAgent(more: Record<string, unknown> = {}, document: Record<string, unknown> = { approvals: { write: 'ask' } }) {
  const slug = slugOf('ask');
  const agent = await makeAgent(stack, [writeTool(slug, effects, more)], document);
  return { slug, ...agent };
}

/** Starts a run of the agent's one tool and gives its question. */
async function waitingRun(agentId: string, slug: string, steps: readonly object[] = [call(slug), { text: 'So be it.' }]) {
  const run = await startRun(stack, agentId, scripted({ steps: steps as never })); // made of the script's own steps
  const [question] = await pendingOf(stack, run.id);
  if (!question) throw new Error('nothing is pending');
  return { run, question };
}

test('a gated call waits, is listed whole, is approved and runs once', async () => {
  const { id, slug } = await askingAgent();

  const { run, question } = await waitingRun(id, slug, [call(slug, 7), { text: 'Done.' }]);
  const watcher = watchRun(stack, run.id);
  await until(() => watcher.frames.some((frame) => frame.data['waiting_on'] === 'approval'));
  watcher.stop(); // leaving at the pause changes nothing
  const waiting = await runOf(stack, run.id);
  const answer = await resolve(stack, run.id, [{ approval_id: question.id, decision: 'approve', args_hash: question.args_hash }]);
  await endOf(watchRun(stack, run.id));
  const { run: ended, frames, faults } = await checkRun(stack, run.id);

  expect(waiting).toMatchObject({ status: 'waiting', waiting_on: 'approval', waiting_until: question.expires_at, pending_approvals: 1 });
  expect(question).toMatchObject({ reason: 'tool_call', tool_slug: slug, args: { n: 7 }, approver_floor: 'member', critical: false });
  expect(answer).toMatchObject({ status: 200, body: { applied: 1, unchanged: 0, run: { status: 'running', pending_approvals: 0 } } });
  expect(ended.status).toBe('succeeded');
  expect(effectsOf(slug)).toHaveLength(1);
  expect(faults).toEqual([]);
  // The frame alone suffices to decide.
  expect(frames.find((frame) => frame.type === 'approval.requested')?.data).toMatchObject({
    approval_id: question.id,
    args: question.args,
    args_hash: question.args_hash,
    decisions: ['approve', 'reject', 'edit', 'respond'],
    expires_at: question.expires_at,
    on_expiry: 'deny',
  });
});

test('a rejection with its comment is the result, and the like is denied unasked; other arguments are asked about', async () => {
  const { id, slug } = await askingAgent();
  const { run, question } = await waitingRun(id, slug, [call(slug, 1), call(slug, 1), call(slug, 2), { text: 'Fine.' }]);

  await resolve(stack, run.id, [{ approval_id: question.id, decision: 'reject', comment: 'Not on a Friday.' }]);
  const [second] = await pendingOf(stack, run.id);
  await resolve(stack, run.id, [{ approval_id: second?.id, decision: 'approve' }]);
  const results = await resultsOf(run.id);

  expect(second).toMatchObject({ args: { n: 2 } });
  expect(results.map((result) => result['status'])).toEqual(['denied', 'denied', 'succeeded']);
  expect(results[0]?.['output']).toContain('Not on a Friday.');
  expect(effectsOf(slug)).toHaveLength(1);
  expect(await questionsOf(stack, run.id)).toHaveLength(2);
  expect(await archiveFaults(stack, run.id)).toEqual([]);
});

test('edited arguments replace those of the model, within the schema and beside what the author has preset', async () => {
  const { id, slug } = await askingAgent({
    input_schema: {
      type: 'object',
      properties: { n: { type: 'integer' }, m: { type: 'integer' } },
      required: ['n', 'm'],
      additionalProperties: false,
    },
  });
  const agent = await makeAgent(stack, [], { approvals: { write: 'ask' }, tools: [{ slug, preset: { m: 3 } }] });
  expect(id).not.toBe(agent.id);
  const { run, question } = await waitingRun(agent.id, slug, [call(slug, 1), { text: 'Done.' }]);
  const edit = (edited_args: unknown) => resolve(stack, run.id, [{ approval_id: question.id, decision: 'edit', edited_args }]);

  const unfit = await edit({ n: 'many' });
  const edited = await edit({ n: 12, m: 9 });
  const again = await edit({ n: 12 });
  await endOf(watchRun(stack, run.id));

  expect(unfit).toMatchObject({ status: 422, body: { errors: [{ pointer: '/resolutions/0/edited_args/n' }] } });
  expect(edited).toMatchObject({ status: 200, body: { items: [{ status: 'edited', edited_args: { n: 12, m: 3 } }] } });
  expect(again).toMatchObject({ status: 200, body: { applied: 0, unchanged: 1 } });
  expect(effectsOf(slug).map((effect) => JSON.parse(effect.body))).toEqual([{ n: 12 }]);
  expect(await archiveFaults(stack, run.id)).toEqual([]);
});

test('a response takes the place of the result', async () => {
  const { id, slug } = await askingAgent();
  const { run, question } = await waitingRun(id, slug);

  await resolve(stack, run.id, [{ approval_id: question.id, decision: 'respond', response: { done: 'by hand' } }]);

  expect(await resultsOf(run.id)).toMatchObject([{ status: 'succeeded', output: { done: 'by hand' }, output_type: 'json' }]);
  expect(effectsOf(slug)).toHaveLength(0);
});

test('answers reach the calls they name, all of a request or none', async () => {
  const { id, slug } = await askingAgent();
  const run = await startRun(
    stack,
    id,
    scripted({ steps: [{ tool_calls: [1, 2].map((n) => ({ name: slug, arguments: { n } })) }, call(slug, 3), { text: 'Done.' }] }),
  );
  const pending = await pendingOf(stack, run.id, 2);
  const of = (n: number) => pending.find((one) => one.args?.['n'] === n)?.id;

  const broken = await resolve(stack, run.id, [
    { approval_id: of(1), decision: 'approve' },
    { approval_id: of(2), decision: 'approve', args_hash: '0'.repeat(64) },
  ]);
  const untouched = await questionsOf(stack, run.id, 'pending');
  await resolve(stack, run.id, [{ approval_id: of(2), decision: 'approve' }]);
  await resolve(stack, run.id, [{ approval_id: of(1), decision: 'reject' }]);
  const [third] = await pendingOf(stack, run.id);
  await resolve(stack, run.id, [{ approval_id: third?.id, decision: 'approve' }]);
  await endOf(watchRun(stack, run.id));

  expect(broken).toMatchObject({ status: 409, body: { context: { reason: 'args_changed' } } });
  expect(untouched).toHaveLength(2);
  expect(effectsOf(slug).map((effect) => JSON.parse(effect.body))).toEqual([{ n: 2 }, { n: 3 }]);
  expect(await archiveFaults(stack, run.id)).toEqual([]);
});

test('the same answer again changes nothing, another one is refused; after the end both are, and run nothing', async () => {
  const { id, slug } = await askingAgent();
  const { run, question } = await waitingRun(id, slug);
  const answer = (decision: string, more: object = {}) => resolve(stack, run.id, [{ approval_id: question.id, decision, ...more }]);
  let isWaiting = true;
  effects.onEffect = () => new Promise((done) => void setInterval(() => isWaiting || done(), 20).unref());

  const both = await Promise.all([answer('approve'), answer('approve')]);
  const other = await answer('reject');
  isWaiting = false;
  await endOf(watchRun(stack, run.id));
  const late = await answer('approve');

  expect(both.map(({ status }) => status)).toEqual([200, 200]);
  expect(both.map(({ body }) => body['applied']).toSorted()).toEqual([0, 1]);
  expect(other).toMatchObject({ status: 409, body: { context: { reason: 'approval_resolved', approval: { status: 'approved' } } } });
  expect(late).toMatchObject({ status: 409, body: { context: { reason: 'run_finished', run: { id: run.id } } } });
  expect(effectsOf(slug)).toHaveLength(1);
});

test('what an answer may not be is told before anything is changed', async () => {
  const { id, slug } = await askingAgent();
  const { run, question } = await waitingRun(id, slug);
  const foreign = await waitingRun(id, slug);
  const tries: [object, number, string][] = [
    [{ approval_id: foreign.question.id, decision: 'approve' }, 422, '/resolutions/0/approval_id'],
    [{ approval_id: crypto.randomUUID(), decision: 'approve' }, 422, '/resolutions/0/approval_id'],
    [{ approval_id: question.id, decision: 'edit' }, 422, '/resolutions/0/edited_args'],
    [{ approval_id: question.id, decision: 'respond' }, 422, '/resolutions/0/response'],
    [{ approval_id: question.id, decision: 'approve', response: 1 }, 422, '/resolutions/0/response'],
    [{ approval_id: question.id, decision: 'respond', response: 'x'.repeat(70_000) }, 422, '/resolutions/0/response'],
    [{ approval_id: question.id, decision: 'perhaps' }, 422, '/resolutions/0/decision'],
    [{ approval_id: question.id, decision: 'reject', comment: 'x'.repeat(2_001) }, 422, '/resolutions/0/comment'],
  ];

  for (const [body, status, pointer] of tries) {
    const answer = await resolve(stack, run.id, [body as never]); // wrong on purpose
    expect(answer).toMatchObject({ status, body: { errors: [{ pointer }] } });
  }
  const twice = await resolve(
    stack,
    run.id,
    [1, 2].map(() => ({ approval_id: question.id, decision: 'approve' })),
  );

  expect(twice).toMatchObject({ status: 422, body: { errors: [{ pointer: '/resolutions/1/approval_id', rule: 'unique' }] } });
  expect((await resolve(stack, crypto.randomUUID(), [{ approval_id: question.id, decision: 'approve' }])).status).toBe(404);
  expect(await questionsOf(stack, run.id, 'pending')).toHaveLength(1);
  expect(effectsOf(slug)).toHaveLength(0);
});

test('`first` asks once per run and tool; a rejection is not yet leave for the next', async () => {
  const slug = slugOf('first');
  const { toolIds } = await makeAgent(stack, [writeTool(slug, effects)]);
  const agent = await makeAgent(stack, [], { tools: [{ id: toolIds[0], approval: 'first' }] });
  const twoCalls = { tool_calls: [1, 2].map((n) => ({ name: slug, arguments: { n } })) };
  const { run, question } = await waitingRun(agent.id, slug, [twoCalls, call(slug, 3), { text: 'Done.' }]);

  await resolve(stack, run.id, [{ approval_id: question.id, decision: 'reject' }]);
  const [second] = await pendingOf(stack, run.id);
  await resolve(stack, run.id, [{ approval_id: second?.id, decision: 'approve' }]);
  await endOf(watchRun(stack, run.id));

  expect(await questionsOf(stack, run.id)).toHaveLength(2);
  expect(effectsOf(slug).map((effect) => JSON.parse(effect.body))).toEqual([{ n: 2 }, { n: 3 }]);
  expect(await archiveFaults(stack, run.id)).toEqual([]);
});

test('a tool made critical during a run is gated at its next call, for admins', async () => {
  const slug = slugOf('live');
  const agent = await makeAgent(stack, [writeTool(slug, effects)]);
  effects.onEffect = async () => {
    effects.onEffect = null;
    await stack.request('PATCH', `/tools/${agent.toolIds[0]}`, { body: { critical: true } });
  };

  const { run, question } = await waitingRun(agent.id, slug, [call(slug, 1), call(slug, 2), { text: 'Done.' }]);
  const refused = await resolve(stack, run.id, [{ approval_id: question.id, decision: 'reject' }], stack.tenant.tokens.member);
  const before = effectsOf(slug).length;
  await resolve(stack, run.id, [{ approval_id: question.id, decision: 'approve' }]);

  expect(question).toMatchObject({ args: { n: 2 }, critical: true, approver_floor: 'admin' });
  expect(refused).toMatchObject({ status: 403, body: { code: 'role_insufficient' } });
  expect(before).toBe(1);
  expect(await resultsOf(run.id)).toMatchObject([{ status: 'succeeded' }, { status: 'succeeded' }]);
  expect(effectsOf(slug)).toHaveLength(2);
  expect(await archiveFaults(stack, run.id)).toEqual([]);
});

test('a run whose gate is cancelled withdraws it, and the next turn is accepted', async () => {
  const { id, slug } = await askingAgent();
  const sessionKey = crypto.randomUUID();
  const run = await startRun(stack, id, scripted({ steps: [call(slug)] }), { sessionKey });
  const [question] = await pendingOf(stack, run.id);

  const cancelled = await stack.request('POST', `/runs/${run.id}/cancel`, { body: {} });
  const refused = await resolve(stack, run.id, [{ approval_id: question?.id, decision: 'approve' }]);
  await endOf(watchRun(stack, run.id));
  const next = await startRun(stack, id, scripted({ steps: [{ text: 'Here I am.' }] }), { sessionKey });
  const frames = await endOf(watchRun(stack, next.id));

  expect(cancelled).toMatchObject({ status: 202, body: { status: 'cancelling', pending_approvals: 0, waiting_on: null } });
  expect(refused.status).toBe(409);
  expect(await questionsOf(stack, run.id)).toMatchObject([{ status: 'cancelled' }]);
  expect(frames.at(-1)?.data).toMatchObject({ status: 'succeeded' });
  expect(effectsOf(slug)).toHaveLength(0);
  expect(await archiveFaults(stack, run.id)).toEqual([]);
});
