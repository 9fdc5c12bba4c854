import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { rows } from '../../db/sql.ts';
import { sweep } from '../../db/transaction.ts';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { created, makeAgent, scripted } from '../support/scenario.ts';
import { startStack, type ProcessName, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';
import { hourlyCron, occurrencesOf, tenMinuteCron, untilSucceeded } from './schedule-world.ts';
import { runUpkeep } from '../support/upkeep.ts';

let models: ModelServer;
let stack: Stack;
let agentId: string;

beforeAll(async () => {
  models = await startModelServer();
  stack = await startStack({ processes: ['api', 'api-2', 'worker-runs', 'worker-runs-2', 'worker-bulk'], modelBaseUrl: models.baseUrl });
  agentId = (await makeAgent(stack, [])).id;
});

afterAll(async () => {
  await stack?.stop();
  await models?.close();
});

const hourMs = 3_600_000;
const inSeconds = (seconds: number) => new Date(Math.floor(Date.now() / 1_000) * 1_000 + seconds * 1_000);
const answer = (delayMs = 0) => scripted({ steps: [{ text: 'Done.', ...(delayMs === 0 ? {} : { delay_ms: delayMs, tokens: 5 }) }] });
const make = async (more: Record<string, unknown>) =>
  (await created(stack, '/schedules', { agent_id: agentId, name: 'Tested', prompt_template: answer(), ...more })).id;

interface Reply {
  readonly status: number;
  // Each test says what it expects of a reply.
  readonly body: any; // oxlint-disable-line typescript/no-explicit-any
}
const call = (method: string, path: string, body?: object, process: ProcessName = 'api') =>
  stack.request(method, path, { process, ...(body === undefined ? {} : { body }) }) as Promise<Reply>;
const isSynced = async (id: string) => (await call('GET', `/schedules/${id}`)).body.sync_state === 'synced';
const runsOf = (id: string) =>
  sweep(stack.db, (em) =>
    rows<{ id: string; status: string; started: string; finished: string | null }>(
      em,
      'select id, status, created_at as started, finished_at as finished from runs where trigger_id = ? order by created_at, id',
      [id],
    ),
  );
const backfillOf = async (id: string) =>
  (
    await sweep(stack.db, (em) =>
      rows<{ status: string; started: number; failed: number }>(em, 'select status, started, failed from schedule_backfills where id = ?', [
        id,
      ]),
    )
  )[0];

test('an interval of an hour that becomes three keeps firing, three hours apart, as Temporal has it', async () => {
  const id = await make({ every_seconds: 3_600 });
  await until(() => isSynced(id));

  await call('PATCH', `/schedules/${id}`, { every_seconds: 10_800 });
  await until(() => isSynced(id));
  const { info } = await stack.temporal.client.schedule.getHandle(`trigger:${id}`).describe();
  const theirs = info.nextActionTimes.map((time) => time.getTime());
  const { body } = await call('GET', `/schedules/${id}/occurrences?upcoming=${theirs.length}`);
  const ours = (body.items as { nominal_at: string }[]).map(({ nominal_at: at }) => Date.parse(at)).toReversed();

  expect(theirs.length).toBeGreaterThan(2);
  expect(theirs.slice(1).map((at, index) => at - (theirs[index] ?? 0))).toEqual(theirs.slice(1).map(() => 3 * hourMs));
  expect(ours).toEqual(theirs);
});

test('one run per instant: a worker frozen, the other killed, schedules made over two APIs', async () => {
  const runAt = inSeconds(12).toISOString();
  const ids: string[] = [];
  for (let at = 0; at < 6; at++) {
    const body = { agent_id: agentId, name: 'Once', prompt_template: answer(), run_at: runAt };
    ids.push((await call('POST', '/schedules', body, at % 2 === 0 ? 'api' : 'api-2')).body.id);
  }
  for (const id of ids) await until(() => isSynced(id));
  await until(() => Date.now() > Date.parse(runAt) - 200);
  await stack.kill('worker-runs', 'SIGSTOP');
  await until(async () => (await Promise.all(ids.map((id) => occurrencesOf(stack.db, id)))).flat().length > 0);
  await stack.kill('worker-runs-2');
  await stack.kill('worker-runs', 'SIGCONT');
  await stack.start('worker-runs-2');

  for (const id of ids) await untilSucceeded(stack.db, id);
  for (const id of ids) expect((await runsOf(id)).map(({ status }) => status)).toEqual(['succeeded']);
});

test('a schedule that is deleted starts nothing from then on, though Temporal does not know yet', async () => {
  const runAt = inSeconds(8).toISOString();
  const [gone, paused, other] = [await make({ run_at: runAt }), await make({ run_at: runAt }), await make({ run_at: runAt })];
  for (const id of [gone, paused, other]) await until(() => isSynced(id));
  await stack.kill('worker-bulk');

  expect((await call('DELETE', `/schedules/${gone}`)).status).toBe(204);
  await call('PATCH', `/schedules/${paused}`, { is_active: false });
  await untilSucceeded(stack.db, other);
  const { info } = await stack.temporal.client.schedule.getHandle(`trigger:${gone}`).describe();
  await until(async () => (await stack.temporal.client.schedule.getHandle(`trigger:${gone}`).describe()).info.runningActions.length === 0);
  await stack.start('worker-bulk');

  expect(info.numActionsTaken).toBe(1);
  expect([await runsOf(gone), await occurrencesOf(stack.db, gone), await runsOf(paused)]).toEqual([[], [], []]);
  await until(() =>
    stack.temporal.client.schedule
      .getHandle(`trigger:${gone}`)
      .describe()
      .then(
        () => false,
        () => true,
      ),
  );
});

// Six hours.
const past = { from: '2026-01-01T00:00:00Z', to: '2026-01-01T05:59:00Z' };
const backfill = (id: string, more: object = {}) => call('POST', `/schedules/${id}/backfill`, { ...past, ...more });

test('a sequential backfill never has two live, whoever is killed or frozen; asked for again it starts none', async () => {
  const id = await make({ cron: hourlyCron(), prompt_template: answer(150) });
  const { status, body } = await backfill(id);
  await until(async () => (await runsOf(id)).length >= 1);
  await stack.kill('worker-bulk');
  await stack.start('worker-bulk');
  await until(async () => (await runsOf(id)).length >= 3);
  await stack.kill('worker-bulk', 'SIGSTOP');
  await stack.kill('worker-runs');
  await stack.start('worker-runs');
  await stack.kill('worker-bulk', 'SIGCONT');
  await untilSucceeded(stack.db, id, 6);

  const runs = await runsOf(id);
  expect([status, body.planned, runs.length]).toEqual([202, 6, 6]);
  for (const [at, run] of runs.entries()) {
    const before = runs[at - 1];
    if (before) expect(Date.parse(run.started)).toBeGreaterThanOrEqual(Date.parse(before.finished ?? ''));
  }
  await until(async () => (await backfillOf(body.id))?.status === 'done');
  expect(await backfillOf(body.id)).toEqual({ status: 'done', started: 6, failed: 0 });
  const again = await backfill(id);
  await until(async () => (await backfillOf(again.body.id))?.status === 'done');
  expect([again.body.planned, again.body.already_run, (await runsOf(id)).length]).toEqual([0, 6, 6]);
});

test('two backfills at once of the same instants start each once, sequential ones one at a time', async () => {
  const id = await make({ cron: hourlyCron(), prompt_template: answer(50) });

  const both = await Promise.all([backfill(id), backfill(id)]);
  for (const { body } of both) await until(async () => (await backfillOf(body.id))?.status === 'done');
  await untilSucceeded(stack.db, id, 6);

  const runs = await runsOf(id);
  expect(runs).toHaveLength(6);
  for (const [at, run] of runs.entries())
    expect(Date.parse(run.started)).toBeGreaterThanOrEqual(Date.parse(runs[at - 1]?.finished ?? run.started));
});

test('allow_all starts at most ten a second, and what a start is refused for is told', async () => {
  const id = await make({ cron: tenMinuteCron() });
  const { body } = await backfill(id, { overlap: 'allow_all', to: '2026-01-01T04:59:00Z' });
  await until(async () => (await backfillOf(body.id))?.status === 'done');
  await untilSucceeded(stack.db, id, 30);
  const starts = (await runsOf(id)).map(({ started }) => Date.parse(started));

  expect([body.planned, starts.length]).toEqual([30, 30]);
  // Ten are one transaction; the next ones begin a second after its end.
  expect((starts[10] ?? 0) - (starts[9] ?? 0)).toBeGreaterThanOrEqual(1_000);
  expect((starts[20] ?? 0) - (starts[19] ?? 0)).toBeGreaterThanOrEqual(1_000);

  const broken = await make({ cron: hourlyCron(), prompt_template: '{% if now == "x" %}never{% endif %}' });
  const refused = await backfill(broken);
  await until(async () => (await backfillOf(refused.body.id))?.status === 'done');
  expect(await backfillOf(refused.body.id)).toEqual({ status: 'done', started: 0, failed: 6 });
  const again = await backfill(broken);
  await until(async () => (await backfillOf(again.body.id))?.status === 'done');
  expect([again.body.planned, (await backfillOf(again.body.id))?.failed, (await occurrencesOf(stack.db, broken)).length]).toEqual([
    6, 6, 6,
  ]);
});

test('a backfill runs beside what the clock and people start, and neither skips the other', async () => {
  const id = await make({ cron: hourlyCron(), overlap: 'skip', prompt_template: answer(300) });
  await backfill(id);
  await until(async () => (await runsOf(id)).length >= 1);

  const { body } = await call('POST', `/schedules/${id}/trigger`, {});

  expect(body.status).toBe('started');
  await untilSucceeded(stack.db, id, 7);
});

test('a backfill whose workflow Temporal has lost goes on by upkeep', async () => {
  const id = await make({ cron: hourlyCron(), prompt_template: answer() });
  await stack.kill('worker-bulk');
  const { body } = await backfill(id);
  const workflow = stack.temporal.client.workflow.getHandle(`backfill:${body.id}`);
  await until(() =>
    workflow.terminate().then(
      () => true,
      () => false,
    ),
  );
  await sweep(stack.db, (em) =>
    rows(em, "update schedule_backfills set created_at = now() - interval '11 minutes' where id = ?", [body.id]),
  );
  await stack.start('worker-bulk');
  await runUpkeep(stack.temporal, 'triggers');

  await untilSucceeded(stack.db, id, 6);
  expect(await runsOf(id)).toHaveLength(6);
});
