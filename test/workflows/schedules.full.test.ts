import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sweep } from '../../db/transaction.ts';
import { rows } from '../../db/sql.ts';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { makeAgent, scripted, startRun } from '../support/scenario.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';
import { makeSchedule, occurrencesOf, scheduleRow, untilSucceeded, within, type SchedulePlace } from './schedule-world.ts';
import { executeSchedule } from '../../activities/tools/builtin/schedule.ts';
import type { ToolExecution } from '../../activities/tools/calls/outcome.ts';
import { newId } from '../../db/ids.ts';
import { fireInstant } from '../../domain/schedules/fire-instant.ts';
import { pauseSchedulesOfAgent } from '../../domain/triggers/pause.ts';
import { lockSchedule } from '../../db/triggers/schedules.ts';
import { runUpkeep } from '../support/upkeep.ts';

let models: ModelServer;
let stack: Stack;
let place: SchedulePlace;

beforeAll(async () => {
  models = await startModelServer();
  stack = await startStack({ processes: ['api', 'worker-runs', 'worker-runs-2', 'worker-bulk'], modelBaseUrl: models.baseUrl });
  place = { organizationId: stack.tenant.organizationId, workspaceId: stack.tenant.workspaceId };
});

afterAll(async () => {
  await stack?.stop();
  await models?.close();
});

const inSeconds = (seconds: number) => new Date(Math.floor(Date.now() / 1_000) * 1_000 + seconds * 1_000);
const runsOf = (scheduleId: string) =>
  sweep(stack.db, (em) =>
    rows<{ id: string; status: string; source: string; input: { text: string } }>(
      em,
      'select id, status, source, input from runs where trigger_id = ?',
      [scheduleId],
    ),
  );

test('an instant starts exactly one run, whose end closes it, while workers die and come back', async () => {
  const agent = await makeAgent(stack, []);
  const runAt = inSeconds(6);

  const id = await makeSchedule(stack.db, place, {
    agentId: agent.id,
    runAt,
    promptTemplate: `${scripted({ steps: [{ text: 'Done.' }] })}`,
  });
  await until(async () => (await scheduleRow(stack.db, id))['sync_state'] === 'synced');
  await until(() => Date.now() > runAt.getTime() - 300);
  await stack.kill('worker-runs');
  await until(async () => (await occurrencesOf(stack.db, id)).length > 0);
  await stack.kill('worker-runs-2');
  await stack.start('worker-runs');
  await untilSucceeded(stack.db, id);

  const [run, ...more] = await runsOf(id);
  expect(more).toEqual([]);
  expect(run).toMatchObject({ status: 'succeeded', source: 'schedule' });
  expect(await occurrencesOf(stack.db, id)).toEqual([expect.objectContaining({ run_id: run?.id, reason: null })]);
  expect(await scheduleRow(stack.db, id)).toMatchObject({ next_run_at: null, failure_streak: 0 });
});

test('an occurrence is one workflow with one activity, of twelve events at most', async () => {
  const agent = await makeAgent(stack, []);
  const id = await makeSchedule(stack.db, place, {
    agentId: agent.id,
    runAt: inSeconds(2),
    promptTemplate: scripted({ steps: [{ text: 'Done.' }] }),
  });
  await untilSucceeded(stack.db, id);

  const { workflow } = stack.temporal.client;
  const fired: string[] = [];
  const query = `WorkflowId STARTS_WITH 'fire:${id}' and ExecutionStatus = 'Completed'`;
  await until(async () => {
    fired.length = 0;
    for await (const { workflowId } of workflow.list({ query })) fired.push(workflowId);
    return fired.length > 0;
  });
  const { events } = await workflow.getHandle(fired[0] ?? '').fetchHistory();

  expect(fired).toHaveLength(1);
  expect(events?.filter(({ activityTaskScheduledEventAttributes: activity }) => Boolean(activity))).toHaveLength(1);
  expect(events?.length).toBeLessThanOrEqual(12);
});

test('workers away: an instant within its time is fired late, one past it is missed, never both', async () => {
  const agent = await makeAgent(stack, []);
  const prompt = scripted({ steps: [{ text: 'Late.' }] });
  const make = async (runAt: Date) => {
    const common = { agentId: agent.id, runAt, promptTemplate: prompt };
    const ids = [
      await makeSchedule(stack.db, place, common),
      await makeSchedule(stack.db, place, { ...common, catchUpSeconds: 10 }),
    ] as const;
    for (const id of ids) await until(async () => (await scheduleRow(stack.db, id))['sync_state'] === 'synced');
    return ids;
  };

  // On a busy machine the instant may come before the worker has gone.
  let runAt = inSeconds(5);
  let [late, missed] = await make(runAt);
  await Promise.all([stack.kill('worker-runs'), stack.kill('worker-runs-2')]);
  for (let seconds = 20; Date.now() >= runAt.getTime(); seconds *= 2) {
    await stack.start('worker-runs');
    runAt = inSeconds(seconds);
    [late, missed] = await make(runAt);
    await stack.kill('worker-runs');
  }
  await until(() => Date.now() > runAt.getTime() + 11_000);
  await stack.start('worker-runs');

  await untilSucceeded(stack.db, late);
  await until(async () => (await occurrencesOf(stack.db, missed))[0]?.status === 'missed');
  expect(await runsOf(late)).toHaveLength(1);
  expect(await runsOf(missed)).toEqual([]);
});

