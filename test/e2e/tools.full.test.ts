import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { newId } from '../../db/ids.ts';
import { lockLease } from '../../activities/tools/calls/lease.ts';
import { sweep, systemActor, transact, workspaceTenant } from '../../db/transaction.ts';
import { row } from '../../db/sql.ts';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { pendingOf, resolve } from '../support/approvals.ts';
import { endOf, watchRun } from '../support/run-checks.ts';
import { makeAgent, scripted, startEffectServer, startRun, writeTool, type EffectServer } from '../support/scenario.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';

let models: ModelServer;
let effects: EffectServer;
let stack: Stack;

beforeAll(async () => {
  models = await startModelServer();
  effects = await startEffectServer();
  stack = await startStack({
    processes: ['api', 'worker-runs', 'worker-runs-2'],
    modelBaseUrl: models.baseUrl,
    egressPorts: [effects.port],
  });
});

beforeEach(() => {
  effects.onEffect = null;
});

afterAll(async () => {
  await stack?.stop();
  effects?.close();
  await models?.close();
});

const slugOf = (kind: string) => `${kind}-${crypto.randomUUID().slice(0, 8)}`;
const call = (name: string) => ({ tool_calls: [{ name, arguments: { n: 1 } }] });

/** Results of the tool calls of a run, in their order, once it has ended. */
async function resultsOf(runId: string): Promise<{ status: string; error: { code: string; reason?: string } | null }[]> {
  const frames = await endOf(watchRun(stack, runId));
  return frames.filter((frame) => frame.type === 'tool.result').map((frame) => frame.data as never); // the test says what it expects
}

const change = (toolId: string, sql: string) => sweep(stack.db, (em) => row(em, `update tools set ${sql} where id = ?`, [toolId]));

test.each([
  ['given to the client', { client_owned: true }, { code: 'tool_unavailable', reason: 'client_owned' }],
  ['switched off', { is_active: false }, { code: 'tool_unavailable' }],
])('a tool that is %s during a run is refused at its next call', async (_name, body, error) => {
  const tool = writeTool(slugOf('live'), effects);
  const agent = await makeAgent(stack, [tool]);
  const before = effects.effects.length;
  effects.onEffect = async () => {
    const changed = await stack.request('PATCH', `/tools/${agent.toolIds[0]}`, { body });
    if (changed.status !== 200) throw new Error(`PATCH answered ${changed.status}`);
  };

  const run = await startRun(
    stack,
    agent.id,
    scripted({ steps: [call(String(tool['slug'])), call(String(tool['slug'])), { text: 'So be it.' }] }),
  );

  expect(await resultsOf(run.id)).toMatchObject([{ status: 'succeeded' }, { status: 'failed', error }]);
  expect(effects.effects.length).toBe(before + 1);
});

test('a tool that comes to need an approval by its effect is gated at its next call', async () => {
  const tool = writeTool(slugOf('effect'), effects, { effect: 'read' });
  const agent = await makeAgent(stack, [tool], { approvals: { write: 'ask' } });
  const before = effects.effects.length;
  effects.onEffect = async () => {
    await stack.request('PATCH', `/tools/${agent.toolIds[0]}`, { body: { effect: 'write' } });
  };
  const name = String(tool['slug']);

  const run = await startRun(stack, agent.id, scripted({ steps: [call(name), call(name), { text: 'So be it.' }] }));
  const [question] = await pendingOf(stack, run.id);
  await resolve(stack, run.id, [{ approval_id: question?.id, decision: 'reject' }]);

  expect(question).toMatchObject({ reason: 'tool_call', tool_slug: name, critical: false });
  expect(await resultsOf(run.id)).toMatchObject([{ status: 'succeeded' }, { status: 'denied' }]);
  expect(effects.effects.length).toBe(before + 1);
});

test('a quarantined or deleted tool is refused at its next call', async () => {
  const tools = [writeTool(slugOf('quarantined'), effects), writeTool(slugOf('deleted'), effects)];
  const agent = await makeAgent(stack, tools);
  const before = effects.effects.length;
  effects.onEffect = async (count) => {
    if (count !== before + 1) return;
    await change(agent.toolIds[0] ?? '', 'quarantined_at = now()');
    await stack.request('DELETE', `/tools/${agent.toolIds[1]}?force=true`);
  };
  const [first = '', second = ''] = tools.map((tool) => String(tool['slug']));

  const run = await startRun(stack, agent.id, scripted({ steps: [call(first), call(first), call(second), { text: 'So be it.' }] }));

  expect(await resultsOf(run.id)).toMatchObject([
    { status: 'succeeded' },
    { status: 'failed', error: { code: 'tool_quarantined' } },
    { status: 'failed', error: { code: 'tool_unavailable' } },
  ]);
  expect(effects.effects.length).toBe(before + 1);
});

test('a tool whose toolkit is switched off during a run is refused at its next call', async () => {
  const tool = writeTool(slugOf('of-toolkit'), effects);
  const agent = await makeAgent(stack, [tool]);
  const toolkit = await stack.request('POST', '/toolkits', { body: { slug: slugOf('kit'), name: 'Kit', kind: 'manual', config: {} } });
  const toolkitId = String(toolkit.body['id']);
  await change(agent.toolIds[0] ?? '', `toolkit_id = '${toolkitId}', remote_name = 'n'`);
  const before = effects.effects.length;
  effects.onEffect = async () => {
    const changed = await stack.request('PATCH', `/toolkits/${toolkitId}`, { body: { is_active: false } });
    if (changed.status !== 200) throw new Error(`PATCH answered ${changed.status}`);
  };
  const name = String(tool['slug']);

  const run = await startRun(stack, agent.id, scripted({ steps: [call(name), call(name), { text: 'So be it.' }] }));

  expect(await resultsOf(run.id)).toMatchObject([{ status: 'succeeded' }, { status: 'failed', error: { code: 'tool_unavailable' } }]);
  expect(effects.effects.length).toBe(before + 1);
});

