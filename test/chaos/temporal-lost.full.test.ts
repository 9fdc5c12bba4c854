import { afterAll, afterEach, beforeAll, expect, jest, test } from '@jest/globals';
import { scheduleIds } from '../../temporal/schedules.ts';
import { asking, familyFaults, makeNamed, playing } from '../sub-agents/family.ts';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { pendingOf, questionsOf, resolve, untilRun } from '../support/approvals.ts';
import { loseStore, readinessOf, supervise } from '../support/lost-store.ts';
import { ownServices, type OwnServices } from '../support/own-services.ts';
import { checkRun, endOf, watchRun } from '../support/run-checks.ts';
import { created, makeAgent, scripted, startEffectServer, startRun, writeTool, type EffectServer } from '../support/scenario.ts';
import { startStack, type ProcessName, type Stack } from '../support/stack.ts';
import type { StreamReader } from '../support/stream-client.ts';
import { until } from '../support/temporal.ts';
import { isWholeMatrix, matrixTest } from './whole.ts';

jest.setTimeout(600_000);

const workers: readonly ProcessName[] = isWholeMatrix ? ['worker-runs', 'worker-runs-2', 'worker-bulk'] : ['worker-runs', 'worker-bulk'];
const patienceMs = 240_000;

let own: OwnServices;
let models: ModelServer;
let effects: EffectServer;
let stack: Stack;
let supervisor: ReturnType<typeof supervise>;

beforeAll(async () => {
  own = await ownServices('lost');
  models = await startModelServer();
  effects = await startEffectServer();
  stack = await startStack({ processes: ['api', ...workers], modelBaseUrl: models.baseUrl, egressPorts: [effects.port] });
  supervisor = supervise(stack, workers);
});

afterEach(() => {
  effects.onEffect = null;
});

afterAll(async () => {
  await supervisor?.stop();
  await stack?.stop().catch(() => undefined); // a service that a failed test left away
  effects?.close();
  await models?.close();
  await own?.stop();
});

const slugOf = (kind: string) => `${kind}-${crypto.randomUUID().slice(0, 8)}`;
const call = (name: string, args: object = { n: 1 }) => ({ tool_calls: [{ name, arguments: args }] });
const effectsOf = (slug: string) => effects.effects.filter((effect) => effect.path === `/${slug}`).length;
const asks = { approvals: { write: 'ask' } };

/** A run that waits for an approval of its second call, and has made its first. */
async function waitingForApproval() {
  const [first, second] = [slugOf('first'), slugOf('second')];
  const open = writeTool(first, effects);
  const gated = writeTool(second, effects, { critical: true });
  const agent = await makeAgent(stack, [open, gated]);
  const run = await startRun(stack, agent.id, scripted({ steps: [call(first), call(second), { text: 'Approved.' }] }), {
    sessionKey: `line-${second}`,
  });
  const inLine = await startRun(stack, agent.id, scripted({ steps: [{ text: 'I was in line.' }] }), { sessionKey: `line-${second}` });
  const [question] = await pendingOf(stack, run.id);
  return { id: run.id, inLine: inLine.id, question, slugs: [first, second] };
}

async function waitingForAnswer() {
  const slug = slugOf('ask');
  const agent = await makeAgent(stack, [{ slug, kind: 'builtin', description: 'Asks a person.', config: { name: 'ask_user' } }]);
  const script = { steps: [call(slug, { question: 'Which colour?', options: ['red', 'blue'] }), { text: 'Blue it is.' }] };
  const { id } = await startRun(stack, agent.id, scripted(script));
  const [question] = await pendingOf(stack, id);
  return { id, question };
}

async function waitingForClient() {
  const slug = slugOf('client');
  const agent = await makeAgent(stack, [writeTool(slug, effects, { client_owned: true, timeout_s: 3_000 })]);
  const { id } = await startRun(stack, agent.id, scripted({ steps: [call(slug), { text: 'The client did it.' }] }));
  await untilRun(stack, id, (run) => run.waiting_on === 'client_tool');
  return { id };
}

/** A root run whose sub-agent waits for an approval, and that sub-agent's question. */
async function waitingForChild() {
  const slug = slugOf('below');
  const tool = await created(stack, '/tools', writeTool(slug, effects));
  const leaf = await makeNamed(stack, { tools: [{ id: tool.id }], ...asks });
  const top = await makeNamed(stack, { sub_agents: [{ id: leaf.id }] });
  const task = playing(models, [asking([slug, { n: 1 }]), { text: 'Leaf.' }]);
  const { id } = await startRun(stack, top.id, playing(models, [asking([leaf, task]), { text: 'Top.' }]));
  const [question] = await pendingOf(stack, id);
  return { id, question, slug };
}

/** A run whose tool has had its effect and answers only when it is let. */
async function runningInTool(more: Record<string, unknown> = {}) {
  const slug = slugOf('slow');
  const release = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  effects.onEffect = async () => {
    if (effectsOf(slug) === 0) return;
    begun.resolve();
    await release.promise;
  };
  const agent = await makeAgent(stack, [writeTool(slug, effects, { timeout_s: 60, ...more })]);
  const { id } = await startRun(stack, agent.id, scripted({ steps: [call(slug), { text: 'Written.' }] }));
  await begun.promise;
  return { id, slug, release: () => release.resolve() };
}

const temporalCheck = async () => {
  const { status, text } = await readinessOf(stack, 'api');
  const { status: state, checks } = JSON.parse(text || '{}') as { status?: string; checks?: { name: string; status: string }[] };
  // A 503 has none: on a busy machine PostgreSQL may be slow for a moment.
  return { status, state, temporal: checks?.find(({ name }) => name === 'temporal')?.status };
};
const statusesOf = async (names: readonly ProcessName[]) => Promise.all(names.map(async (name) => (await readinessOf(stack, name)).status));
const untilReady = () =>
  until(async () => (await temporalCheck()).state === 'ok' && (await statusesOf(workers)).every((status) => status === 200), patienceMs);