test('what is paused fires nothing, and Temporal is told', async () => {
  const agent = await makeAgent(stack, []);
  const runAt = inSeconds(6);
  const id = await makeSchedule(stack.db, place, { agentId: agent.id, runAt });
  await until(async () => (await scheduleRow(stack.db, id))['sync_state'] === 'synced');

  await within(stack.db, place, (tx) => pauseSchedulesOfAgent(tx, agent.id));
  await until(async () => (await scheduleRow(stack.db, id))['sync_state'] === 'synced');
  const { state } = await stack.temporal.client.schedule.getHandle(`trigger:${id}`).describe();

  expect(state.paused).toBe(true);
  await until(() => Date.now() > runAt.getTime() + 2_000);
  expect(await runsOf(id)).toEqual([]);
});

test('upkeep notes what nobody fired and sends again what did not reach Temporal', async () => {
  const agent = await makeAgent(stack, []);
  const id = await makeSchedule(stack.db, place, { agentId: agent.id, everySeconds: 3_600, catchUpSeconds: 60 });
  await until(async () => (await scheduleRow(stack.db, id))['sync_state'] === 'synced');
  await sweep(stack.db, (em) =>
    rows(
      em,
      `update schedules set version = version + 1, sync_state = 'pending', updated_at = now() - interval '2 minutes',
         created_at = date_trunc('second', now() - interval '3 hours 10 minutes'), evaluated_until = now() - interval '3 hours 10 minutes',
         next_run_at = now() - interval '2 hours' where id = ?`,
      [id],
    ),
  );

  await runUpkeep(stack.temporal, 'triggers');
  await until(async () => (await occurrencesOf(stack.db, id)).length === 3);
  await until(async () => (await scheduleRow(stack.db, id))['sync_state'] === 'synced');

  expect((await occurrencesOf(stack.db, id)).map(({ status, reason }) => `${status} ${reason}`)).toEqual([
    'missed never_fired',
    'missed never_fired',
    'missed never_fired',
  ]);
  expect(new Date(String((await scheduleRow(stack.db, id))['next_run_at'])).getTime()).toBeGreaterThan(Date.now());
});

test('a schedule that Temporal has lost is made there again by upkeep', async () => {
  const agent = await makeAgent(stack, []);
  const id = await makeSchedule(stack.db, place, { agentId: agent.id, everySeconds: 3_600, catchUpSeconds: 60 });
  await until(async () => (await scheduleRow(stack.db, id))['sync_state'] === 'synced');
  const schedule = stack.temporal.client.schedule.getHandle(`trigger:${id}`);
  await schedule.delete();
  await sweep(stack.db, (em) => rows(em, `update schedules set updated_at = now() - interval '3 minutes' where id = ?`, [id]));

  const isThere = async () => {
    await runUpkeep(stack.temporal, 'triggers');
    return schedule.describe().then(
      () => true,
      () => false,
    );
  };

  await until(isThere);
});

const scheduleTool = (slug: string, config: Record<string, unknown> = {}) => ({
  slug,
  kind: 'schedule',
  description: 'Plans a later run',
  config: { agent: 'self', ...config },
});

test('an agent plans a later run of itself; the call is made once although its worker is killed', async () => {
  const slug = `plan-${crypto.randomUUID().slice(0, 8)}`;
  const agent = await makeAgent(stack, [scheduleTool(slug)]);
  const at = inSeconds(8);
  const prompt = 'Remember {{ this }} and {% that %}.';
  const script = {
    steps: [{ tool_calls: [{ name: slug, arguments: { prompt, at: at.toISOString() } }] }, { text: 'Planned.', delay_ms: 30, tokens: 30 }],
  };

  const run = await startRun(stack, agent.id, scripted(script));
  await until(async () => (await plannedBy(run.id)).length > 0);
  await stack.kill('worker-runs');
  await stack.start('worker-runs');
  await until(async () => (await stack.request('GET', `/runs/${run.id}`)).body['status'] === 'succeeded');
  const [planned, ...more] = await plannedBy(run.id);
  await untilSucceeded(stack.db, planned?.id ?? '');

  expect(more).toEqual([]);
  expect((await runsOf(planned?.id ?? ''))[0]?.input.text).toBe(prompt);
});

