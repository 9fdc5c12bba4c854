import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { attemptCallback, type SendCallbackDeps } from '../../../activities/delivery/send-callback.ts';
import { asTenant } from '../../../activities/support/tenant.ts';
import { newId } from '../../../db/ids.ts';
import { createEgress } from '../../../ports/egress/egress.ts';
import { createActivityMetrics } from '../../../ports/metrics/activity-metrics.ts';
import { answer, startReceiver, type Receiver } from '../../alerts/delivery-world.ts';
import { openWorld, type World } from '../world.ts';
import { deliver, makeHook, sqlOf, type HookScene } from './hook-calls.ts';

const egress = createEgress();
let receiver: Receiver;
let world: World;

beforeAll(async () => {
  receiver = await startReceiver();
  world = await openWorld();
});
afterAll(async () => {
  receiver?.close();
  await egress.close();
  await world?.close();
});

const sql = <T>(text: string, params: readonly unknown[] = []) => sqlOf(world)<T>(text, params);

/** A callback whose run has ended, to an address of the test; an endpoint that may be saved names a public one. */
async function makeCallback(url: string): Promise<{ scene: HookScene; id: string; runId: string }> {
  const scene = await makeHook(world, { response_mode: 'callback', callback_url: 'https://example.com/done' });
  const { body } = await deliver(world, scene, { n: 1 });
  const { organizationId, workspaceId } = scene.tenant;
  const id = newId();
  await sql("update runs set status = 'succeeded', finish_reason = 'stop', finished_at = now() where id = ?", [body.run_id]);
  await sql(
    'insert into outbound_callbacks (id, organization_id, workspace_id, endpoint_id, run_id, delivery_id, url) values (?, ?, ?, ?, ?, ?, ?)',
    [id, organizationId, workspaceId, scene.id, body.run_id, body.delivery_id, url],
  );
  return { scene, id, runId: body.run_id };
}

async function allow({ tenant }: HookScene): Promise<void> {
  const allowed = JSON.stringify([{ host: '127.0.0.1', port: receiver.port, allow_http: true }]);
  await sql('update organization_settings set egress_allowlist = ?::jsonb where organization_id = ?', [allowed, tenant.organizationId]);
}

function attempt({ scene, id }: { readonly scene: HookScene; readonly id: string }) {
  const deps: SendCallbackDeps = {
    db: world.api.db,
    keys: world.api.keys,
    egress,
    mail: null,
    metrics: createActivityMetrics([]),
    log: pino({ level: 'silent' }),
    dispatch: async () => undefined,
    env: { allowHttp: false } as SendCallbackDeps['env'], // the only setting that a callback reads
  };
  const { organizationId, workspaceId } = scene.tenant;
  return asTenant({ organizationId, workspaceId, correlationId: newId() }, () => attemptCallback(deps, id));
}

const stateOf = async (id: string) =>
  (
    await sql<{ status: string; attempts: number; last_status: number | null; last_error: string | null }>(
      'select status, attempts, last_status, last_error from outbound_callbacks where id = ?',
      [id],
    )
  )[0];

test('eight tries by the table, one at its time, then it has failed and is an event', async () => {
  const callback = await makeCallback(`http://127.0.0.1:${receiver.port}/down`);
  await allow(callback.scene);
  receiver.answers = [answer(500)];
  const waits: number[] = [];

  for (let n = 1; n <= 8; n++) {
    const step = await attempt(callback);
    const early = step.isOver ? null : await attempt(callback);
    if (!step.isOver) waits.push(step.waitMs / 1_000);
    expect([step.isOver, early?.isOver ?? false]).toEqual([n === 8, false]);
    // As if its time had come.
    await sql('update outbound_callbacks set next_attempt_at = now() where id = ?', [callback.id]);
  }
  const after = await attempt(callback);

  const table = [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000];
  expect(waits.every((wait, at) => wait >= 0.8 * (table[at] ?? 0) && wait <= 1.2 * (table[at] ?? 0))).toBe(true);
  expect([waits.length, after, receiver.received.length]).toEqual([7, { isOver: true }, 8]);
  expect(await stateOf(callback.id)).toMatchObject({ status: 'failed', attempts: 8, last_status: 500 });
  const events = await sql('select event_kind, source, payload, cause_run_id from events where workspace_id = ?', [
    callback.scene.tenant.workspaceId,
  ]);
  expect(events).toEqual([
    {
      event_kind: 'webhook.callback_failed',
      source: 'platform',
      payload: { callback_id: callback.id, endpoint_id: callback.scene.id, run_id: callback.runId, delivery_id: expect.any(String) },
      cause_run_id: callback.runId,
    },
  ]);
});

test('a longer Retry-After counts, up to a day; a redirect is not followed', async () => {
  const [asked, redirected] = [
    await makeCallback(`http://127.0.0.1:${receiver.port}/a`),
    await makeCallback(`http://127.0.0.1:${receiver.port}/b`),
  ];
  await Promise.all([allow(asked.scene), allow(redirected.scene)]);
  receiver.answers = [answer(429, '', { 'retry-after': '999999' })];
  const step = await attempt(asked);
  receiver.answers = [answer(302, '', { location: `http://127.0.0.1:${receiver.port}/elsewhere` })];
  const other = await attempt(redirected);

  expect(step).toEqual({ isOver: false, waitMs: 86_400_000 });
  expect([other.isOver, await stateOf(redirected.id)]).toEqual([false, expect.objectContaining({ status: 'pending', last_status: 302 })]);
  expect(receiver.received.map(({ path }) => path)).not.toContain('/elsewhere');
});

test('an address that is not public is never reached', async () => {
  const callback = await makeCallback(`http://127.0.0.1:${receiver.port}/inside`);

  const step = await attempt(callback);

  expect([step.isOver, await stateOf(callback.id)]).toEqual([
    false,
    expect.objectContaining({ status: 'pending', last_status: null, last_error: expect.stringContaining('egress_refused') }),
  ]);
  expect(receiver.received.map(({ path }) => path)).not.toContain('/inside');
});

test('nothing is sent of a run that is erased, or of an endpoint that is deleted', async () => {
  const [erased, deleted] = [
    await makeCallback(`http://127.0.0.1:${receiver.port}/x`),
    await makeCallback(`http://127.0.0.1:${receiver.port}/x`),
  ];
  await Promise.all([allow(erased.scene), allow(deleted.scene)]);
  const gone = [
    await world.call(erased.scene.tenant.tokens.admin, 'DELETE', `/runs/${erased.runId}`),
    await world.call(deleted.scene.tenant.tokens.admin, 'DELETE', `/webhook-endpoints/${deleted.scene.id}`),
  ];

  const steps = [await attempt(erased), await attempt(deleted)];

  expect(gone.map(({ status }) => status)).toEqual([204, 204]);
  expect([steps, (await stateOf(erased.id))?.status, (await stateOf(deleted.id))?.status]).toEqual([
    [{ isOver: true }, { isOver: true }],
    'stopped',
    'stopped',
  ]);
  expect(receiver.received.map(({ path }) => path)).not.toContain('/x');
});