test('a run that may only read is offered a tool that writes, and never executes it', async () => {
  const read = writeTool(slugOf('read'), effects, { effect: 'read' });
  const write = writeTool(slugOf('write'), effects);
  const agent = await makeAgent(stack, [read, write]);
  const before = effects.effects.length;
  effects.onEffect = async () => {
    await sweep(stack.db, (em) => row(em, `update runs set max_effect = 'read' where id = ?`, [run.id]));
  };

  const run = await startRun(
    stack,
    agent.id,
    scripted({ steps: [call(String(read['slug'])), call(String(write['slug'])), { text: 'Only read.' }] }),
  );

  expect(await resultsOf(run.id)).toMatchObject([{ status: 'succeeded' }, { status: 'failed', error: { code: 'effect_not_allowed' } }]);
  expect(effects.effects.length).toBe(before + 1);
});

test('a tool that is silent for longer than any heartbeat succeeds within its timeout', async () => {
  const tool = writeTool(slugOf('silent'), effects, { timeout_s: 30 });
  const agent = await makeAgent(stack, [tool]);
  const before = effects.effects.length;
  effects.onEffect = () => delay(13_000);

  const run = await startRun(stack, agent.id, scripted({ steps: [call(String(tool['slug'])), { text: 'At last.' }] }));

  expect(await resultsOf(run.id)).toMatchObject([{ status: 'succeeded' }]);
  expect(effects.effects.length).toBe(before + 1);
});

test('two runs never overlap in an exclusive tool', async () => {
  const tool = writeTool(slugOf('exclusive'), effects, { concurrency: 'exclusive', effect: 'read' });
  const agent = await makeAgent(stack, [tool]);
  let [inside, most] = [0, 0];
  effects.onEffect = async () => {
    inside += 1;
    most = Math.max(most, inside);
    await delay(400);
    inside -= 1;
  };

  const script = scripted({ steps: [call(String(tool['slug'])), { text: 'Done.' }] });
  const runs = await Promise.all(Array.from({ length: 5 }, () => startRun(stack, agent.id, script)));
  const results = await Promise.all(runs.map((run) => resultsOf(run.id)));

  expect(results.flat().map(({ status }) => status)).toEqual(Array.from({ length: 5 }, () => 'succeeded'));
  expect(most).toBe(1);
});

test('an exclusive tool that stays busy is a result for the model, and nothing was executed', async () => {
  const tool = writeTool(slugOf('busy'), effects, { concurrency: 'exclusive', timeout_s: 2 });
  const agent = await makeAgent(stack, [tool]);
  const before = effects.effects.length;
  const { organizationId, workspaceId } = stack.tenant;
  await sweep(stack.db, (em) =>
    row(
      em,
      `insert into tool_leases (workspace_id, tool_id, organization_id, call_id, expires_at, created_at) values (?, ?, ?, ?, now() + interval '1 hour', now())`,
      [workspaceId, agent.toolIds[0], organizationId, newId()],
    ),
  );

  const run = await startRun(stack, agent.id, scripted({ steps: [call(String(tool['slug'])), { text: 'Later then.' }] }));

  expect(await resultsOf(run.id)).toMatchObject([{ status: 'failed', error: { code: 'tool_busy' } }]);
  expect(effects.effects.length).toBe(before);
});

test('the lease of a dead holder lapses: its effect happened once, and the next run goes on', async () => {
  const tool = writeTool(slugOf('held'), effects, { concurrency: 'exclusive', timeout_s: 60 });
  const agent = await makeAgent(stack, [tool]);
  const before = effects.effects.length;
  let isKilled = false;
  effects.onEffect = async (count) => {
    if (count !== before + 1) return;
    await Promise.all([stack.kill('worker-runs'), stack.kill('worker-runs-2')]);
    isKilled = true;
  };
  const script = scripted({ steps: [call(String(tool['slug'])), { text: 'Done.' }] });

  const first = await startRun(stack, agent.id, script);
  await until(() => isKilled);
  const second = await startRun(stack, agent.id, script);
  await stack.start('worker-runs');

  const [ofFirst, ofSecond] = await Promise.all([resultsOf(first.id), resultsOf(second.id)]);
  expect(ofFirst).toMatchObject([{ status: 'failed', error: { code: 'outcome_unknown' } }]);
  expect(ofSecond).toMatchObject([{ status: 'succeeded' }]);
  expect(effects.effects.length).toBe(before + 2);
});

test('a try that was replaced neither keeps nor gives free the lease of the next one', async () => {
  const agent = await makeAgent(stack, [writeTool(slugOf('fenced'), effects, { concurrency: 'exclusive' })]);
  const { organizationId, workspaceId } = stack.tenant;
  const tenant = workspaceTenant(organizationId, workspaceId);
  const hold = (holder: string) =>
    lockLease({
      transact: async (work) => (await transact(stack.db, { tenant, actor: systemActor, correlationId: newId() }, work)).value,
      key: { organizationId, workspaceId, toolId: agent.toolIds[0] ?? '', holder },
      waitMs: 200,
      signal: new AbortController().signal,
    });
  const holder = newId();

  const first = await hold(holder);
  const second = await hold(holder);
  await until(() => first?.signal.aborted === true);
  await first?.release();
  const other = await hold(newId());
  await second?.release();

  expect([second?.signal.aborted, other]).toEqual([false, null]);
});