async function lost(): Promise<void> {
  await loseStore(own);
  await until(async () => {
    const { status, state, temporal } = await temporalCheck();
    return status === 200 && state === 'degraded' && temporal === 'failed';
  });
  await until(async () => (await statusesOf(workers)).every((status) => status !== 200));
}

/** Subscribers from now on, by run. */
const watched = (...ids: readonly string[]) => new Map(ids.map((id) => [id, watchRun(stack, id)]));

/** Every one ended once, well, and all subscribers, from before the loss too, and replays got the same frames. */
async function expectWell(readers: ReadonlyMap<string, StreamReader>): Promise<void> {
  const ids = [...readers.keys()];
  const seen = await Promise.all([...readers.values()].map((reader) => endOf(reader, patienceMs)));
  const checked = await Promise.all(ids.map((id, n) => checkRun(stack, id, { seen: seen.slice(n, n + 1) })));

  expect(checked.flatMap(({ faults }) => faults)).toEqual([]);
  expect(checked.map(({ run }) => run.status)).toEqual(ids.map(() => 'succeeded'));
}

const resultOf = async (runId: string) => (await endOf(watchRun(stack, runId))).find((frame) => frame.type === 'tool.result')?.data;

const schedulesThere = async () => {
  const ids: string[] = [];
  for await (const { scheduleId } of stack.temporal.client.schedule.list()) ids.push(scheduleId);
  return scheduleIds.every((id) => ids.includes(id));
};

async function giveResult(runId: string): Promise<void> {
  const { body } = await stack.request('GET', `/runs/${runId}`);
  const [pending] = (body as { pending_tool_calls: { tool_call_id: string }[] }).pending_tool_calls;
  const results = [{ tool_call_id: pending?.tool_call_id, status: 'succeeded', output: 'done' }];
  expect((await stack.request('POST', `/runs/${runId}/input`, { body: { kind: 'tool_results', results } })).status).toBe(202);
}

async function approve(runId: string, question: { readonly id: string } | undefined): Promise<void> {
  const answer = await resolve(stack, runId, [{ approval_id: question?.id, decision: 'approve' }]);
  expect(answer.status).toBe(200);
}

test('the store is lost while runs wait, work and stand in line: each goes on from its rows and ends once, without a restart by hand', async () => {
  const approval = await waitingForApproval();
  const answer = await waitingForAnswer();
  const client = await waitingForClient();
  const parent = await waitingForChild();
  const tool = await runningInTool();
  const plain = await makeAgent(stack, []);
  const readers = watched(approval.id, approval.inLine, answer.id, client.id, parent.id, tool.id);

  await lost();
  const started = await startRun(stack, plain.id, scripted({ steps: [{ text: 'Started meanwhile.' }] }));
  const said = { kind: 'answer', approval_id: answer.question?.id, response: 'blue' };
  expect((await stack.request('POST', `/runs/${answer.id}/input`, { body: said })).status).toBe(202);
  tool.release();
  await own.up('temporal');
  await untilReady();

  await approve(approval.id, approval.question);
  await giveResult(client.id);
  await approve(parent.id, parent.question);
  const later = await startRun(stack, plain.id, scripted({ steps: [{ text: 'Started later.' }] }));
  await expectWell(new Map([...readers, ...watched(started.id, later.id)]));

  expect(await familyFaults(stack, parent.id)).toEqual([]);
  expect([...approval.slugs, parent.slug, tool.slug].map(effectsOf)).toEqual([1, 1, 1, 1]);
  // Its worker lives: what the tool came to is waited for, and counts.
  expect(await resultOf(tool.id)).toMatchObject({ status: 'succeeded' });
  await until(schedulesThere);
});

matrixTest('a worker is killed as well: nothing is done twice, what may have happened is told, and every run ends', async () => {
  const write = await runningInTool({ timeout_s: 20 });
  const parent = await waitingForChild();
  const holder = (await holderOf(write.id)) ?? 'worker-runs';
  const readers = watched(write.id, parent.id);

  await loseStore(own);
  await own.up('temporal');
  await stack.kill(holder);
  write.release();
  await untilReady();
  await approve(parent.id, parent.question);
  await expectWell(readers);

  expect(await resultOf(write.id)).toMatchObject({ status: 'failed', error: { code: 'outcome_unknown' } });
  expect([write.slug, parent.slug].map(effectsOf)).toEqual([1, 1]);
  expect(await familyFaults(stack, parent.id)).toEqual([]);
});

test('a run whose workflow was ended by hand is not begun anew', async () => {
  const { id } = await waitingForAnswer();
  await stack.temporal.client.workflow.getHandle(`run:${id}`).terminate('by an operator');

  const frames = await endOf(watchRun(stack, id), patienceMs);

  expect(frames.at(-1)?.data).toMatchObject({ status: 'failed', error: { reason: 'workflow_closed' } });
  expect(await questionsOf(stack, id, 'pending')).toEqual([]);
});

/** The worker that executes an activity of the run. */
async function holderOf(runId: string): Promise<ProcessName | null> {
  const { raw } = await stack.temporal.client.workflow.getHandle(`run:${runId}`).describe();
  const identity = raw.pendingActivities?.[0]?.lastWorkerIdentity ?? '';
  return workers.find((name) => identity.includes(`-${stack.pid(name)}@`)) ?? null;
}
