import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { openModelStep } from '../../../domain/runs/steps/model-steps.ts';
import { newId } from '../../../db/ids.ts';
import { runsAsActivities, type RunsAsActivities } from '../../support/runs-as-activities.ts';
import type { TestTenant } from '../../support/tenant.ts';
import { makeAgent, openWorld, type World } from '../world.ts';

let world: World;
let place: RunsAsActivities;
let tenant: TestTenant;
let agentId: string;
let runId: string;

beforeAll(async () => {
  world = await openWorld();
  place = runsAsActivities(world);
  tenant = await world.tenant();
  agentId = (await makeAgent(world, tenant.tokens.admin)).id;
});

afterAll(() => world.close());

beforeEach(async () => {
  runId = (await world.call(tenant.tokens.member, 'POST', '/runs', { body: { agent_id: agentId, input: { text: 'Hi' } } })).body.id;
});

const add = (body: unknown, options: { token?: string; id?: string; headers?: Record<string, string> } = {}) =>
  world.call(options.token ?? tenant.tokens.member, 'POST', `/runs/${options.id ?? runId}/input`, {
    body,
    ...(options.headers ? { headers: options.headers } : {}),
  });
const unread = () => place.query('select content from run_inputs where run_id = ? and read_at_step is null order by id', [runId]);
const message = (text: string, more: object = {}) => ({ kind: 'message', text, ...more });

/** A call of the run that its client executes, as a model step and openGates leave it. */
async function clientCall(more: { state?: string; clientOwned?: boolean; maxChars?: number } = {}): Promise<string> {
  const id = newId();
  await place.query(
    `with asked as (
       insert into messages (id, organization_id, workspace_id, conversation_id, run_id, turn, pos, step, role, origin, content, tool_call_ids, stop_reason, state, attempt, created_at)
       select ?::uuid, r.organization_id, r.workspace_id, r.conversation_id, r.id, r.turn_no, 1, 1, 'assistant', 'model', '[]', array[?::uuid], 'tool_calls', 'pending', 1, now()
         from runs r where r.id = ? on conflict (run_id, pos) do update set tool_call_ids = messages.tool_call_ids || excluded.tool_call_ids returning id)
     insert into tool_calls (id, organization_id, workspace_id, run_id, step, pos, message_id, provider_call_id, slug, kind, effect, concurrency, is_idempotent, critical, client_owned,
       timeout_s, response_max_chars, args, args_hash, state, attempt, deadline_at, created_at)
     select ?::uuid, r.organization_id, r.workspace_id, r.id, 1, (select count(*)::int from tool_calls c where c.run_id = r.id), asked.id, 'call', 'browser', 'http', 'write', 'write', false, false, ?,
       3600, ?, '{}', repeat('0', 64), ?, 0, now() + interval '1 hour', now() from runs r, asked where r.id = ?`,
    [newId(), id, runId, id, more.clientOwned ?? true, more.maxChars ?? 20_000, more.state ?? 'ready', runId],
  );
  return id;
}
const result = (id: string, output: unknown = 'Done.', more: object = {}) => ({
  kind: 'tool_results',
  results: [{ tool_call_id: id, status: 'succeeded', output, ...more }],
});
const callOf = async (id: string) => (await place.query<Record<string, unknown>>('select * from tool_calls where id = ?', [id]))[0];

test('a message to a running run is kept for its next step, with a signal, and told once it is read', async () => {
  await place.begin(tenant, runId);
  const before = (await place.frames(runId)).length;

  const added = await add(message('Faster'));

  expect(added).toMatchObject({ status: 202, body: { id: runId, status: 'running' } });
  expect(added.headers['location']).toBe(`/runs/${runId}`);
  expect(await unread()).toEqual([{ content: [{ type: 'text', text: 'Faster' }] }]);
  expect(
    await place.query("select payload ->> 'signal' as signal from outbox where target = ? and kind = 'workflow.signal'", [`run:${runId}`]),
  ).toEqual([{ signal: 'inputAdded' }]);
  expect(await place.frames(runId)).toHaveLength(before);
  await place.asRun(tenant, runId, (tx) => openModelStep(tx, { runId, step: 1 }));
  expect(await unread()).toEqual([]);
  expect((await place.frames(runId)).slice(before)).toMatchObject([
    { type: 'message.completed', data: { role: 'user', content: [{ text: 'Faster' }] } },
  ]);
});

