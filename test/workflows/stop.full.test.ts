import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { makeAgent, scripted, startEffectServer, startRun, writeTool, type EffectServer } from '../support/scenario.ts';
import { until } from '../support/temporal.ts';
import { openOperatorWorld, type OperatorWorld } from './operator-world.ts';

let effects: EffectServer;
let world: OperatorWorld;

beforeAll(async () => {
  effects = await startEffectServer();
  world = await openOperatorWorld(['api', 'worker-runs', 'worker-bulk'], { egressPorts: [effects.port] });
});

afterAll(async () => {
  await world?.close();
  effects?.close();
});

const slow = scripted({ steps: [{ tokens: 600, delay_ms: 100 }] });

/** An agent without tools unless given, and how often the model was asked in its name. */
async function makeCountedAgent(tools: readonly Record<string, unknown>[] = []) {
  const instructions = `Do what the script says. ${crypto.randomUUID()}`;
  const { id } = await makeAgent(world.stack, tools, { instructions });
  const calls = () => world.models.calls().filter(({ body }) => JSON.stringify(body).includes(instructions)).length;
  return { id, calls };
}

test('suspending cancels what runs, what waits in line, and nothing starts until the organization is resumed', async () => {
  const { stack } = world;
  const { organizationId } = stack.tenant;
  const agent = await makeAgent(stack, []);
  const sessionKey = crypto.randomUUID();
  const [alone, active] = [await startRun(stack, agent.id, slow), await startRun(stack, agent.id, slow, { sessionKey })];
  const inLine = await startRun(stack, agent.id, slow, { sessionKey });
  await until(async () => (await world.statuses())['running'] === 2);

  await world.operate('POST', `/organizations/${organizationId}/suspend`, { reason: 'unpaid', confirm: await world.slug() });
  await until(async () => (await world.statuses())['cancelled'] === 3);

  const audited = await world.admin(
    "select actor_kind, action, outcome, changes from audit_entries where resource_type = 'run' and resource_id = any ($1) and operation_id is null",
    [[alone.id, active.id, inLine.id]],
  );
  // By the stop, or by the run's own next activity where that comes first.
  const ended = { action: 'submit', outcome: 'success', changes: { cancel_reason: { from: null, to: 'organization_suspended' } } };
  expect(audited).toEqual(Array(3).fill({ ...ended, actor_kind: expect.stringMatching(/^(?:system|agent_run)$/) }));
  const refused = await stack.request('POST', '/runs', { body: { agent_id: agent.id, input: { text: 'Hi' } } });
  expect(refused.status).toBe(423);

  await world.operate('POST', `/organizations/${organizationId}/resume`);
  const after = await startRun(stack, agent.id, scripted({ steps: [{ text: 'Back.' }] }));
  await until(async () => (await statusOf(after.id)) === 'succeeded');
  expect(await statusOf(alone.id)).toBe('cancelled');
});

test('archiving a workspace cancels its runs; restored it takes new ones', async () => {
  const { stack } = world;
  const { workspaceId, organizationOwner } = stack.tenant;
  const agent = await makeAgent(stack, []);
  const run = await startRun(stack, agent.id, slow);
  await until(async () => (await statusOf(run.id)) === 'running');

  const archived = await stack.request('DELETE', `/workspaces/${workspaceId}`, { credential: organizationOwner.token });
  await until(async () => (await statusOf(run.id)) === 'cancelled');
  const restored = await stack.request('POST', `/workspaces/${workspaceId}/restore`, { credential: organizationOwner.token });
  const after = await startRun(stack, agent.id, scripted({ steps: [{ text: 'Back.' }] }));
  await until(async () => (await statusOf(after.id)) === 'succeeded');

  expect([archived.status, restored.status]).toEqual([204, 200]);
});

test('an activity that meets a frozen place before the stop does begins no step and ends its run as cancelled', async () => {
  const { stack } = world;
  const tool = writeTool(`freeze-${crypto.randomUUID().slice(0, 8)}`, effects);
  const agent = await makeCountedAgent([tool]);
  effects.onEffect = async () => {
    await freeze(true);
  };

  const run = await startRun(
    stack,
    agent.id,
    scripted({ steps: [{ tool_calls: [{ name: String(tool['slug']), arguments: { n: 1 } }] }, { text: 'Never said.' }] }),
  );
  await until(async () => (await statusOf(run.id)) === 'cancelled');
  effects.onEffect = null;
  await freeze(false);

  // The result of the call that was made is settled all the same.
  expect(await world.admin('select state from tool_calls where run_id = $1', [run.id])).toEqual([{ state: 'succeeded' }]);
  expect(agent.calls()).toBe(1);
});

