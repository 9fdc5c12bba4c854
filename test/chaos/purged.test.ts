import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { finishRun } from '../../domain/runs/end/finish-run.ts';
import { rows } from '../../db/sql.ts';
import { sweep, systemActor, transact, workspaceTenant } from '../../db/transaction.ts';
import { endOf, watchRun } from '../support/run-checks.ts';
import { makeAgent, scripted, startRun, writeTool, startScenario, type Scenario } from '../support/scenario.ts';
import { until } from '../support/temporal.ts';

let scenario: Scenario;
let effects: Scenario['effects'];
let stack: Scenario['stack'];

beforeAll(async () => {
  scenario = await startScenario();
  ({ effects, stack } = scenario);
});

afterAll(() => scenario?.stop());

/** Rows of a run by table; the tombstone and the ledger are not asked for. */
async function rowsOf(runIds: readonly string[]): Promise<Record<string, number>> {
  const tables = [
    'messages',
    'run_steps',
    'tool_calls',
    'tool_outputs',
    'approvals',
    'run_inputs',
    'run_streams',
    'run_stream_scopes',
    'run_frame_chunks',
  ];
  const counted = await sweep(stack.db, (em) =>
    rows<{ name: string; count: number }>(
      em,
      tables.map((table) => `select '${table}' as name, count(*)::int as count from ${table} where run_id = any (?)`).join(' union all '),
      tables.map(() => [...runIds]),
    ),
  );
  return Object.fromEntries(counted.map(({ name, count }) => [name, count]));
}

async function ledgerOf(runId: string): Promise<number | undefined> {
  const counted = await sweep(stack.db, (em) =>
    rows<{ count: number }>(em, "select count(*)::int as count from usage_entries where run_id = ? and kind = 'llm'", [runId]),
  );
  return counted[0]?.count;
}

async function finish(runId: string): Promise<void> {
  const { organizationId, workspaceId } = stack.tenant;
  const place = { tenant: workspaceTenant(organizationId, workspaceId), actor: systemActor, correlationId: crypto.randomUUID() };
  await transact(stack.db, place, (tx) => finishRun(tx, { runId, reason: 'cancelled' }));
}

test('a worker frozen in a tool and in a stream, resumed after their runs are purged, brings nothing back', async () => {
  const tool = writeTool(`late-${crypto.randomUUID().slice(0, 8)}`, effects);
  const agent = await makeAgent(stack, [tool]);
  const answer = Promise.withResolvers<void>();
  effects.onEffect = () => answer.promise;
  const inTool = await startRun(
    stack,
    agent.id,
    scripted({ steps: [{ tool_calls: [{ name: String(tool['slug']), arguments: { n: 1 } }] }, { text: 'Never said.' }] }),
  );
  const inStream = await startRun(stack, agent.id, scripted({ steps: [{ tokens: 2_000, delay_ms: 20 }] }));
  const runIds = [inTool.id, inStream.id];
  const reader = watchRun(stack, inStream.id);
  await until(() => effects.effects.length === 1 && reader.frames.some((frame) => frame.type === 'message.delta'));

  await stack.kill('worker-runs', 'SIGSTOP');
  for (const id of runIds) expect((await stack.request('POST', `/runs/${id}/cancel`, { body: {} })).status).toBe(202);
  // What another worker does once the frozen one is given up; waiting for that takes minutes.
  for (const id of runIds) await finish(id);
  await endOf(reader);
  for (const id of runIds) expect((await stack.request('DELETE', `/runs/${id}`)).status).toBe(204);
  const purged = await rowsOf(runIds);
  answer.resolve();
  effects.onEffect = null;
  await stack.kill('worker-runs', 'SIGCONT');
  // A later run that it brings to an end shows that it has gone on with all it had in hand.
  const after = await startRun(stack, agent.id, scripted({ steps: [{ tokens: 40, delay_ms: 50 }] }));
  await endOf(watchRun(stack, after.id));

  // What was spent is known all the same, under the run's id.
  await until(async () => (await ledgerOf(inStream.id)) === 1);
  expect(await ledgerOf(inTool.id)).toBe(1);
  expect(effects.effects).toHaveLength(1);
  expect(Object.values(purged)).toEqual(Object.values(purged).map(() => 0));
  expect(await rowsOf(runIds)).toEqual(purged);
  for (const id of runIds) expect((await stack.request('GET', `/runs/${id}`)).status).toBe(404);
  const kept = await sweep(stack.db, (em) =>
    rows<object>(em, 'select input, output, manifest, session_key from runs where id = any (?)', [runIds]),
  );
  expect(kept).toEqual(runIds.map(() => ({ input: {}, output: null, manifest: null, session_key: null })));
});