test('messages keep their order and are read once, also by a step that is tried again', async () => {
  await place.begin(tenant, runId);
  for (const text of ['one', 'two', 'three']) await add(message(text));

  const texts: unknown[][] = [];
  for (let tries = 0; tries < 2; tries += 1) {
    const opened = await place.asRun(tenant, runId, (tx) => openModelStep(tx, { runId, step: 1, over: tries }));
    texts.push(
      opened.kind === 'open' ? opened.history.flatMap(({ content }) => content.map((block) => 'text' in block && block.text)) : [],
    );
  }

  expect(texts).toEqual([
    ['Hi', 'one', 'two', 'three'],
    ['Hi', 'one', 'two', 'three'],
  ]);
  expect(await place.faults(runId)).toEqual([]);
});

test('a message and the end at the same moment: it is read, or refused with 409, never lost', async () => {
  await place.begin(tenant, runId);

  const [added, more] = await Promise.all([add(message('Wait!')), place.finish(tenant, runId, { reason: 'stop' })]);

  expect([
    [202, true],
    [409, false],
  ]).toContainEqual([added.status, more]);
});

test('a run that has ended takes nothing: 409 with the run', async () => {
  await world.call(tenant.tokens.member, 'POST', `/runs/${runId}/cancel`);

  for (const body of [message('Late'), result(newId())])
    expect(await add(body)).toMatchObject({
      status: 409,
      body: { context: { reason: 'run_finished', run: { id: runId, status: 'cancelled' } } },
    });
});

test.each([
  [{ kind: 'message' }, ''],
  [{ kind: 'message', text: '' }, '/text'],
  [{ kind: 'message', text: 7 }, '/text'],
  [{ kind: 'message', text: 'x', approval_id: newId() }, ''],
  [{ kind: 'answer', response: 1 }, '/approval_id'],
  [{ kind: 'answer', approval_id: newId(), response: 1 }, '/approval_id'],
  [{ kind: 'tool_results', results: [] }, '/results'],
  [{ kind: 'tool_results', results: [{ tool_call_id: newId(), status: 'done' }] }, '/results/0/status'],
  [{ kind: 'tool_results', results: [{ tool_call_id: newId(), status: 'succeeded' }] }, '/results/0/tool_call_id'],
  [{ kind: 'shout' }, ''],
  [{}, ''],
])('what does not fit is refused: %j', async (body, pointer) => {
  const refused = await add(body);

  expect(refused.status).toBe(422);
  expect(refused.body.errors[0].pointer).toContain(pointer);
});

test('a body over 4 MiB is 413, one below is looked at', async () => {
  const results = (bytes: number) => ({
    kind: 'tool_results',
    results: Array.from({ length: 4 }, () => ({ tool_call_id: newId(), status: 'succeeded', output: 'x'.repeat(bytes / 4) })),
  });

  expect((await add(results(4_300_000))).status).toBe(413);
  expect((await add(results(3_900_000))).status).toBe(422);
  const large = await add(result(newId(), 'x'.repeat(1_100_000)));
  expect(large).toMatchObject({ status: 422, body: { errors: [{ pointer: '/results/0/output' }] } });
});

test('a run of another tenant is 404, a viewer 403, an archived place 423', async () => {
  const other = await world.tenant();
  const closed = await world.tenant();
  const agent = await makeAgent(world, closed.tokens.admin);
  const run = await world.call(closed.tokens.member, 'POST', '/runs', { body: { agent_id: agent.id, input: { text: 'Hi' } } });
  await place.query('update workspaces set is_active = false where id = ?', [closed.workspaceId]);

  expect((await add(message('x'), { token: other.tokens.admin })).status).toBe(404);
  expect((await add(message('x'), { token: tenant.tokens.viewer })).status).toBe(403);
  expect((await add(message('x'), { token: closed.tokens.member, id: run.body.id })).status).toBe(423);
});

test('a queued run takes as many characters more as its input may have, however they are coded', async () => {
  const body = { agent_id: agentId, input: { text: '\u{1F600}'.repeat(200_000) } };
  const long = (await world.call(tenant.tokens.member, 'POST', '/runs', { body })).body.id;

  expect((await add(message('\u{1F600}'.repeat(62_142)), { id: long })).status).toBe(202);
  expect(await add(message('x'), { id: long })).toMatchObject({ status: 422, body: { errors: [{ pointer: '/text', rule: 'maxLength' }] } });
});

