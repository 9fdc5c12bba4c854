import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startDelayed } from '../../../domain/runs/start/delayed-start.ts';
import { sweep } from '../../../db/transaction.ts';
import { runsAsActivities, type RunsAsActivities } from '../../support/runs-as-activities.ts';
import type { TestTenant } from '../../support/tenant.ts';
import { makeAgent, openWorld, type World } from '../world.ts';
import { dueRuns } from '../../../db/runs/end/reconcile.ts';

let world: World;
let place: RunsAsActivities;
let tenant: TestTenant;
let agentId: string;

beforeAll(async () => {
  world = await openWorld();
  place = runsAsActivities(world);
  tenant = await world.tenant();
  agentId = (await makeAgent(world, tenant.tokens.admin)).id;
});

afterAll(() => world.close());

const start = (body: object) =>
  world.call(tenant.tokens.member, 'POST', '/runs', { body: { agent_id: agentId, input: { text: 'Hi' }, ...body } });
const read = async (runId: string) => (await world.call(tenant.tokens.viewer, 'GET', `/runs/${runId}`)).body;
const later = (seconds: number) => new Date(Date.now() + seconds * 1_000).toISOString();
const admit = (runId: string) => place.asRun(tenant, runId, (tx) => startDelayed(tx, runId));
const makeDue = (runId: string) => place.query("update runs set start_after = now() - interval '1 minute' where id = ?", [runId]);
const outboxOf = (target: string) =>
  place.query<{ kind: string; payload: Record<string, unknown> }>('select kind, payload from outbox where target = ? order by id', [
    target,
  ]);
const lineOf = async (runId: string) =>
  (
    await place.query<Record<string, unknown>>(
      'select c.active_run_id, c.queue_length from conversations c join runs r on r.conversation_id = c.id where r.id = ?',
      [runId],
    )
  )[0];
let keys = 0;
const newKey = () => `key-${(keys += 1)}`;

/** A run that is delayed behind an active one of the same conversation, its time come. */
async function dueBehindActive(onBusy: string) {
  const sessionKey = newKey();
  const delayed = (await start({ session_key: sessionKey, on_busy: onBusy, start_after: later(3_600) })).body.id as string;
  const active = (await start({ session_key: sessionKey })).body.id as string;
  await place.begin(tenant, active);
  await makeDue(delayed);
  return { delayed, active };
}

test('a delayed run waits outside the line, and its workflow for its time', async () => {
  const startAfter = later(3_600);
  const { status, body } = await start({ session_key: newKey(), start_after: startAfter });

  expect(status).toBe(202);
  expect(body).toMatchObject({ admission: 'delayed', status: 'queued', queue_position: null, start_after: startAfter, last_seq: 1 });
  expect(await lineOf(body.id)).toEqual({ active_run_id: null, queue_length: 0 });
  expect(await outboxOf(`run:${body.id}`)).toEqual([]);
  expect(await outboxOf(`start:${body.id}`)).toMatchObject([
    { kind: 'workflow.start', payload: { workflowType: 'delayedStart', startAt: startAfter, args: [{ runId: body.id }] } },
  ]);
});

test.each([
  [{ start_after: new Date(Date.now() + 367 * 86_400_000).toISOString() }, '/start_after'],
  [{ start_after: later(60), mode: 'wait' }, '/start_after'],
  [{ start_after: 'tomorrow' }, '/start_after'],
])('a start that can not be delayed so is refused: %j', async (body, pointer) => {
  const refused = await start(body);

  expect(refused).toMatchObject({ status: 422, body: { errors: [{ pointer }] } });
});

test('a time that has passed starts at once', async () => {
  expect(await start({ start_after: later(-60) })).toMatchObject({ status: 202, body: { admission: 'started' } });
});

