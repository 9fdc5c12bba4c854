import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { rows } from '../../db/sql.ts';
import { sweep } from '../../db/transaction.ts';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { createClocks } from '../support/clocks.ts';
import { created, makeAgent, scripted } from '../support/scenario.ts';
import { startStack, type ProcessName, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';
import { occurrencesOf, scheduleRow } from './schedule-world.ts';
import { runUpkeep } from '../support/upkeep.ts';

// Every process of ours has a clock of its own that is wrong; PostgreSQL's counts, and of a firing Temporal's.
const names: readonly ProcessName[] = ['api', 'worker-runs', 'worker-bulk'];
const clocks = createClocks();
let models: ModelServer;
let stack: Stack;
let agentId: string;

beforeAll(async () => {
  models = await startModelServer();
  stack = await startStack({
    processes: names,
    modelBaseUrl: models.baseUrl,
    ...clocks.options,
  });
  agentId = (await makeAgent(stack, [])).id;
});

afterAll(async () => {
  await stack?.stop();
  await models?.close();
  clocks.remove();
});

const hourMs = 3_600_000;
const runsOf = (id: string) => sweep(stack.db, (em) => rows<{ id: string }>(em, 'select id from runs where trigger_id = ?', [id]));

const startsOf = (id: string) =>
  sweep(stack.db, (em) =>
    rows<{ started_at: string; reason: string | null }>(em, 'select started_at, reason from schedule_occurrences where schedule_id = ?', [
      id,
    ]),
  );

test.each([
  ['an hour ahead', hourMs],
  ['an hour behind', -hourMs],
  ['a day ahead', 24 * hourMs],
  ['a day behind', -24 * hourMs],
])('processes whose clock is %s: an instant is fired once and is not late, one that is past is refused', async (_how, ms) => {
  await clocks.set(stack, Object.fromEntries(names.map((name) => [name, ms])));
  const prompt = scripted({ steps: [{ text: 'Done.' }] });
  const make = async (more: object) =>
    (await created(stack, '/schedules', { agent_id: agentId, name: 'Clock', prompt_template: prompt, catch_up_seconds: 60, ...more })).id;

  const runAt = new Date(Math.floor(Date.now() / 1_000) * 1_000 + 8_000).toISOString();
  const once = await make({ run_at: runAt });
  const hourly = await make({ every_seconds: 3_600 });
  const past = new Date(Date.now() - 600_000).toISOString();
  const body = { agent_id: agentId, name: 'Past', prompt_template: prompt, run_at: past };
  const refused = await stack.request('POST', '/schedules', { body });
  const isStarted = async (id: string) => ((await occurrencesOf(stack.db, id))[0]?.run_id ?? null) !== null;
  await until(() => isStarted(once));
  await runUpkeep(stack.temporal, 'triggers');
  await stack.request('POST', `/schedules/${hourly}/trigger`, { body: {} });
  await until(() => isStarted(hourly));

  expect(refused.status).toBe(422);
  expect(await runsOf(once)).toHaveLength(1);
  const [fired, ...others] = await startsOf(once);
  expect([others, fired?.reason]).toEqual([[], null]);
  expect(Math.abs(Date.parse(fired?.started_at ?? '') - Date.parse(runAt))).toBeLessThan(600_000);
  const next = Date.parse(String((await scheduleRow(stack.db, hourly))['next_run_at']));
  expect(Math.abs(next - Date.now() - hourMs)).toBeLessThan(600_000);
  // Nobody has missed anything, whatever the clock of the worker that looked for it.
  const [manual, ...more] = await occurrencesOf(stack.db, hourly);
  expect(more).toEqual([]);
  expect(Math.abs(Date.parse(manual?.nominal_at ?? '') - Date.now())).toBeLessThan(600_000);
});