test('what a queued run was asked and what is added are bound together as one input is', async () => {
  const body = { agent_id: agentId, input: { json: { long: 'x'.repeat(60_000) } } };
  const long = (await world.call(tenant.tokens.member, 'POST', '/runs', { body })).body.id;

  expect((await add(message('And in blue.', { json: { more: 'x'.repeat(5_000) } }), { id: long })).status).toBe(202);
  expect(await add({ kind: 'message', json: { most: 'x'.repeat(1_000) } }, { id: long })).toMatchObject({
    status: 422,
    body: { errors: [{ pointer: '/json', rule: 'maxLength', params: { limit: 65_536 } }] },
  });
});

test('a repeat under one key adds nothing', async () => {
  await place.begin(tenant, runId);
  const headers = { 'idempotency-key': crypto.randomUUID() };

  const [first, second] = [await add(message('Once'), { headers }), await add(message('Once'), { headers })];

  expect([first.status, second.status]).toEqual([202, 202]);
  expect(await unread()).toHaveLength(1);
});

test("a client's result ends its call, goes to the model, and wakes the run", async () => {
  await place.begin(tenant, runId);
  const id = await clientCall();

  const added = await add(result(id, { price: 3 }));

  expect(added.status).toBe(202);
  expect(await callOf(id)).toMatchObject({ state: 'succeeded', output: { price: 3 }, output_type: 'json' });
  expect(await place.query('select content from messages where tool_call_id = ?', [id])).toEqual([
    { content: [{ type: 'json', value: { price: 3 } }] },
  ]);
  const frames = await place.frames(runId);
  expect(frames.findLast((frame) => frame.type === 'tool.result')).toMatchObject({
    data: { tool_call_id: id, status: 'succeeded', output: { price: 3 } },
  });
  expect(
    await place.query("select payload ->> 'signal' as signal from outbox where target = ? and kind = 'workflow.signal'", [`run:${runId}`]),
  ).toEqual([{ signal: 'resultsAdded' }]);
});

test('the same result again changes nothing, another is 409, and none is taken of a request with one', async () => {
  await place.begin(tenant, runId);
  const [id, open] = [await clientCall(), await clientCall()];
  await add(result(id, { price: 3 }));

  const again = await add(result(id, { price: 3 }));
  const other = await add(result(id, { price: 4 }));
  const mixed = await add({ kind: 'tool_results', results: [...result(open).results, ...result(id, 'other').results] });

  expect(again.status).toBe(202);
  for (const refused of [other, mixed])
    expect(refused).toMatchObject({ status: 409, body: { context: { reason: 'result_recorded', tool_call_id: id } } });
  expect(await callOf(open)).toMatchObject({ state: 'ready' });
});

test('a failure is told to the model; what is too long is cut', async () => {
  await place.begin(tenant, runId);
  const [failed, long] = [await clientCall(), await clientCall({ maxChars: 100 })];

  await add(result(failed, null, { status: 'failed', message: 'The window was closed.' }));
  await add(result(long, 'x'.repeat(500)));

  expect(await callOf(failed)).toMatchObject({ state: 'failed', error: { message: 'The window was closed.' } });
  expect(await callOf(long)).toMatchObject({ state: 'succeeded', output: 'x'.repeat(100), truncated: true, total_chars: 500 });
  expect(await add(result(long, 'x'.repeat(500)))).toMatchObject({ status: 202 });
});

test.each([[{ clientOwned: false }], [{ state: 'gated' }], [{ state: 'timed_out' }], [{ state: 'cancelled' }]])(
  'a call that awaits no client is 409 not_awaited: %j',
  async (call) => {
    await place.begin(tenant, runId);
    const id = await clientCall(call);

    expect(await add(result(id))).toMatchObject({ status: 409, body: { context: { reason: 'not_awaited', tool_call_id: id } } });
  },
);

test('two clients that answer at once: one result counts, the other is told', async () => {
  await place.begin(tenant, runId);
  const id = await clientCall();

  const answers = await Promise.all([add(result(id, 'a')), add(result(id, 'b'))]);

  expect(answers.map(({ status }) => status).toSorted()).toEqual([202, 409]);
});