test('before its time nothing happens, at its time it becomes active, once', async () => {
  const { body } = await start({ start_after: later(3_600) });

  const early = await admit(body.id);
  await makeDue(body.id);
  const [first, second] = [await admit(body.id), await admit(body.id)];

  expect(early).toMatchObject({ isDone: false });
  expect(early.isDone ? 0 : early.dueInMs).toBeGreaterThan(3_500_000);
  expect([first, second]).toEqual([{ isDone: true }, { isDone: true }]);
  expect(await lineOf(body.id)).toEqual({ active_run_id: body.id, queue_length: 0 });
  expect(await outboxOf(`run:${body.id}`)).toMatchObject([{ kind: 'workflow.start' }]);
  await place.begin(tenant, body.id);
  expect(await read(body.id)).toMatchObject({ status: 'running' });
  expect(await place.faults(body.id)).toEqual([]);
});

test.each([
  ['enqueue', { status: 'queued', queue_position: 1 }, 'running'],
  ['steer', { status: 'queued', queue_position: 1 }, 'running'],
  ['interrupt', { status: 'queued', queue_position: 1 }, 'cancelling'],
  ['rollback', { status: 'queued', queue_position: 1 }, 'cancelling'],
  ['reject', { status: 'failed', finish_reason: 'error', error: { code: 'state_conflict', reason: 'conversation_busy' } }, 'running'],
])('when it is due beside an active run, %s decides', async (onBusy, expected, activeStatus) => {
  const { delayed, active } = await dueBehindActive(onBusy);

  expect(await admit(delayed)).toEqual({ isDone: true });

  expect(await read(delayed)).toMatchObject(expected);
  expect(await read(active)).toMatchObject({ status: activeStatus });
  for (const id of [delayed, active]) expect(await place.faults(id)).toEqual([]);
});

test('it waits outside as long as the line is full', async () => {
  const { delayed, active } = await dueBehindActive('enqueue');
  await place.query('update conversations set queue_length = 20 where id = (select conversation_id from runs where id = ?)', [active]);

  expect(await admit(delayed)).toMatchObject({ isDone: false });
  await place.query('update conversations set queue_length = 0 where id = (select conversation_id from runs where id = ?)', [active]);
  expect(await admit(delayed)).toEqual({ isDone: true });
  expect(await read(delayed)).toMatchObject({ queue_position: 1 });
});

test('cancelled before its time it has ended, the line is as it was, and its workflow is cancelled', async () => {
  const { delayed, active } = await dueBehindActive('enqueue');
  const inLine = (await start({ session_key: (await read(active)).session_key })).body.id;

  const cancelled = await world.call(tenant.tokens.member, 'POST', `/runs/${delayed}/cancel`);

  expect(cancelled).toMatchObject({ status: 202, body: { status: 'cancelled', finish_reason: 'cancelled' } });
  expect(await lineOf(active)).toEqual({ active_run_id: active, queue_length: 1 });
  expect(await read(inLine)).toMatchObject({ queue_position: 1 });
  expect((await outboxOf(`start:${delayed}`)).map(({ kind }) => kind)).toEqual(['workflow.start', 'workflow.cancel']);
  expect(await admit(delayed)).toEqual({ isDone: true });
  expect(await read(delayed)).toMatchObject({ status: 'cancelled' });
});

test('a message to a delayed run joins its input', async () => {
  const { body } = await start({ start_after: later(3_600) });

  const added = await world.call(tenant.tokens.member, 'POST', `/runs/${body.id}/input`, { body: { kind: 'message', text: 'More' } });

  expect(added).toMatchObject({ status: 202, body: { status: 'queued', input: { text: 'Hi\n\nMore' } } });
});

test('the reconciler finds those whose workflow never came, and no others', async () => {
  const [due, early] = [await start({ start_after: later(3_600) }), await start({ start_after: later(3_600) })];
  await makeDue(due.body.id);

  const found = (await sweep(world.api.db, (em) => dueRuns(em, 100))).map(({ id }) => id);

  expect(found).toContain(due.body.id);
  expect(found).not.toContain(early.body.id);
});
