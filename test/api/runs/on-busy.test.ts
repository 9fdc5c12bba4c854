import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openModelStep } from '../../../domain/runs/steps/model-steps.ts';
import { runsAsActivities, type RunsAsActivities } from '../../support/runs-as-activities.ts';
import type { TestTenant } from '../../support/tenant.ts';
import { makeAgent, openWorld, type World } from '../world.ts';

let world: World;
let place: RunsAsActivities;

beforeAll(async () => {
  world = await openWorld();
  place = runsAsActivities(world);
});

afterAll(() => world.close());

interface Talk {
  readonly tenant: TestTenant;
  start(text: string, extra?: object): Promise<{ status: number; body: { id: string } & Record<string, never> }>;
  read(runId: string): Promise<Record<string, unknown>>;
}

/** A conversation of one session key. */
async function talk(): Promise<Talk> {
  const tenant = await world.tenant();
  const agent = await makeAgent(world, tenant.tokens.admin);
  return {
    tenant,
    start: (text, extra = {}) =>
      world.call(tenant.tokens.member, 'POST', '/runs', { body: { agent_id: agent.id, input: { text }, session_key: 's', ...extra } }),
    read: async (runId) => (await world.call(tenant.tokens.viewer, 'GET', `/runs/${runId}`)).body,
  };
}

const conversationOf = async (runId: string) =>
  (
    await place.query<Record<string, unknown>>(
      'select c.active_run_id, c.queue_length, c.turn_no from conversations c join runs r on r.conversation_id = c.id where r.id = ?',
      [runId],
    )
  )[0];
const outboxOf = async (target: string) =>
  (await place.query<{ kind: string }>('select kind from outbox where target = ? order by id', [target])).map(({ kind }) => kind);

test.each(['interrupt', 'rollback'])('%s goes before the line, and the active run ends as superseded for it', async (onBusy) => {
  const { tenant, start, read } = await talk();
  const active = (await start('First')).body.id;
  await place.begin(tenant, active);
  const waiting = (await start('Second')).body.id;

  const urgent = await start('Third', { on_busy: onBusy });

  expect(urgent).toMatchObject({ status: 202, body: { admission: 'queued', queue_position: 1, status: 'queued', on_busy: onBusy } });
  expect(await read(waiting)).toMatchObject({ queue_position: 2 });
  expect(await read(active)).toMatchObject({ status: 'cancelling', cancel_policy: onBusy });
  expect(await outboxOf(`run:${active}`)).toEqual(['workflow.start', 'workflow.cancel']);

  await place.finish(tenant, active, { reason: 'cancelled' });
  expect(await read(active)).toMatchObject({ status: 'cancelled', finish_reason: 'superseded' });
  expect(await read(urgent.body.id)).toMatchObject({ status: 'queued', queue_position: null });
  expect(await conversationOf(active)).toEqual({ active_run_id: urgent.body.id, queue_length: 1, turn_no: 2 });
  const [message] = (await world.call(tenant.tokens.viewer, 'GET', `/runs/${active}/messages?include_discarded=true`)).body.items;
  expect(message.state).toBe(onBusy === 'rollback' ? 'discarded' : 'committed');
  for (const id of [active, waiting, urgent.body.id]) expect(await place.faults(id)).toEqual([]);
});

test('a run that has not begun gives its place at once', async () => {
  const { start, read } = await talk();
  const active = (await start('First')).body.id;
  const waiting = (await start('Second')).body.id;

  const urgent = await start('Third', { on_busy: 'interrupt' });

  expect(urgent).toMatchObject({ status: 202, body: { admission: 'started', queue_position: null, status: 'queued', last_seq: 2 } });
  expect(await read(active)).toMatchObject({ status: 'cancelled', finish_reason: 'superseded', started_at: null });
  expect(await read(waiting)).toMatchObject({ queue_position: 1 });
  expect(await conversationOf(active)).toEqual({ active_run_id: urgent.body.id, queue_length: 1, turn_no: 2 });
  expect(await outboxOf(`run:${urgent.body.id}`)).toEqual(['workflow.start']);
  for (const id of [active, urgent.body.id]) expect(await place.faults(id)).toEqual([]);
});

