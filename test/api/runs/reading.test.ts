import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { until } from '../../support/temporal.ts';
import { bearer } from '../../support/tenant.ts';
import { makeAgent, openWorld, type World } from '../world.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});

afterAll(() => world.close());

const start = async (token: string, body: object) =>
  (await world.call(token, 'POST', '/runs', { body: { input: { text: 'Hi' }, ...body } })).body;
const list = async (token: string, query: string) =>
  (await world.call(token, 'GET', `/runs?${query}`)).body.items.map((run: { id: string }) => run.id);

test('listRuns filters by what a run is and knows nothing of ids it can not see', async () => {
  const [mine, other] = await Promise.all([world.tenant(), world.tenant()]);
  const { tokens, users } = mine;
  const [agent, second] = [await makeAgent(world, tokens.admin), await makeAgent(world, tokens.admin)];
  const a = await start(tokens.member, { agent_id: agent.id, session_key: 'k' });
  const b = await start(tokens.admin, { agent_id: second.id });
  await world.call(tokens.member, 'POST', `/runs/${a.id}/cancel`);

  expect(await list(tokens.viewer, '')).toEqual([b.id, a.id]);
  expect(await list(tokens.viewer, `agent_id=${agent.id}`)).toEqual([a.id]);
  expect(await list(tokens.viewer, 'status=cancelled')).toEqual([a.id]);
  expect(await list(tokens.viewer, 'session_key=k')).toEqual([a.id]);
  expect(await list(tokens.viewer, `subject_id=${users.admin.id}`)).toEqual([b.id]);
  expect(await list(tokens.viewer, `from=${b.created_at}`)).toEqual([b.id]);
  expect(await list(tokens.viewer, `to=${b.created_at}`)).toEqual([a.id]);
  for (const name of ['trigger_id', 'parent_run_id', 'evaluation_run_id', 'binding_id'])
    expect(await list(tokens.viewer, `${name}=${a.id}`)).toEqual([]);
  expect(await list(tokens.viewer, 'waiting_on=approval')).toEqual([]);
  expect(await list(other.tokens.owner, `agent_id=${agent.id}`)).toEqual([]);
  expect((await world.call(tokens.viewer, 'GET', '/runs?surprise=1')).status).toBe(422);
  expect((await world.call(tokens.viewer, 'GET', `/runs?from=${b.created_at}&to=2020-01-01T00:00:00Z`)).status).toBe(422);
});

test('listRuns by workspace: of those that the caller sees, and its cursor is worth nothing under another', async () => {
  const [mine, other] = await Promise.all([world.tenant({ workspaces: 2 }), world.tenant()]);
  const { organizationOwner, tokens, workspaceIds } = mine;
  const [first = '', second = ''] = workspaceIds;
  const runIn = async (workspaceId: string) => {
    const agent = await makeAgent(world, organizationOwner.token, { workspace_id: workspaceId });
    return (await start(organizationOwner.token, { agent_id: agent.id, workspace_id: workspaceId })).id;
  };
  const [a, b, c] = [await runIn(first), await runIn(second), await runIn(first)];

  expect(await list(organizationOwner.token, '')).toEqual([c, b, a]);
  expect(await list(organizationOwner.token, `workspace_id=${first}`)).toEqual([c, a]);
  expect(await list(organizationOwner.token, `workspace_id=${second}`)).toEqual([b]);
  expect(await list(organizationOwner.token, `workspace_id=${second}&status=succeeded`)).toEqual([]);
  expect(await list(tokens.viewer, `workspace_id=${first}`)).toEqual([c, a]);
  // Neither a workspace that the caller does not see nor that of a stranger is told from none.
  for (const id of [second, other.workspaceId, a]) expect(await list(tokens.viewer, `workspace_id=${id}`)).toEqual([]);
  expect(await list(other.organizationOwner.token, `workspace_id=${first}`)).toEqual([]);

  const page = (await world.call(organizationOwner.token, 'GET', `/runs?limit=1&workspace_id=${first}`)).body;
  expect(await list(organizationOwner.token, `workspace_id=${first}&cursor=${page.next_cursor}`)).toEqual([a]);
  for (const filter of ['', `workspace_id=${second}&`])
    expect((await world.call(organizationOwner.token, 'GET', `/runs?${filter}cursor=${page.next_cursor}`)).body.code).toBe(
      'cursor_invalid',
    );
  expect((await world.call(tokens.viewer, 'GET', '/runs?workspace_id=x')).status).toBe(422);
});

test('lists cut long texts and say so; the run itself is whole', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const text = '🙂'.repeat(501);
  const run = await start(tokens.member, { agent_id: agent.id, input: { text, json: { big: 'x'.repeat(600) } } });

  const [cut] = (await world.call(tokens.viewer, 'GET', '/runs')).body.items;
  const whole = await world.call(tokens.viewer, 'GET', `/runs/${run.id}`);

  expect(cut.input).toEqual({ text: '🙂'.repeat(500), attachments: [], truncated: true });
  expect(whole.body.input).toEqual({ text, json: { big: 'x'.repeat(600) }, attachments: [], truncated: false });
});

