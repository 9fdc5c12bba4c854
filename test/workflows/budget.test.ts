import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { Decimal } from 'decimal.js';
import { wakeBudgetWaiters } from '../../db/billing/budgets/budget-wait.ts';
import { releaseHolds, reserve } from '../../db/billing/budgets/holds.ts';
import { newId } from '../../db/ids.ts';
import { sweep, systemActor, transact, workspaceTenant } from '../../db/transaction.ts';
import { rows } from '../../db/sql.ts';
import { fullTest } from '../chaos/whole.ts';
import { asking, familyFaults, familyOf, makeNamed, playing } from '../sub-agents/family.ts';
import { startModelServer, type ModelServer, type ScriptStep } from '../fakes/model-server.ts';
import { priceCall, testBudgets, type TestBudgets } from '../support/budgets.ts';
import { checkRun, endOf, watchRun, type Checked } from '../support/run-checks.ts';
import { makeAgent, scripted } from '../support/scenario.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';
import { runUpkeep } from '../support/upkeep.ts';

let models: ModelServer;
let stack: Stack;
let budgets: TestBudgets;
let agentId: string;

beforeAll(async () => {
  models = await startModelServer();
  stack = await startStack({ processes: ['api', 'worker-runs'], modelBaseUrl: models.baseUrl });
  budgets = testBudgets(stack.db, stack.tenant);
  await priceCall(stack.db, 'compatible/scripted', '0.1');
  agentId = (await makeAgent(stack, [])).id;
});

beforeEach(() => budgets.day(null));

afterAll(async () => {
  await stack?.stop();
  await models?.close();
});

// Answered at once, since there is no such tool: each step is one model call of 0.10.
const goOn: ScriptStep = { tool_calls: [{ name: 'nothing', arguments: {} }] };
const steps = (count: number, last: ScriptStep = { text: 'Done.' }): ScriptStep[] => [
  ...Array.from({ length: count - 1 }, () => goOn),
  last,
];

async function start(script: readonly ScriptStep[], more: object = {}): Promise<string> {
  const body = { agent_id: agentId, input: { text: scripted({ steps: script }, `Spend ${crypto.randomUUID()}.`) }, ...more };
  const { status, body: run } = await stack.request('POST', '/runs', { body });
  if (status !== 202) throw new Error(`${status} ${JSON.stringify(run)}`);
  return (run as { id: string }).id;
}

/** The ended run, all promises of runs and streams kept. */
async function ended(runId: string): Promise<Checked> {
  const seen = await endOf(watchRun(stack, runId));
  const checked = await checkRun(stack, runId, { seen: [seen] });
  expect(checked.faults).toEqual([]);
  return checked;
}

const statusOf = async (runId: string) =>
  (await stack.request('GET', `/runs/${runId}`)).body as { status: string; waiting_on: string | null; waiting_until: string | null };
const isWaiting = (runId: string) => until(async () => (await statusOf(runId)).waiting_on === 'budget');
const question = async (runId: string) => {
  const { body } = await stack.request('GET', `/runs/${runId}/approvals?status=pending`);
  return (body as { items: { id: string; reason: string; approver_floor: string; args: Record<string, unknown>; prompt: string }[] })
    .items[0];
};
const resolve = async (runId: string, decision: 'approve' | 'reject') =>
  stack.request('POST', `/runs/${runId}/approvals`, { body: { resolutions: [{ approval_id: (await question(runId))?.id, decision }] } });
const inPlace = <R>(work: Parameters<typeof transact<R>>[2]) => {
  const { organizationId, workspaceId } = stack.tenant;
  return transact(stack.db, { tenant: workspaceTenant(organizationId, workspaceId), actor: systemActor, correlationId: newId() }, work);
};
const putBudget = (body: object) => stack.request('PUT', `/budgets/${stack.tenant.workspaceId}`, { body: { period: 'day', ...body } });
const wake = () => inPlace((tx) => wakeBudgetWaiters(tx, stack.tenant.workspaceId));