test('a run that was started just before its place froze never begins', async () => {
  const { stack } = world;
  const agent = await makeCountedAgent();
  await stack.kill('worker-runs');
  const run = await startRun(stack, agent.id, slow);
  await freeze(true);

  await stack.start('worker-runs');
  await until(async () => (await statusOf(run.id)) === 'cancelled');
  await freeze(false);

  expect(agent.calls()).toBe(0);
});

test('the newest state wins: suspended and resumed while no worker was there, nothing is cancelled', async () => {
  const { stack } = world;
  const { organizationId } = stack.tenant;
  const agent = await makeCountedAgent();
  await stack.kill('worker-bulk');
  const run = await startRun(stack, agent.id, slow);
  // A step that is claimed while the place is frozen would end its run, and rightly.
  await until(() => agent.calls() > 0);
  await world.operate('POST', `/organizations/${organizationId}/suspend`, { reason: 'a slip', confirm: await world.slug() });
  await world.operate('POST', `/organizations/${organizationId}/resume`);

  await stack.start('worker-bulk');
  await until(() => isClosed(`maint:org-stop:${organizationId}`));

  expect(await statusOf(run.id)).toBe('running');
  await stack.request('POST', `/runs/${run.id}/cancel`, { body: {} });
  await until(async () => (await statusOf(run.id)) === 'cancelled');
});

test('a stop whose worker is killed in the middle reaches the same end: every run is cancelled, each once', async () => {
  const { stack } = world;
  const { organizationId } = stack.tenant;
  const agent = await makeCountedAgent();
  await stack.kill('worker-runs');
  // More than one round cancels.
  const runs = [...(await startMany(agent.id, 100)), ...(await startMany(agent.id, 100)), ...(await startMany(agent.id, 20))];
  const cancelled = async () =>
    Number(
      (await world.admin("select count(*)::int as count from runs where id = any ($1) and status = 'cancelled'", [runs]))[0]?.['count'],
    );

  await world.operate('POST', `/organizations/${organizationId}/suspend`, { reason: 'unpaid', confirm: await world.slug() });
  await until(async () => (await cancelled()) > 50);
  await stack.kill('worker-bulk', 'SIGKILL');
  const atKill = await cancelled();
  await stack.start('worker-bulk');
  await until(async () => (await cancelled()) === runs.length);
  await stack.start('worker-runs');
  await until(() => isClosed(`maint:org-stop:${organizationId}`));

  expect(atKill).toBeLessThan(runs.length);
  const entries = await world.admin(
    "select resource_id, count(*)::int as count from audit_entries where resource_type = 'run' and resource_id = any ($1) and operation_id is null group by 1",
    [runs],
  );
  expect(entries).toHaveLength(runs.length);
  expect(entries.filter((entry) => entry['count'] !== 1)).toEqual([]);
  expect(await world.admin('select run_id from run_streams where run_id = any ($1) and not ended', [runs])).toEqual([]);
  expect(agent.calls()).toBe(0);
  await world.operate('POST', `/organizations/${organizationId}/resume`);
});

/** In one request, which takes up to 100. */
async function startMany(agentId: string, count: number): Promise<string[]> {
  const items = Array.from({ length: count }, () => ({ agent_id: agentId, input: { text: slow } }));
  const answer: { status: number; body: { items: { run: { id: string } | null }[] } } = await world.stack.request('POST', '/runs/batch', {
    body: { items },
  });
  const ids = answer.body.items.flatMap(({ run }) => (run ? [run.id] : []));
  expect([answer.status, ids.length]).toEqual([200, count]);
  return ids;
}

async function statusOf(runId: string): Promise<unknown> {
  return (await world.admin('select status from runs where id = $1', [runId]))[0]?.['status'];
}

/** The row alone, as if the stop had not been told yet. */
async function freeze(isFrozen: boolean): Promise<void> {
  await world.admin('update workspaces set is_active = $2 where id = $1', [world.stack.tenant.workspaceId, !isFrozen]);
}

async function isClosed(workflowId: string): Promise<boolean> {
  const described = await world.stack.temporal.client.workflow
    .getHandle(workflowId)
    .describe()
    .catch(() => null);
  return described?.status.name === 'COMPLETED';
}