test.each([
  ['a single run where only recurring ones are allowed', { allow: ['recurring'] }, { at: '2099-01-01T00:00:00Z' }, /recurring/],
  ['a time beyond the horizon', { horizon_days: 1 }, { at: '2099-01-01T00:00:00Z' }, /1 days ahead/],
  ['a time in the past', {}, { at: '2020-01-01T00:00:00Z' }, /future/],
  ['a cadence that is too dense', { min_interval_s: 3_600 }, { cron: '*/5 * * * *' }, /every 3600 s/],
  ['no time at all', {}, {}, /exactly one/],
  ['a broken cron', {}, { cron: '61 * * * *' }, /0 to 59/],
])('%s is a result that the model can mend', async (_name, config, args, message) => {
  const slug = `plan-${crypto.randomUUID().slice(0, 8)}`;
  const agent = await makeAgent(stack, [scheduleTool(slug, config)]);
  const script = { steps: [{ tool_calls: [{ name: slug, arguments: { prompt: 'Hi', ...args } }] }, { text: 'I see.' }] };

  const run = await startRun(stack, agent.id, scripted(script));
  await until(async () => (await stack.request('GET', `/runs/${run.id}`)).body['status'] === 'succeeded');
  const [call] = await sweep(stack.db, (em) =>
    rows<{ state: string; error: { code: string; message: string } }>(em, 'select state, error from tool_calls where run_id = ?', [run.id]),
  );

  expect(call).toMatchObject({ state: 'failed', error: { code: 'invalid_arguments', message: expect.stringMatching(message) } });
  expect(await plannedBy(run.id)).toEqual([]);
});

/** Fires one instant of a schedule now, as its activity would. */
function fireAt(id: string, nominalAt: Date, nextRunAt: Date | null): Promise<void> {
  return within(stack.db, place, async (tx) => {
    const schedule = await lockSchedule(tx, id);
    if (!schedule) throw new Error('no such schedule');
    const instant = { kind: 'regular' as const, nominalAt, localTime: nominalAt.toISOString(), shiftedFrom: null, isSkipped: false };
    const rendered = { prompt: scripted({ steps: [{ text: 'Done.' }] }), input: null, sessionKey: null, personaSlug: null, subject: null };
    await fireInstant(tx, schedule, { instant, rendered, renderFault: null, nextRunAt, currency: 'EUR', now: new Date() });
  });
}

test('an instant that jitter delays beyond its catch-up is not late', async () => {
  const agent = await makeAgent(stack, []);
  const id = await makeSchedule(stack.db, place, {
    agentId: agent.id,
    everySeconds: 3_600,
    catchUpSeconds: 10,
    jitterSeconds: 600,
    at: inSeconds(-3_600),
  });

  await fireAt(id, inSeconds(-300), inSeconds(3_000));
  await fireAt(id, inSeconds(-700), inSeconds(2_000));

  expect((await occurrencesOf(stack.db, id)).map(({ status }) => status)).toEqual(['missed', expect.stringMatching(/started|succeeded/)]);
});

test('an instant that is fired behind a later one moves nothing back', async () => {
  const agent = await makeAgent(stack, []);
  const id = await makeSchedule(stack.db, place, { agentId: agent.id, everySeconds: 60, overlap: 'allow_all', at: inSeconds(-3_600) });
  const next = inSeconds(60);

  await fireAt(id, inSeconds(0), next);
  await fireAt(id, inSeconds(-60), inSeconds(0));

  expect(new Date(String((await scheduleRow(stack.db, id))['next_run_at']))).toEqual(next);
  expect(await occurrencesOf(stack.db, id)).toHaveLength(2);
});

test('calls at once make no more schedules than a tool may have open', async () => {
  const slug = `plan-${crypto.randomUUID().slice(0, 8)}`;
  const agent = await makeAgent(stack, [scheduleTool(slug)]);
  const run = await startRun(stack, agent.id, scripted({ steps: [{ text: 'Done.' }] }));
  const config = { agent: 'self', allow: ['once'], min_interval_s: 3_600, max_active: 2, horizon_days: 90 };
  const call = () =>
    executeSchedule({
      tool: { toolId: agent.toolIds[0], kind: 'schedule', slug, config },
      toolCallId: newId(),
      args: { prompt: 'Hi', at: inSeconds(86_400).toISOString() },
      run: { id: run.id },
      place,
      variables: {},
      transact: (work) => within(stack.db, place, work),
    } as Partial<ToolExecution> as ToolExecution); // what a schedule needs of it

  const outcomes = await Promise.all(Array.from({ length: 8 }, call));

  expect(outcomes.filter(({ status }) => status === 'succeeded')).toHaveLength(2);
});

function plannedBy(runId: string): Promise<{ id: string }[]> {
  return sweep(stack.db, (em) =>
    rows<{ id: string }>(em, 'select s.id from schedules s join tool_calls c on c.id = s.tool_call_id where c.run_id = ?', [runId]),
  );
}
