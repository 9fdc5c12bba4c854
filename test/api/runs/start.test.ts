import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sweep } from '../../../db/transaction.ts';
import { change } from '../../../db/sql.ts';
import { streamKeys } from '../../../db/streams/keys.ts';
import { archivedFrames } from '../../support/scenario.ts';
import { until } from '../../support/temporal.ts';
import { makeUser, type TestTenant } from '../../support/tenant.ts';
import { makeAgent, openWorld, type World } from '../world.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});

afterAll(() => world.close());

const start = (token: string, body: object, headers: Record<string, string> = {}) =>
  world.call(token, 'POST', '/runs', { body: { input: { text: 'Hi' }, ...body }, headers });

test('a start answers 202 with the whole queued run', async () => {
  const { tokens, users, organizationId, workspaceId } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);

  const started = await start(tokens.member, {
    agent_id: agent.id,
    input: { text: 'Hi', json: { a: 1 } },
    metadata: { ticket: 7 },
    limits: { max_steps: 3, max_duration_s: 604_800 },
  });
  const read = await world.call(tokens.viewer, 'GET', `/runs/${started.body.id}`);

  expect(started.status).toBe(202);
  expect(started.headers['location']).toBe(`/runs/${started.body.id}`);
  const { admission, ...view } = started.body;
  expect(admission).toBe('started');
  expect(read.body).toEqual(view);
  expect(view).toMatchObject({
    organization_id: organizationId,
    workspace_id: workspaceId,
    agent_id: agent.id,
    agent_revision_id: agent.active_revision_id,
    agent_slug: agent.slug,
    root_run_id: view.id,
    parent_run_id: null,
    source: 'api',
    subject: { kind: 'user', id: users.member.id },
    created_by: { kind: 'user', id: users.member.id, acting_user_id: null },
    status: 'queued',
    waiting_on: null,
    finish_reason: null,
    queue_position: null,
    input: { text: 'Hi', json: { a: 1 }, attachments: [], truncated: false },
    output: null,
    error: null,
    warnings: [],
    limits: {
      max_steps: 3,
      max_duration_s: 3_600,
      max_output_tokens: null,
      max_cost: null,
      max_children: 20,
      max_depth: 3,
      approval_ttl_s: 86_400,
      on_expiry: 'deny',
      on_budget: 'fail',
    },
    steps: 0,
    depth: 0,
    last_seq: 1,
    pending_approvals: 0,
    on_busy: 'enqueue',
    cancel_policy: null,
    metadata: { ticket: 7 },
    start_after: null,
    started_at: null,
    finished_at: null,
  });
  expect(view.usage.own).toEqual(view.usage.subtree);
  expect(view.usage.own).toMatchObject({ model_calls: 0, tokens: { input: 0 }, currency: 'USD', estimated: false });
});

test('the first frame of a start is published, byte for byte as it is archived', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const { redis } = world.api.deps;

  const { body } = await start(tokens.member, { agent_id: agent.id });
  const key = streamKeys(world.api.redisPrefix).run(body.id);
  await until(async () => (await redis.xlen(key)) > 0);

  const published = (await redis.xrange(key, '-', '+')).map(([, fields]) => fields[1]);
  expect(await archivedFrames(world.api, body.id)).toEqual(published);
  expect(published.map((text) => JSON.parse(text ?? ''))).toMatchObject([{ seq: 1, type: 'run.status', data: { status: 'queued' } }]);
});

test('a service key starts runs without a subject, and the agent may be named by slug', async () => {
  const { tokens, serviceKey } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);

  const started = await start(serviceKey.plaintext, { agent_slug: agent.slug });

  expect(started.status).toBe(202);
  expect(started.body).toMatchObject({ agent_id: agent.id, subject: null, created_by: { kind: 'service_key', id: serviceKey.id } });
});

test.each([
  ['no agent', { agent_slug: undefined }],
  ['two agents', { agent_id: '01999999-0000-7000-8000-000000000000' }],
  ['an empty input', { input: {} }],
  ['steer', { on_busy: 'steer' }],
  ['interrupt', { on_busy: 'interrupt' }],
  ['start_after', { start_after: '2030-01-01T00:00:00Z' }],
  ['persona_slug', { persona_slug: 'x' }],
  ['review', { review: {} }],
  ['an attachment that is no id', { input: { text: 'x', attachments: [{ attachment_id: 'x' }] } }],
  ['max_cost', { limits: { max_cost: '1' } }],
  ['a null where none fits', { on_busy: null }],
  ['51 keys of metadata', { metadata: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`k${n}`, n])) }],
  ['9 KB of metadata', { metadata: { text: 'x'.repeat(9_000) } }],
])('a start with %s is 422', async (_name, body) => {
  const { tokens } = await world.tenant();

  const refused = await start(tokens.member, { agent_slug: 'any', ...body });

  expect(refused.status).toBe(422);
});