test('runs page by cursor, one by one, without hole or double', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const made = [];
  for (let n = 0; n < 4; n += 1) made.push((await start(tokens.member, { agent_id: agent.id })).id);

  const seen: string[] = [];
  for (let path: string | null = '/runs?limit=1'; path !== null;) {
    const page: { items: { id: string }[]; next_cursor: string | null } = (await world.call(tokens.viewer, 'GET', path)).body;
    seen.push(...page.items.map((run) => run.id));
    path = page.next_cursor === null ? null : `/runs?limit=1&cursor=${page.next_cursor}`;
  }

  expect(seen).toEqual(made.toReversed());
  expect((await world.call(tokens.viewer, 'GET', '/runs?limit=2&offset=1')).body).toMatchObject({ total: 4, next_cursor: null });
});

test('messages show the input of a run, and steps are empty before it begins', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const run = await start(tokens.member, { agent_id: agent.id, input: { text: 'Hello', json: { a: 1 } }, session_key: 's' });
  const inLine = await start(tokens.member, { agent_id: agent.id, session_key: 's' });

  const messages = await world.call(tokens.viewer, 'GET', `/runs/${run.id}/messages`);
  const later = await world.call(tokens.viewer, 'GET', `/runs/${inLine.id}/messages?scope=conversation`);
  const one = await world.call(tokens.viewer, 'GET', `/runs/${run.id}/messages?message_id=${messages.body.items[0].id}`);
  const steps = await world.call(tokens.viewer, 'GET', `/runs/${run.id}/steps?kind=tool`);

  expect(messages.body.items).toMatchObject([
    {
      run_id: run.id,
      turn: 1,
      pos: 0,
      step: null,
      role: 'user',
      origin: 'user',
      content: [
        { type: 'text', text: 'Hello' },
        { type: 'json', value: { a: 1 } },
      ],
      tool_call_ids: [],
      tool_call_id: null,
      model: null,
      stop_reason: null,
      state: 'pending',
    },
  ]);
  expect(later.body.items).toMatchObject([{ run_id: inLine.id, turn: 0 }]);
  expect(one.body.items).toHaveLength(1);
  expect(steps).toMatchObject({ status: 200, body: { items: [], next_cursor: null } });
});

test("another tenant's run is 404 on every path", async () => {
  const [mine, other] = await Promise.all([world.tenant(), world.tenant()]);
  const agent = await makeAgent(world, mine.tokens.admin);
  const run = await start(mine.tokens.member, { agent_id: agent.id });

  for (const path of ['', '/messages', '/steps', '/wait?timeout_s=0']) {
    expect(await world.call(other.tokens.owner, 'GET', `/runs/${run.id}${path}`)).toMatchObject({
      status: 404,
      body: { code: 'not_found' },
    });
  }
});

test('wait answers at once for an ended run, at the timeout for a live one, and when the run ends meanwhile', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const run = await start(tokens.member, { agent_id: agent.id });

  const live = await world.call(tokens.viewer, 'GET', `/runs/${run.id}/wait?timeout_s=0`);
  const waiting = world.call(tokens.viewer, 'GET', `/runs/${run.id}/wait?timeout_s=20`);
  await world.call(tokens.member, 'POST', `/runs/${run.id}/cancel`);
  const met = await waiting;
  const ended = await world.call(tokens.viewer, 'GET', `/runs/${run.id}/wait`);

  expect(live).toMatchObject({ status: 200, body: { status: 'queued' }, headers: { 'retry-after': '1' } });
  expect(met).toMatchObject({ status: 200, body: { status: 'cancelled' } });
  expect(ended.body).toEqual(met.body);
  expect(ended.headers['retry-after']).toBeUndefined();
});

test('a credential that ends while a wait is open gets 401 and not the run', async () => {
  const { tokens, serviceKey } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const run = await start(tokens.member, { agent_id: agent.id });

  const waiting = [serviceKey.plaintext, tokens.viewer].map((token) => world.call(token, 'GET', `/runs/${run.id}/wait?timeout_s=20`));
  const starting = world.call(serviceKey.plaintext, 'POST', '/runs', {
    body: { agent_id: agent.id, input: { text: 'Hi' }, mode: 'wait', wait_timeout_s: 20 },
  });
  await until(() => world.api.deps.hub.counts().watchedRuns === 2);
  await world.call(tokens.viewer, 'POST', '/auth/logout');
  const revocation = { method: 'DELETE', url: `/service-keys/${serviceKey.id}`, headers: bearer(tokens.admin) } as const;
  expect((await world.api.app.inject(revocation)).statusCode).toBe(204);
  for (const id of await list(tokens.owner, '')) await world.call(tokens.member, 'POST', `/runs/${id}/cancel`);

  expect((await Promise.all([...waiting, starting])).map(({ status, body }) => [status, body.code])).toEqual([
    [401, 'credential_invalid'],
    [401, 'session_revoked'],
    [401, 'credential_invalid'],
  ]);
});