test('two that interrupt at once: both are taken, the active run is cancelled once', async () => {
  const { tenant, start, read } = await talk();
  const active = (await start('First')).body.id;
  await place.begin(tenant, active);

  const both = await Promise.all([start('Second', { on_busy: 'interrupt' }), start('Third', { on_busy: 'rollback' })]);

  expect(both.map(({ status }) => status)).toEqual([202, 202]);
  const positions = await Promise.all(both.map(async ({ body }) => (await read(body.id))['queue_position']));
  expect(positions.toSorted()).toEqual([1, 2]);
  const cancelling = (await place.frames(active)).filter((frame) => frame.type === 'run.status' && frame.data.status === 'cancelling');
  expect(cancelling).toHaveLength(1);
});

test('steering joins a run that has not begun: its input is both', async () => {
  const { tenant, start, read } = await talk();
  const active = (await start('First')).body.id;

  const steered = await start('And second', { on_busy: 'steer', input: { text: 'And second', json: { a: 1 } } });

  expect(steered).toMatchObject({
    status: 202,
    body: { id: active, admission: 'steered', input: { text: 'First\n\nAnd second', json: { a: 1 } } },
  });
  expect(await conversationOf(active)).toEqual({ active_run_id: active, queue_length: 0, turn_no: 1 });
  await place.begin(tenant, active);
  const [message] = (await place.frames(active)).filter((frame) => frame.type === 'message.completed');
  expect(message?.data).toMatchObject({
    content: [
      { type: 'text', text: 'First\n\nAnd second' },
      { type: 'json', value: { a: 1 } },
    ],
  });
  expect(await read(active)).toMatchObject({ status: 'running' });
});

test('steering joins a running one before its next model call, and keeps it from ending unread', async () => {
  const { tenant, start, read } = await talk();
  const active = (await start('First')).body.id;
  await place.begin(tenant, active);
  await place.asRun(tenant, active, (tx) => openModelStep(tx, { runId: active, step: 1 }));

  const steered = await start('Second', { on_busy: 'steer' });

  expect(steered).toMatchObject({ status: 202, body: { id: active, admission: 'steered', status: 'running', input: { text: 'First' } } });
  expect(await outboxOf(`run:${active}`)).toEqual(['workflow.start', 'workflow.signal']);
  expect(await place.finish(tenant, active, { reason: 'stop' })).toBe(true);
  const opened = await place.asRun(tenant, active, (tx) => openModelStep(tx, { runId: active, step: 2 }));
  const heard = opened.kind === 'open' ? opened.history.map(({ role, content }) => [role, content]) : [];
  expect(heard).toEqual([
    ['user', [{ type: 'text', text: 'First' }]],
    ['user', [{ type: 'text', text: 'Second' }]],
  ]);
  expect((await place.frames(active)).at(-1)).toMatchObject({ type: 'message.completed', data: { role: 'user', origin: 'user' } });
  expect(await place.finish(tenant, active, { reason: 'stop' })).toBe(false);
  expect(await read(active)).toMatchObject({ status: 'succeeded' });
  expect(await place.faults(active)).toEqual([]);
});

test('steering a run that is being cancelled waits in line like any other', async () => {
  const { tenant, start } = await talk();
  const active = (await start('First')).body.id;
  await place.begin(tenant, active);
  await world.call(tenant.tokens.member, 'POST', `/runs/${active}/cancel`);

  const next = await start('Second', { on_busy: 'steer' });

  expect(next.body.id).not.toBe(active);
  expect(next).toMatchObject({ status: 202, body: { admission: 'queued', queue_position: 1 } });
});