test("references that do not resolve in the caller's sight are 422, foreign ids like unknown ones", async () => {
  const [mine, other] = await Promise.all([world.tenant(), world.tenant()]);
  const [agent, foreign, second] = [
    await makeAgent(world, mine.tokens.admin),
    await makeAgent(world, other.tokens.admin),
    await makeAgent(world, mine.tokens.admin),
  ];
  const rule = async (body: object) => {
    const { status, body: reply } = await start(mine.tokens.member, body);
    return [status, reply.errors?.[0]?.pointer, reply.errors?.[0]?.rule];
  };

  expect(await rule({ agent_id: foreign.id })).toEqual([422, '/agent_id', 'reference']);
  expect(await rule({ agent_slug: foreign.slug })).toEqual([422, '/agent_slug', 'reference']);
  expect(await rule({ agent_id: agent.id, revision_id: second.active_revision_id })).toEqual([422, '/revision_id', 'reference']);
  expect(await rule({ agent_id: agent.id, workspace_id: other.workspaceId })).toEqual([422, '/workspace_id', 'reference']);
  expect(await rule({ agent_id: agent.id, subject: { kind: 'user', id: other.users.member.id } })).toEqual([
    422,
    '/subject/id',
    'reference',
  ]);
});

test("another user's subject needs admin; a guest is anybody's", async () => {
  const { tokens, users } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const subject = { kind: 'user', id: users.viewer.id };

  expect(await start(tokens.member, { agent_id: agent.id, subject })).toMatchObject({ status: 403, body: { code: 'role_insufficient' } });
  expect(await start(tokens.admin, { agent_id: agent.id, subject })).toMatchObject({ status: 202, body: { subject } });
  expect(await start(tokens.member, { agent_id: agent.id, subject: { kind: 'guest', id: 'chat-7' } })).toMatchObject({
    status: 202,
    body: { subject: { kind: 'guest', id: 'chat-7' } },
  });
  expect((await start(tokens.viewer, { agent_id: agent.id })).status).toBe(403);
});

test('a subject out of sight is like an unknown one, also to an operator: users of the workspaces that the caller sees, in the run’s organization', async () => {
  const [mine, other] = await Promise.all([world.tenant({ workspaces: 2 }), world.tenant()]);
  const [{ organizationId, tokens }, [, second = '']] = [mine, mine.workspaceIds];
  const agent = await makeAgent(world, mine.organizationAdmin.token, { scope: 'organization' });
  const elsewhere = await makeUser(world.api.db, world.api.keys, {
    role: 'viewer',
    scope: 'workspace',
    organizationId,
    workspaceId: second,
  });
  const outcome = async (token: string, id: string) => {
    const { status, body } = await start(token, { agent_id: agent.id, workspace_id: mine.workspaceId, subject: { kind: 'user', id } });
    return status === 422 ? [status, body.errors] : [status];
  };
  const unknown = await outcome(tokens.admin, crypto.randomUUID());

  expect(unknown).toMatchObject([422, [{ pointer: '/subject/id', rule: 'reference' }]]);
  for (const token of [tokens.admin, tokens.member, mine.serviceKey.plaintext]) expect(await outcome(token, elsewhere.id)).toEqual(unknown);
  for (const token of [tokens.operator, mine.organizationAdmin.token]) {
    expect(await outcome(token, elsewhere.id)).toEqual([202]);
    expect(await outcome(token, other.users.viewer.id)).toEqual(unknown);
  }
  expect(await outcome(tokens.admin, mine.organizationAdmin.id)).toEqual([202]);
  await grant(mine, elsewhere.id);
  expect(await outcome(tokens.admin, elsewhere.id)).toEqual([202]);
  expect(await outcome(tokens.member, elsewhere.id)).toEqual([403]);
});

test('a user is the same subject however the id is written', async () => {
  const { tokens, users } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const upper = await start(tokens.member, { agent_id: agent.id, subject: { kind: 'user', id: users.member.id.toUpperCase() } });

  expect(upper).toMatchObject({ status: 202, body: { subject: { kind: 'user', id: users.member.id } } });
  expect(await start(tokens.member, { agent_id: agent.id, subject: { kind: 'guest', id: 'Chat-7' } })).toMatchObject({
    body: { subject: { id: 'Chat-7' } },
  });
});

test('an agent that is off or unpublished is 409, though a named revision runs', async () => {
  const { tokens } = await world.tenant();
  const off = await makeAgent(world, tokens.admin, { is_active: false });
  const draft = await makeAgent(world, tokens.admin, { activate: false });
  const revisions = await world.call(tokens.viewer, 'GET', `/agents/${draft.id}/revisions`);

  expect(await start(tokens.member, { agent_id: off.id })).toMatchObject({
    status: 409,
    body: { code: 'state_conflict', context: { reason: 'agent_inactive' } },
  });
  expect(await start(tokens.member, { agent_id: draft.id })).toMatchObject({
    status: 409,
    body: { context: { reason: 'agent_inactive' } },
  });
  expect((await start(tokens.member, { agent_id: draft.id, revision_id: revisions.body.items[0].id })).status).toBe(202);
});