test('a run that has cost what it may ends with budget_exceeded; what it has said stays, and its cap is closed', async () => {
  const runId = await start(steps(4), { limits: { max_cost: '0.25' } });

  const { run, frames } = await ended(runId);

  expect(run).toMatchObject({
    status: 'failed',
    finish_reason: 'budget_exceeded',
    error: { code: 'budget_exceeded', reason: 'max_cost' },
    steps: 2,
  });
  expect(run).toMatchObject({ usage: { own: { cost_amount: '0.20' } }, limits: { max_cost: '0.25' } });
  expect(await budgets.windows()).toEqual([{ name: `run:${runId}`, spent: '0.2', reserved: '0', is_closed: true }]);
  expect(frames.filter(({ type }) => type === 'usage').map(({ data }) => data['budget'])).toMatchObject([
    { period: 'cap', limit: '0.25', spent: '0.10', reserved: '0.00', pct: 40, threshold_crossed: false },
    { period: 'cap', limit: '0.25', spent: '0.20', reserved: '0.00', pct: 80, threshold_crossed: false },
  ]);
});

test('without a budget or a cap nothing is held, and usage tells of none', async () => {
  const { run, frames } = await ended(await start(steps(2)));

  expect(run).toMatchObject({ status: 'succeeded', usage: { own: { cost_amount: '0.20' } } });
  expect(frames.filter(({ type }) => type === 'usage').map(({ data }) => data['budget'])).toEqual([null, null]);
  expect(await budgets.windows()).toEqual([]);
});

test('what is said of a budget holds neither what a run was asked, nor what it called, nor what it answered', async () => {
  await putBudget({});
  const { spent } = (await stack.request('GET', `/budgets/${stack.tenant.workspaceId}/status?period=day`)).body as { spent: string };
  // Full with the second call, whatever the tests before have spent.
  await putBudget({ limit_amount: new Decimal(spent).plus('0.15').toString() });
  const runId = await start([{ tool_calls: [{ name: 'nothing', arguments: { word: 'canary-argument' } }] }, { text: 'canary-answer' }], {
    metadata: { word: 'canary-metadata' },
  });
  await ended(runId);

  const said = await sweep(stack.db, (em) =>
    rows<{ told: string }>(
      em,
      `select jsonb_build_array(to_jsonb(d), to_jsonb(a), (select jsonb_agg(to_jsonb(t)) from alert_transitions t where t.alert_id = a.id))::text as told
         from alert_deliveries d join alerts a on a.id = d.alert_id where a.workspace_id = ?`,
      [stack.tenant.workspaceId],
    ),
  );

  expect(said.some(({ told }) => told.includes('The budget of the day is spent'))).toBe(true);
  for (const { told } of said) {
    expect(told).not.toMatch(/canary|Spend /);
  }
});

test('a full budget: the run waits for an admin, and goes on when the budget is written', async () => {
  await budgets.day('0.15');
  const runId = await start(steps(3), { limits: { on_budget: 'wait' } });
  await isWaiting(runId);

  const asked = await question(runId);
  const raised = await putBudget({ limit_amount: '1', is_enforced: true });
  const { run, frames } = await ended(runId);

  expect(raised.status).toBe(200);
  expect(asked).toMatchObject({
    reason: 'budget',
    approver_floor: 'admin',
    args: { step: 2, period: 'day', needed: '0.10', limit: '0.15', spent: '0.10' },
  });
  expect(asked?.prompt).toContain('0.10 of 0.15 USD');
  expect(run).toMatchObject({ status: 'succeeded', steps: 3, usage: { own: { cost_amount: '0.30' } } });
  expect(frames.find(({ type }) => type === 'approval.resolved')).toMatchObject({ data: { decision: 'cancelled' } });
  // The wait is no lost try: nothing tells of one.
  expect(frames.filter(({ type, data }) => type === 'run.status' && data['retry'] !== null)).toEqual([]);
  expect(await budgets.windows()).toMatchObject([{ name: 'day', spent: '0.3', reserved: '0' }]);
});

test('a waiting run goes on when its budget is deleted, also when the API was killed before it could say so', async () => {
  await budgets.day('0.15');
  const runId = await start(steps(2), { limits: { on_budget: 'wait' } });
  await isWaiting(runId);

  const removing = stack.request('DELETE', `/budgets/${stack.tenant.workspaceId}?period=day`).catch(() => null);
  await until(
    async () =>
      (await sweep(stack.db, (em) => rows(em, 'select id from budgets where workspace_id = ?', [stack.tenant.workspaceId]))).length === 0,
  );
  await stack.kill('api');
  await stack.start('api');
  await removing;
  const { run } = await ended(runId);

  expect(run).toMatchObject({ status: 'succeeded', steps: 2 });
});

