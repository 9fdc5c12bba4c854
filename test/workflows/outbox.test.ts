import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { workflowIds } from '../../workflows/contracts/queues.ts';
import type { Pace } from '../../temporal/pace.ts';
import { startRelay, type Relay } from '../../temporal/relay.ts';
import { makeAgent } from '../api/world.ts';
import { patienceMs, until } from '../support/temporal.ts';
import { silent } from '../support/worker.ts';
import { openOutboxWorld, type OutboxWorld } from './outbox-world.ts';

let outbox: OutboxWorld;
let token: string;
let agentId: string;

beforeAll(async () => {
  outbox = await openOutboxWorld();
});

beforeEach(async () => {
  const { tokens } = await outbox.world.tenant();

  token = tokens.admin;
  agentId = (await makeAgent(outbox.world, token)).id;
});

afterAll(() => outbox.close());

test('a start that Temporal could not take is still 202 and is sent once by any of the relays', async () => {
  const runId = await start();
  const relays = [relay(), relay()];

  await until(() => outbox.isOpen(workflowIds.run(runId)));
  await until(async () => (await unsent()) === 0);
  await Promise.all(relays.map((one) => one.stop()));

  const [row] = await outbox.admin('select attempts, last_error from outbox where dedupe_key = $1', [workflowIds.run(runId)]);
  const runs = await outbox.startsOf(workflowIds.run(runId));
  // A send that outlasts its lease of half a second, on a busy machine, is taken by the other relay too: the workflow starts once all the same.
  expect(row).toMatchObject({ attempts: expect.any(Number), last_error: null });
  expect(runs).toBe(1);
});

test('rows younger than two seconds are left to the process that wrote them', async () => {
  const runId = await start();
  const one = relay();

  await one.stop();
  await one.pass();

  expect(await outbox.isOpen(workflowIds.run(runId))).toBe(false);
});

test('a row that Temporal refuses waits for its next try and keeps no other from being sent', async () => {
  const poison = await start();
  const runId = await start();
  await outbox.admin(
    `update outbox set created_at = now() - interval '10 s', payload = jsonb_set(payload, '{workflowId}', to_jsonb(repeat('x', 2000))) where dedupe_key = $1`,
    [workflowIds.run(poison)],
  );
  await outbox.admin(`update outbox set created_at = now() - interval '5 s' where dedupe_key = $1`, [workflowIds.run(runId)]);
  const one = relay();

  await until(() => outbox.isOpen(workflowIds.run(runId)));
  await one.stop();

  const [row] = await outbox.admin('select sent_at, last_error from outbox where dedupe_key = $1', [workflowIds.run(poison)]);
  expect(row).toEqual({ sent_at: null, last_error: expect.any(String) });
  await outbox.admin('update outbox set sent_at = now() where dedupe_key = $1', [workflowIds.run(poison)]);
});

test('the start of a run that is cancelled before anybody has sent it is taken back: no workflow is started to find that out', async () => {
  const runId = await start();
  expect((await outbox.world.call(token, 'POST', `/runs/${runId}/cancel`, { body: {} })).status).toBe(202);

  const [row] = await outbox.admin('select sent_at is not null as settled, attempts, last_error from outbox where dedupe_key = $1', [
    workflowIds.run(runId),
  ]);
  expect(row).toEqual({ settled: true, attempts: 0, last_error: 'withdrawn' });
  expect(await outbox.runStatus(runId)).toBe('cancelled');
});

test('a cancel without a workflow settles its row and makes the run due at once', async () => {
  const runId = await start();
  await outbox.admin(`update runs set status = 'running', started_at = now() where id = $1`, [runId]);
  await outbox.admin(`update outbox set sent_at = now()`);
  expect((await outbox.world.call(token, 'POST', `/runs/${runId}/cancel`, { body: {} })).status).toBe(202);
  await outbox.admin(`update outbox set created_at = now() - interval '5 s' where sent_at is null`);
  const one = relay();

  await until(async () => (await unsent()) === 0);
  await one.stop();
  const [row] = await outbox.admin("select reconciled_at = 'epoch' as due from runs where id = $1", [runId]);
  expect(row).toEqual({ due: true });

  await outbox.reconciler.pass(AbortSignal.timeout(patienceMs));
  expect(await outbox.runStatus(runId)).toBe('cancelled');
});

