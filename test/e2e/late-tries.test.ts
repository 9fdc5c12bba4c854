import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { lockCall } from '../../db/runs/calls/call-state.ts';
import { openModelStep } from '../../domain/runs/steps/model-steps.ts';
import { claimCall } from '../../domain/runs/calls/tool-calls.ts';
import { systemActor, transact, workspaceTenant } from '../../db/transaction.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { checkRun, endOf, watchRun } from '../support/run-checks.ts';
import { makeAgent, scripted, startRun, writeTool, startScenario, type Scenario } from '../support/scenario.ts';
import { until } from '../support/temporal.ts';

let scenario: Scenario;
let models: Scenario['models'];
let effects: Scenario['effects'];
let stack: Scenario['stack'];

beforeAll(async () => {
  scenario = await startScenario();
  ({ models, effects, stack } = scenario);
});
afterAll(() => scenario?.stop());

/** What a try does first that Temporal had given up while its worker was frozen. */
async function asLateTry<R>(work: (tx: TenantTransaction) => Promise<R>): Promise<R> {
  const tenant = workspaceTenant(stack.tenant.organizationId, stack.tenant.workspaceId);
  return (await transact(stack.db, { tenant, actor: systemActor, correlationId: crypto.randomUUID() }, work)).value;
}

interface ModelStep {
  readonly attempt: number;
  readonly retries: readonly { readonly cause: string; readonly error_code: string | null }[];
}

async function modelStepOf(runId: string): Promise<ModelStep | undefined> {
  const { body } = await stack.request('GET', `/runs/${runId}/steps?kind=model`);
  return (body as { readonly items: readonly ModelStep[] }).items[0];
}

const attemptOf = async (runId: string) => (await modelStepOf(runId))?.attempt;
const retriesOf = async (runId: string) => (await modelStepOf(runId))?.retries.map(({ cause, error_code }) => [cause, error_code]);

test('a try that nobody has proved to count takes no step from the one at work', async () => {
  const agent = await makeAgent(stack, []);
  const run = await startRun(stack, agent.id, scripted({ steps: [{ tokens: 20, delay_ms: 100 }] }));
  const reader = watchRun(stack, run.id);
  await until(() => reader.frames.some((frame) => frame.type === 'message.delta'));

  const found = await asLateTry((tx) => openModelStep(tx, { runId: run.id, step: 1 }));

  const seen = await endOf(reader);
  const { run: last, faults } = await checkRun(stack, run.id, { seen: [seen] });
  expect(found).toEqual({ kind: 'held', attempt: 1 });
  expect({ status: last.status, faults, retries: await retriesOf(run.id) }).toEqual({ status: 'succeeded', faults: [], retries: [] });
});

test('late tries that take the step from the one that counts, and then say nothing, end no run: whoever was fenced is no lost worker', async () => {
  const agent = await makeAgent(stack, []);
  const run = await startRun(stack, agent.id, scripted({ steps: [{ tokens: 50, delay_ms: 100 }] }));
  const reader = watchRun(stack, run.id);

  for (const over of [1, 3]) {
    await until(async () => (await attemptOf(run.id)) === over && reader.frames.at(-1)?.type === 'message.delta');
    await asLateTry((tx) => openModelStep(tx, { runId: run.id, step: 1, over }));
  }

  const seen = await endOf(reader);
  const { run: last, faults } = await checkRun(stack, run.id, { seen: [seen] });
  expect({ status: last.status, faults }).toEqual({ status: 'succeeded', faults: [] });
  expect(await retriesOf(run.id)).toEqual([
    ['worker_lost', 'stood_still'],
    ['worker_lost', null],
    ['worker_lost', 'stood_still'],
    ['worker_lost', null],
  ]);
});

test('a late try that takes a call from the one that counts leaves the model its result', async () => {
  const slug = 'look-up';
  const tool = writeTool(slug, effects, { effect: 'read' });
  const agent = await makeAgent(stack, [tool]);
  const held = Promise.withResolvers<void>();
  let asked = 0;
  effects.onEffect = async () => {
    asked += 1;
    if (asked === 1) await held.promise;
  };
  const run = await startRun(
    stack,
    agent.id,
    scripted({ steps: [{ text: '', tool_calls: [{ name: slug, arguments: { n: 1 } }] }, { text: 'Done.' }] }),
  );
  const reader = watchRun(stack, run.id);
  await until(() => asked === 1);
  const callId = String(reader.frames.find((frame) => frame.type === 'tool.call')?.data['tool_call_id']);

  await asLateTry(async (tx) => {
    const call = await lockCall(tx, run.id, callId);
    if (call) await claimCall(tx, call);
  });
  held.resolve();

  const seen = await endOf(reader);
  const { run: last, faults } = await checkRun(stack, run.id, { seen: [seen] });
  expect({ status: last.status, faults, asked }).toEqual({ status: 'succeeded', faults: [], asked: 2 });
  const prompt = models.calls().at(-1)?.body['messages'] as { role: string; tool_call_id?: string; content: string }[];
  expect(prompt.filter(({ role }) => role === 'tool')).toHaveLength(1);
});