test('a waiting run goes on by itself when the period turns', async () => {
  await budgets.day('0.15');
  const runId = await start(steps(2), { limits: { on_budget: 'wait' } });
  await isWaiting(runId);
  // Known to the run from its next look on.
  await budgets.endsIn(2);
  await wake();

  const { run } = await ended(runId);

  expect(run).toMatchObject({ status: 'succeeded', steps: 2 });
  expect(await budgets.windows()).toMatchObject([
    { name: 'day', spent: '0.1', reserved: '0', is_closed: true },
    { name: 'day', spent: '0.1', reserved: '0', is_closed: false },
  ]);
});

test('an admin lets one step pass; the next one asks again, and a rejection ends the run', async () => {
  await budgets.day('0.15');
  const runId = await start(steps(3), { limits: { on_budget: 'wait' } });
  await isWaiting(runId);
  await stack.kill('worker-runs');
  await stack.start('worker-runs');

  const first = await question(runId);
  await resolve(runId, 'approve');
  await until(async () => ![undefined, first?.id].includes((await question(runId))?.id));
  await resolve(runId, 'reject');
  const { run } = await ended(runId);

  expect(run).toMatchObject({ status: 'failed', finish_reason: 'budget_exceeded', steps: 2, usage: { own: { cost_amount: '0.20' } } });
  expect(await budgets.windows()).toMatchObject([{ name: 'day', spent: '0.2', reserved: '0' }]);
});

test('a call that only another one in flight leaves no room waits for it and is not refused', async () => {
  await budgets.day('0.2');
  const { organizationId, workspaceId } = stack.tenant;
  const other = { callKey: newId(), organizationId, workspaceId, caps: [], estimate: '0.15' };
  await inPlace((tx) => reserve(tx, other));
  const runId = await start(steps(1));
  await until(async () => (await statusOf(runId)).status === 'running');
  const held = await budgets.windows();
  await inPlace((tx) => releaseHolds(tx, other.callKey));

  const { run, frames } = await ended(runId);

  expect(held).toMatchObject([{ name: 'day', spent: '0', reserved: '0.15' }]);
  expect(run.status).toBe('succeeded');
  expect(frames.filter(({ type, data }) => type === 'run.status' && data['retry'] !== null)).toEqual([]);
  expect(await budgets.windows()).toMatchObject([{ name: 'day', spent: '0.1', reserved: '0' }]);
});

fullTest('twenty runs at once before a nearly full budget: as many calls as there is room for', async () => {
  await budgets.day('0.55');

  const runs = await Promise.all(Array.from({ length: 20 }, () => start([{ tokens: 3, delay_ms: 50 }])));
  const checked = await Promise.all(runs.map(ended));

  const ends = checked.map(({ run }) => run.finish_reason);
  expect([ends.filter((end) => end === 'stop').length, ends.filter((end) => end === 'budget_exceeded').length]).toEqual([5, 15]);
  expect(await budgets.windows()).toMatchObject([{ name: 'day', spent: '0.5', reserved: '0' }]);
  expect(await budgets.ledger(runs)).toBe('0.5');
});

fullTest('a call that takes long keeps what it holds', async () => {
  await budgets.day('5');
  const runId = await start([{ tokens: 80, delay_ms: 150 }]);
  const reader = watchRun(stack, runId);
  await until(() => reader.frames.some(({ type }) => type === 'message.delta'));
  const lease = () =>
    sweep(stack.db, (em) => rows<{ at: string }>(em, `select lease_until::text as at from budget_holds where state = 'held'`));
  const [first] = await lease();

  await until(async () => {
    const [now] = await lease();
    return now !== undefined && now.at !== first?.at;
  });

  expect(reader.frames.some(({ type }) => type === 'run.finished')).toBe(false);
  await ended(runId);
  expect(await budgets.windows()).toMatchObject([{ name: 'day', spent: '0.1', reserved: '0' }]);
});

test('a worker killed in the middle of a call: the run goes on, its hold is given back, and the books agree', async () => {
  await budgets.day('5');
  const runId = await start([{ tokens: 40, delay_ms: 60 }], { limits: { max_cost: '1' } });
  const reader = watchRun(stack, runId);
  await until(() => reader.frames.some(({ type }) => type === 'message.delta'));
  const held = await budgets.windows();
  await stack.kill('worker-runs');
  await stack.start('worker-runs');

  const { run } = await ended(runId);
  // Nobody renews it any more; its lease need not be sat out here.
  await sweep(stack.db, (em) => rows(em, `update budget_holds set lease_until = now() - interval '1 second' where state = 'held'`));
  await runUpkeep(stack.temporal, 'budget-holds');
  await until(async () => (await budgets.windows()).every(({ reserved }) => reserved === '0'));

  expect(held.map(({ reserved }) => reserved)).toEqual(['0.1', '0.1']);
  expect(run.status).toBe('succeeded');
  const spent = await budgets.ledger([runId]);
  expect(await budgets.windows()).toMatchObject([
    { name: 'day', spent, reserved: '0' },
    { name: `run:${runId}`, spent, reserved: '0', is_closed: true },
  ]);
});