test.each([-600_000, 600_000])(
  'a delayed start is begun at its time by the database, also where the clock of its sender is %d ms off',
  async (offMs) => {
    const runId = await start({ start_after: new Date(Date.now() + 60_000).toISOString() });
    await outbox.admin(`update outbox set created_at = now() - interval '5 s' where dedupe_key = $1`, [workflowIds.delayedStart(runId)]);

    await withClock(offMs, async () => {
      const one = relay();
      await until(async () => (await unsent()) === 0);
      await one.stop();
    });

    const workflow = await outbox.place.temporal.client.workflow.getHandle(workflowIds.delayedStart(runId)).describe();
    const delayMs = (workflow.executionTime?.getTime() ?? 0) - workflow.startTime.getTime();
    expect(delayMs).toBeGreaterThan(20_000);
    expect(delayMs).toBeLessThanOrEqual(61_000);
  },
);

test('whether a start is early the database says, also where the clock of the API runs ahead', async () => {
  const startAfter = new Date(Date.now() + 60_000).toISOString();

  await withClock(600_000, async () => {
    const runId = await start({ start_after: startAfter });
    expect(await outbox.admin('select activated_at, start_after is not null as is_delayed from runs where id = $1', [runId])).toEqual([
      { activated_at: null, is_delayed: true },
    ]);
  });
  await outbox.admin('update outbox set sent_at = now() where sent_at is null');
});

test('while a crowd of starts is held back, cancels are sent and the relay can be stopped', async () => {
  await outbox.admin(`update outbox set sent_at = now() where sent_at is null`);
  const runIds: string[] = [];
  for (let n = 0; n < 8; n++) runIds.push(await start());
  await outbox.admin(`update outbox set created_at = now() - interval '10 s' where sent_at is null`);
  const one = relay({ after: () => 600_000 });
  await until(async () => (await unsent()) === 2);
  const running = runIds[0] ?? '';
  await outbox.admin(`update runs set status = 'running', started_at = now() where id = $1`, [running]);
  expect((await outbox.world.call(token, 'POST', `/runs/${running}/cancel`, { body: {} })).status).toBe(202);
  await outbox.admin(`update outbox set created_at = now() - interval '5 s' where kind = 'workflow.cancel'`);

  await until(async () => (await outbox.admin(`select from outbox where kind = 'workflow.cancel' and sent_at is null`)).length === 0);
  await one.stop();

  const left = await outbox.admin(`select kind from outbox where sent_at is null`);
  expect(left).toEqual([{ kind: 'workflow.start' }, { kind: 'workflow.start' }]);
  await outbox.admin(`update outbox set sent_at = now() where sent_at is null`);
});

function relay(pace?: Pace): Relay {
  return startRelay({ temporal: outbox.place.temporal, db: outbox.world.api.db, log: silent, pace });
}

/** Plays `work` in a process whose wall clock is that far off. */
async function withClock(offMs: number, work: () => Promise<void>): Promise<void> {
  const RealDate = Date;
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args: unknown[], newTarget) =>
      Reflect.construct(target, args.length === 0 ? [RealDate.now() + offMs] : args, newTarget) as object,
    get: (target, key, receiver) => (key === 'now' ? () => RealDate.now() + offMs : (Reflect.get(target, key, receiver) as unknown)),
  });
  await work().finally(() => {
    globalThis.Date = RealDate;
  });
}

async function start(more: object = {}): Promise<string> {
  const asked = { agent_id: agentId, input: { text: 'Hi' }, ...more };
  const { status, body } = await outbox.world.call(token, 'POST', '/runs', { body: asked });

  if (status !== 202) throw new Error(`createRun: ${status}`);
  return body.id;
}

async function unsent(): Promise<number> {
  const [row] = await outbox.admin('select count(*)::int as count from outbox where sent_at is null');

  return Number(row?.['count']);
}