test('a required variable without a value is 422', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin, {
    revision: { model: 'builtin/extractive', instructions: '{{ vars.who }}', variables: [{ name: 'who', required: true }] },
  });

  expect(await start(tokens.member, { agent_id: agent.id })).toMatchObject({
    status: 422,
    body: { errors: [{ pointer: '/input/json/who', rule: 'required' }] },
  });
  expect((await start(tokens.member, { agent_id: agent.id, input: { json: { who: 'you' } } })).status).toBe(202);
});

test('runs of one session key stand in line; the line holds 20; reject names the active run', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const next = (extra: object = {}) => start(tokens.member, { agent_id: agent.id, session_key: 'chat', ...extra });

  const active = await next();
  const inLine = [];
  for (let n = 0; n < 20; n += 1) inLine.push(await next());
  const full = await next();
  const rejected = await next({ on_busy: 'reject' });
  const elsewhere = await next({ session_key: 'other', on_busy: 'reject' });

  expect(active.body).toMatchObject({ admission: 'started', queue_position: null });
  expect(inLine.map((run) => [run.status, run.body.admission, run.body.queue_position])).toEqual(
    inLine.map((_, n) => [202, 'queued', n + 1]),
  );
  expect((await world.call(tokens.viewer, 'GET', `/runs/${inLine[4]?.body.id}`)).body.queue_position).toBe(5);
  expect(full).toMatchObject({ status: 409, body: { code: 'state_conflict', context: { reason: 'conversation_queue_full' } } });
  expect(rejected).toMatchObject({ status: 409, body: { context: { reason: 'conversation_busy', active_run_id: active.body.id } } });
  expect(elsewhere.status).toBe(202);
});

test('50 parallel starts of one session key: one is active, 20 are in line, in one order', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);

  const answers = await Promise.all(Array.from({ length: 50 }, () => start(tokens.member, { agent_id: agent.id, session_key: 'race' })));

  expect(answers.filter((answer) => answer.body.admission === 'started')).toHaveLength(1);
  const positions = answers
    .filter((answer) => answer.body.admission === 'queued')
    .map((answer) => answer.body.queue_position)
    .toSorted((a, b) => a - b);
  expect(positions).toEqual(Array.from({ length: 20 }, (_, n) => n + 1));
  expect(answers.filter((answer) => answer.status === 409)).toHaveLength(29);
});

test('the same Idempotency-Key starts one run and answers byte for byte alike', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const headers = { 'idempotency-key': 'order-1' };

  const first = await start(tokens.member, { agent_id: agent.id }, headers);
  const again = await start(tokens.member, { agent_id: agent.id }, headers);
  const changed = await start(tokens.member, { agent_id: agent.id, input: { text: 'other' } }, headers);
  const listed = await world.call(tokens.viewer, 'GET', '/runs');

  expect(again).toMatchObject({ status: 202, body: first.body, headers: { 'idempotency-replayed': 'true' } });
  expect(changed).toMatchObject({ status: 422, body: { code: 'idempotency_key_mismatch' } });
  expect(listed.body.items).toHaveLength(1);
});

test('mode wait answers 202 at its timeout while no worker takes the run', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const began = performance.now();

  const started = await start(tokens.member, { agent_id: agent.id, mode: 'wait', wait_timeout_s: 1 });

  expect(started).toMatchObject({ status: 202, body: { status: 'queued', admission: 'started' } });
  expect(performance.now() - began).toBeGreaterThan(900);
});

test('mode wait answers 200 with the ended run, and a repeat of its key the same', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const body = { agent_id: agent.id, mode: 'wait', wait_timeout_s: 20 };
  const headers = { 'idempotency-key': 'wait-1' };
  const first = start(tokens.member, body, headers);
  const runId = await firstRunId(tokens.viewer);

  await world.call(tokens.member, 'POST', `/runs/${runId}/cancel`);
  const answer = await first;
  const again = await start(tokens.member, body, headers);

  expect(answer).toMatchObject({ status: 200, body: { id: runId, status: 'cancelled', admission: 'started' } });
  expect(again).toMatchObject({ status: 200, body: answer.body, headers: { 'idempotency-replayed': 'true' } });
});

/** Lets a user into the tenant's first workspace. */
function grant({ workspaceId, organizationId }: TestTenant, userId: string): Promise<number> {
  const sql = `insert into workspace_grants (workspace_id, user_id, organization_id, role) values (?, ?, ?, 'viewer')`;
  return sweep(world.api.db, (em) => change(em, sql, [workspaceId, userId, organizationId]));
}

/** Waits until the tenant has a run. */
async function firstRunId(token: string): Promise<string> {
  for (;;) {
    const [run] = (await world.call(token, 'GET', '/runs')).body.items;
    if (run) return run.id;
  }
}