test('a call costs what was in force when it began: a new price counts from the next one, and what is settled stays', async () => {
  const price = (amount: string) =>
    stack.request('POST', '/model-prices', {
      body: { model: 'compatible/scripted', bucket: 'call', price: amount },
      credential: stack.tenant.tokens.operator,
    });
  const old = await ended(await start(steps(1)));
  const runId = await start([{ ...goOn, tokens: 40, delay_ms: 60 }, { text: 'Done.' }]);
  const reader = watchRun(stack, runId);
  await until(() => reader.frames.some(({ type }) => type === 'message.delta'));
  expect((await price('0.3')).status).toBe(201);

  const { run } = await ended(runId);
  await price('0.1');

  expect(run).toMatchObject({ status: 'succeeded', usage: { own: { cost_amount: '0.40' } } });
  expect(await budgets.ledger([old.run.id])).toBe('0.1');
});

test('a model that fails before it answers costs nothing and holds nothing', async () => {
  await budgets.day('0.1');
  const runId = await start([
    {
      text: 'Hi.',
      faults: [
        { kind: 'status', status: 500 },
        { kind: 'status', status: 500 },
      ],
    },
  ]);

  const { run } = await ended(runId);

  expect(run).toMatchObject({ status: 'succeeded', usage: { own: { cost_amount: '0.10' } } });
  expect(await budgets.windows()).toMatchObject([{ name: 'day', spent: '0.1', reserved: '0' }]);
});

test('children spend under the caps of all above them; the root adds up to the last digit', async () => {
  const helper = await makeNamed(stack);
  const top = await makeNamed(stack, { sub_agents: [{ id: helper.id }] });
  const task = playing(models, steps(4));
  const input = { text: playing(models, [asking([helper, task]), { text: 'Never said.' }]) };
  const runId = await start([], { agent_id: top.id, input, limits: { max_cost: '0.35' } });

  const { run } = await ended(runId);

  const family = await familyOf(stack, runId);
  expect(family.map(({ depth, finish_reason: reason }) => [depth, reason])).toEqual([
    [0, 'budget_exceeded'],
    [1, 'budget_exceeded'],
  ]);
  expect(await familyFaults(stack, runId)).toEqual([]);
  expect(run).toMatchObject({ usage: { own: { cost_amount: '0.10' }, subtree: { cost_amount: '0.30' } } });
  const ids = family.map(({ id }) => id);
  expect(await budgets.ledger(ids)).toBe('0.3');
  const caps = (await budgets.windows()).toSorted((left, right) => ids.indexOf(left.name.slice(4)) - ids.indexOf(right.name.slice(4)));
  expect(caps).toEqual([
    { name: `run:${ids[0]}`, spent: '0.3', reserved: '0', is_closed: true },
    { name: `run:${ids[1]}`, spent: '0.2', reserved: '0', is_closed: true },
  ]);
});

fullTest('twenty children at once below a nearly full cap: one more call fits, and the tree ends within it', async () => {
  const helper = await makeNamed(stack);
  const top = await makeNamed(stack, { sub_agents: [{ id: helper.id }] });
  const task = playing(models, [{ tokens: 3, delay_ms: 50 }]);
  const input = { text: playing(models, [asking(...Array.from({ length: 20 }, () => [helper, task] as const)), { text: 'Never said.' }]) };
  const runId = await start([], { agent_id: top.id, input, limits: { max_cost: '0.202' } });

  const { run } = await ended(runId);

  const family = await familyOf(stack, runId);
  const children = family.filter(({ depth }) => depth === 1).map(({ finish_reason: reason }) => reason);
  expect([children.length, children.filter((reason) => reason === 'stop').length]).toEqual([20, 1]);
  expect(children.filter((reason) => reason === 'budget_exceeded')).toHaveLength(19);
  expect(run).toMatchObject({ finish_reason: 'budget_exceeded', usage: { subtree: { cost_amount: '0.20' } } });
  expect(await budgets.ledger(family.map(({ id }) => id))).toBe('0.2');
  expect(await familyFaults(stack, runId)).toEqual([]);
});