test('what a run did not read is read by the next one of the conversation', async () => {
  const { tenant, start } = await talk();
  const active = (await start('First')).body.id;
  await place.begin(tenant, active);
  await start('Never heard', { on_busy: 'steer' });
  await place.finish(tenant, active, { reason: 'max_output' });

  const next = (await start('Second')).body.id;
  await place.begin(tenant, next);
  const opened = await place.asRun(tenant, next, (tx) => openModelStep(tx, { runId: next, step: 1 }));

  const texts =
    opened.kind === 'open' ? opened.history.flatMap(({ content }) => content.map((block) => 'text' in block && block.text)) : [];
  expect(texts).toEqual(['First', 'Second', 'Never heard']);
  const read = await place.query('select run_id from messages where id in (select id from run_inputs where run_id = ?)', [active]);
  expect(read).toEqual([{ run_id: next }]);
});

test.each(['enqueue', 'interrupt', 'rollback'])('a full line refuses %s, and cancels nothing', async (onBusy) => {
  const { tenant, start, read } = await talk();
  const active = (await start('First')).body.id;
  await place.begin(tenant, active);
  await place.query('update conversations set queue_length = 20 where id = (select conversation_id from runs where id = ?)', [active]);

  const refused = await start('One too many', { on_busy: onBusy });

  expect(refused).toMatchObject({ status: 409, body: { context: { reason: 'conversation_queue_full', active_run_id: active } } });
  expect(await read(active)).toMatchObject({ status: 'running' });
});

test('with mode wait each policy does the same; steering waits for the active run', async () => {
  const { tenant, start, read } = await talk();
  const active = (await start('First')).body.id;
  await place.begin(tenant, active);
  const wait = { mode: 'wait', wait_timeout_s: 1 };

  const refused = await start('Second', { ...wait, on_busy: 'reject' });
  const steered = await start('Third', { ...wait, on_busy: 'steer' });
  const urgent = await start('Fourth', { ...wait, on_busy: 'interrupt' });

  expect(refused).toMatchObject({ status: 409, body: { context: { reason: 'conversation_busy' } } });
  expect(steered).toMatchObject({ status: 202, body: { id: active, admission: 'steered' } });
  expect(urgent).toMatchObject({ status: 202, body: { admission: 'queued', queue_position: 1 } });
  expect(await read(active)).toMatchObject({ status: 'cancelling' });
});

test('the conversation keeps the persona of the last run that was started in it; a start that is refused or joins a run changes nothing', async () => {
  const tenant = await world.tenant();
  const agent = await makeAgent(world, tenant.tokens.admin);
  for (const slug of ['calm', 'loud'])
    await world.call(tenant.tokens.admin, 'POST', `/agents/${agent.id}/personas`, { body: { slug, name: slug } });
  const item = (sessionKey: string, persona: string | null, extra = {}) => ({
    agent_id: agent.id,
    input: { text: 'Hi' },
    session_key: sessionKey,
    ...(persona === null ? {} : { persona_slug: persona }),
    ...extra,
  });

  const { body } = await world.call(tenant.tokens.member, 'POST', '/runs/batch', {
    body: {
      items: [
        item('order', null),
        item('order', 'calm'),
        item('order', null),
        item('kept', 'calm'),
        item('kept', 'loud', { on_busy: 'reject' }),
        item('kept', 'loud', { on_busy: 'steer' }),
        item('kept', null),
        item('later', 'loud', { start_after: new Date(Date.now() + 3_600_000).toISOString() }),
        item('later', null),
      ],
    },
  });
  const start = (entry: object) => world.call(tenant.tokens.member, 'POST', '/runs', { body: entry });
  const again = [
    await start(item('order', 'loud')),
    await start(item('order', null)),
    await start(item('kept', 'loud', { on_busy: 'steer' })),
  ];
  const last = await start(item('kept', null));

  const personas = body.items.map(({ run }: { run: { persona_slug: string } | null }) => run?.persona_slug);
  expect(personas).toEqual([null, 'calm', 'calm', 'calm', undefined, 'calm', 'calm', 'loud', 'loud']);
  expect(again.map((reply) => reply.body.persona_slug)).toEqual(['loud', 'loud', 'calm']);
  expect(last.body.persona_slug).toBe('calm');
});
