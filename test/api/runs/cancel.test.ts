import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sweep } from '../../../db/transaction.ts';
import { change, rows } from '../../../db/sql.ts';
import { makeAgent, openWorld, type World } from '../world.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});

afterAll(() => world.close());

const start = (token: string, agentId: string, extra: object = {}) =>
  world.call(token, 'POST', '/runs', { body: { agent_id: agentId, input: { text: 'Hi' }, ...extra } });
const cancel = (token: string, runId: string, body?: object) =>
  world.call(token, 'POST', `/runs/${runId}/cancel`, body === undefined ? {} : { body });
const read = (token: string, runId: string) => world.call(token, 'GET', `/runs/${runId}`);
const query = <T>(sql: string, params: unknown[]) => sweep(world.api.db, (em) => rows<T>(em, sql, params));
const framesOf = async (runId: string) =>
  (await query<{ frames: string[] }>('select frames from run_frame_chunks where run_id = ? order by first_seq', [runId])).flatMap((chunk) =>
    chunk.frames.map((text) => JSON.parse(text)),
  );

test('a queued run ends in the request, its message discarded, its stream ended', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const run = await start(tokens.member, agent.id);

  const cancelled = await cancel(tokens.member, run.body.id, { policy: 'rollback' });
  const messages = await world.call(tokens.viewer, 'GET', `/runs/${run.body.id}/messages?include_discarded=true`);
  const shown = await world.call(tokens.viewer, 'GET', `/runs/${run.body.id}/messages`);

  expect(cancelled).toMatchObject({
    status: 202,
    body: {
      status: 'cancelled',
      finish_reason: 'cancelled',
      cancel_policy: 'rollback',
      last_seq: 2,
      started_at: null,
      queue_position: null,
    },
  });
  expect(cancelled.body.finished_at).not.toBeNull();
  expect(messages.body.items).toMatchObject([{ role: 'user', state: 'discarded' }]);
  expect(shown.body.items).toEqual([]);
  const frames = await framesOf(run.body.id);
  expect(frames.map((frame) => [frame.seq, frame.type])).toEqual([
    [1, 'run.status'],
    [2, 'run.finished'],
  ]);
  expect(frames[1].data).toMatchObject({ status: 'cancelled', finish_reason: 'cancelled', last_seq: 2, output: null, steps: 0 });
});

test('cancelling the active run moves the line; cancelling one in line closes the gap', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const begin = () => start(tokens.member, agent.id, { session_key: 'line' });
  const [first, second, third, fourth] = [await begin(), await begin(), await begin(), await begin()];

  await cancel(tokens.member, third.body.id);
  const before = await read(tokens.viewer, fourth.body.id);
  await cancel(tokens.member, first.body.id);
  const [active, next] = [await read(tokens.viewer, second.body.id), await read(tokens.viewer, fourth.body.id)];

  expect(before.body.queue_position).toBe(2);
  expect(active.body).toMatchObject({ status: 'queued', queue_position: null, last_seq: 2 });
  expect(next.body.queue_position).toBe(1);
  const [conversation] = await query<object>(
    'select c.active_run_id, c.queue_length, c.turn_no from conversations c join runs r on r.conversation_id = c.id where r.id = ?',
    [first.body.id],
  );
  expect(conversation).toEqual({ active_run_id: second.body.id, queue_length: 1, turn_no: 2 });
  const starts = await query<{ target: string }>("select target from outbox where kind = 'workflow.start' and target = any(?)", [
    [first, second, fourth].map((run) => `run:${run.body.id}`),
  ]);
  expect(starts.map((row) => row.target).toSorted()).toEqual([`run:${first.body.id}`, `run:${second.body.id}`].toSorted());
  expect((await framesOf(second.body.id)).at(-1)).toMatchObject({
    type: 'run.status',
    data: { status: 'queued', previous: 'queued', queue_position: null },
  });
});

test('a running run becomes cancelling once, whatever the repeats', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const run = await start(tokens.member, agent.id);
  await sweep(world.api.db, (em) => change(em, "update runs set status = 'running', started_at = now() where id = ?", [run.body.id]));

  const first = await cancel(tokens.member, run.body.id, { reason: 'enough' });
  const again = await cancel(tokens.member, run.body.id, { policy: 'rollback' });

  expect(first).toMatchObject({ status: 202, body: { status: 'cancelling', cancel_policy: 'interrupt', finished_at: null } });
  expect(first.body.cancel_requested_at).not.toBeNull();
  expect(again.body).toEqual(first.body);
  const frames = await framesOf(run.body.id);
  expect(frames.at(-1)).toMatchObject({ type: 'run.status', data: { status: 'cancelling', previous: 'running', reason: 'enough' } });
  expect(frames).toHaveLength(2);
  expect(await query('select target from outbox where kind = ? and target = ?', ['workflow.cancel', `run:${run.body.id}`])).toHaveLength(1);
  expect(await query('select cancel_requested from run_streams where run_id = ?', [run.body.id])).toEqual([{ cancel_requested: true }]);
});

test('a run that has ended answers 409 with the run', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const run = await start(tokens.member, agent.id);
  const ended = await cancel(tokens.member, run.body.id);

  const refused = await cancel(tokens.member, run.body.id);

  expect(refused).toMatchObject({ status: 409, body: { code: 'state_conflict', context: { reason: 'run_finished', run: ended.body } } });
});

test('cancel is refused to viewers, unknown to other tenants, and audited', async () => {
  const [mine, other] = await Promise.all([world.tenant(), world.tenant()]);
  const agent = await makeAgent(world, mine.tokens.admin);
  const run = await start(mine.tokens.member, agent.id);

  const byViewer = await cancel(mine.tokens.viewer, run.body.id);
  const byOther = await cancel(other.tokens.owner, run.body.id);
  await cancel(mine.tokens.member, run.body.id);

  expect(byViewer.status).toBe(403);
  expect(byOther.status).toBe(404);
  const audit = await query<object>(
    'select action, operation_id, actor_id, workspace_id from audit_entries where resource_id = ? order by id',
    [run.body.id],
  );
  const entry = { action: 'submit', actor_id: mine.users.member.id, workspace_id: mine.workspaceId };
  expect(audit).toEqual([
    { ...entry, operation_id: 'createRun' },
    { ...entry, operation_id: 'cancelRun' },
  ]);
});

test('starts and cancels of one conversation at once leave no run stuck and no line behind', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const begin = () => start(tokens.member, agent.id, { session_key: 'storm' });
  const early = await Promise.all(Array.from({ length: 12 }, begin));

  const [ends, late] = await Promise.all([
    Promise.all(early.map((run) => cancel(tokens.member, run.body.id))),
    Promise.all(Array.from({ length: 8 }, begin)),
  ]);
  const rest = await Promise.all(late.map((run) => cancel(tokens.member, run.body.id)));

  expect([...ends, ...late, ...rest].map((answer) => answer.status)).toEqual(Array.from({ length: 28 }, () => 202));
  const [conversation] = await query<object>(
    'select c.active_run_id, c.queue_length from conversations c join runs r on r.conversation_id = c.id where r.id = ?',
    [early[0]?.body.id],
  );
  expect(conversation).toEqual({ active_run_id: null, queue_length: 0 });
  for (const run of [...early, ...late]) expect((await framesOf(run.body.id)).at(-1).type).toBe('run.finished');
});
