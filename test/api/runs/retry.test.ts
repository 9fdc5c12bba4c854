import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../../db/ids.ts';
import { sweep, systemActor, transact, workspaceTenant } from '../../../db/transaction.ts';
import { change, rows } from '../../../db/sql.ts';
import type { TestTenant } from '../../support/tenant.ts';
import { makeAgent, openWorld, type World } from '../world.ts';
import { readWholeOutput } from '../../../db/runs/calls/whole-output.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});

afterAll(() => world.close());

const query = <T>(sql: string, params: unknown[]) => sweep(world.api.db, (em) => rows<T>(em, sql, params));
const write = (sql: string, params: unknown[]) => sweep(world.api.db, (em) => change(em, sql, params));
const retry = (token: string, runId: string, body: object = {}, headers: Record<string, string> = {}) =>
  world.call(token, 'POST', `/runs/${runId}/retry`, { body, headers });
const read = async (token: string, runId: string) => (await world.call(token, 'GET', `/runs/${runId}`)).body;
const conflict = (reason: string) => ({ status: 409, body: { code: 'state_conflict', context: { reason } } });

async function start(token: string, agentId: string, extra: object = {}): Promise<string> {
  const started = await world.call(token, 'POST', '/runs', { body: { agent_id: agentId, input: { text: 'Hi' }, ...extra } });
  expect(started.status).toBe(202);
  return started.body.id;
}

/** Ends an active run as a worker would, with an answer; gives the ids of its messages. */
async function answer(runId: string, text: string, status: 'succeeded' | 'failed' = 'succeeded'): Promise<string[]> {
  const [run] = await query<{ organization_id: string; workspace_id: string; conversation_id: string; turn_no: number }>(
    'select organization_id, workspace_id, conversation_id, turn_no from runs where id = ?',
    [runId],
  );
  if (!run) throw new Error('no run');
  await write("update messages set state = 'committed' where run_id = ?", [runId]);
  await write(
    `insert into messages (id, organization_id, workspace_id, conversation_id, run_id, turn, pos, step, role, origin, content, stop_reason, state, attempt)
     values (?, ?, ?, ?, ?, ?, 1, 1, 'assistant', 'model', ?::jsonb, 'stop', 'committed', 1)`,
    [newId(), run.organization_id, run.workspace_id, run.conversation_id, runId, run.turn_no, JSON.stringify([{ type: 'text', text }])],
  );
  await write('update runs set status = ?, finish_reason = ?, started_at = now(), finished_at = now() where id = ?', [
    status,
    status === 'succeeded' ? 'stop' : 'max_steps',
    runId,
  ]);
  await write('update conversations set active_run_id = null where id = ?', [run.conversation_id]);
  const messages = await query<{ id: string }>('select id from messages where run_id = ? order by pos', [runId]);
  return messages.map(({ id }) => id);
}

async function tenantWithRun(extra: object = {}): Promise<{ tenant: TestTenant; agentId: string; revisionId: string; runId: string }> {
  const tenant = await world.tenant();
  const agent = await makeAgent(world, tenant.tokens.admin);
  return { tenant, agentId: agent.id, revisionId: agent.active_revision_id, runId: await start(tenant.tokens.member, agent.id, extra) };
}

test('a retry asks the same again in the same conversation, for the same subject, on the revision that was used', async () => {
  const extra = { session_key: 'chat', metadata: { order: 7 }, limits: { max_steps: 3 }, input: { text: 'Hi', json: { n: 1 } } };
  const { tenant, agentId, revisionId, runId } = await tenantWithRun(extra);
  await answer(runId, 'Wrong.', 'failed');
  const made = await world.call(tenant.tokens.admin, 'POST', `/agents/${agentId}/revisions`, {
    body: { document: { model: 'builtin/extractive', instructions: 'Answer well.', limits: { max_steps: 20, max_duration_s: 60 } } },
  });
  const agent = await world.call(tenant.tokens.admin, 'GET', `/agents/${agentId}`);
  await world.call(tenant.tokens.admin, 'POST', `/agents/${agentId}/revisions/${made.body.id}/activate`, {
    headers: { 'if-match': String(agent.headers['etag']) },
  });

  const pinned = await retry(tenant.tokens.member, runId, { limits: { max_children: 2 } });
  await world.call(tenant.tokens.member, 'POST', `/runs/${pinned.body.id}/cancel`, { body: {} });
  const current = await retry(tenant.tokens.member, runId, { revision: 'current' });

  expect(pinned).toMatchObject({
    status: 202,
    body: {
      status: 'queued',
      admission: 'started',
      retry_of_run_id: runId,
      forked_at_message_id: null,
      agent_revision_id: revisionId,
      session_key: 'chat',
      subject: { kind: 'user', id: tenant.users.member.id },
      created_by: { kind: 'user', id: tenant.users.member.id },
      metadata: { order: 7 },
      input: { text: 'Hi', json: { n: 1 } },
      limits: { max_steps: 3, max_children: 2 },
    },
  });
  expect(pinned.headers['location']).toBe(`/runs/${pinned.body.id}`);
  // What the start asked for stays, what came from the revision does not.
  expect(current.body).toMatchObject({ agent_revision_id: made.body.id, limits: { max_steps: 3, max_duration_s: 60 } });
  const conversations = await query<{ ids: number }>('select count(distinct conversation_id)::int as ids from runs where id = any (?)', [
    [runId, pinned.body.id, current.body.id],
  ]);
  expect(conversations).toEqual([{ ids: 1 }]);
});

test('only a run that has ended, and only the last turn of a conversation, is replaced', async () => {
  const { tenant, agentId, runId } = await tenantWithRun({ session_key: 'chat' });
  const { member } = tenant.tokens;

  expect(await retry(member, runId)).toMatchObject(conflict('run_not_finished'));
  await answer(runId, 'One.');
  const second = await start(member, agentId, { session_key: 'chat' });
  expect(await retry(member, runId)).toMatchObject(conflict('conversation_moved_on'));
  await answer(second, 'Two.');
  expect(await retry(member, runId)).toMatchObject(conflict('conversation_moved_on'));

  const first = await retry(member, second);
  expect(first.status).toBe(202);
  expect(await retry(member, second)).toMatchObject(conflict('conversation_moved_on'));
  // Nothing came of the retry: the turn that it was to replace is the last one still.
  await world.call(member, 'POST', `/runs/${first.body.id}/cancel`, { body: {} });
  expect((await retry(member, second)).status).toBe(202);
});

test('a run that starts later does not stand in the way, a child can be forked alone', async () => {
  const { tenant, agentId, runId } = await tenantWithRun({ session_key: 'chat' });
  const [asked] = await answer(runId, 'One.');
  await start(tenant.tokens.member, agentId, { session_key: 'chat', start_after: new Date(Date.now() + 3_600_000).toISOString() });
  expect((await retry(tenant.tokens.member, runId)).status).toBe(202);

  const root = await start(tenant.tokens.member, agentId);
  await write(`update runs set parent_run_id = ?, root_run_id = ?, source = 'sub_agent', depth = 1 where id = ?`, [root, root, runId]);
  expect(await retry(tenant.tokens.member, runId)).toMatchObject(conflict('not_a_root_run'));
  expect(await retry(tenant.tokens.member, runId, { fork_at_message_id: asked })).toMatchObject({
    status: 202,
    body: { parent_run_id: null, source: 'api', depth: 0 },
  });
});

test('20 retries at once leave one', async () => {
  const { tenant, runId } = await tenantWithRun({ session_key: 'chat' });
  await answer(runId, 'One.');

  const answers = await Promise.all(Array.from({ length: 20 }, () => retry(tenant.tokens.member, runId)));

  expect(answers.filter(({ status }) => status === 202)).toHaveLength(1);
  for (const refused of answers.filter(({ status }) => status !== 202)) expect(refused).toMatchObject(conflict('conversation_moved_on'));
  expect(await query('select id from runs where retry_of_run_id = ?', [runId])).toHaveLength(1);
});

test('a fork at a user message asks it again behind copies of what came before, and leaves the old conversation alone', async () => {
  const { tenant, agentId, runId } = await tenantWithRun({ session_key: 'chat' });
  const { member } = tenant.tokens;
  const [askedFirst, answeredFirst] = await answer(runId, 'One.');
  const second = await start(member, agentId, { session_key: 'chat', input: { text: 'And then?' } });
  const [askedSecond] = await answer(second, 'Two.');
  const before = await query('select id, state, turn, pos from messages where run_id = any (?) order by id', [[runId, second]]);

  const fork = await retry(member, second, { fork_at_message_id: askedSecond });
  const changed = await retry(member, second, { fork_at_message_id: askedSecond, input: { text: 'Else?' }, session_key: 'other' });

  expect(fork).toMatchObject({
    status: 202,
    body: {
      admission: 'started',
      retry_of_run_id: second,
      forked_at_message_id: askedSecond,
      session_key: null,
      input: { text: 'And then?' },
    },
  });
  expect(changed.body).toMatchObject({ session_key: 'other', input: { text: 'Else?' } });
  const copies = (await world.call(member, 'GET', `/runs/${fork.body.id}/messages?scope=conversation`)).body.items;
  expect(
    copies.map((message: Record<string, unknown>) => [message['role'], message['turn'], message['pos'], message['state'], message['step']]),
  ).toEqual([
    ['user', 1, 0, 'committed', null],
    ['assistant', 1, 1, 'committed', null],
    ['user', 2, 2, 'pending', null],
  ]);
  expect(copies.map((message: { content: { text: string }[] }) => message.content[0]?.text)).toEqual(['Hi', 'One.', 'And then?']);
  expect(copies.map((message: { id: string }) => message.id)).not.toEqual(expect.arrayContaining([askedFirst, answeredFirst]));
  expect(await query('select id, state, turn, pos from messages where run_id = any (?) order by id', [[runId, second]])).toEqual(before);
  expect(
    await query(
      'select turn_no, session_key, active_run_id from conversations c where active_run_id = any (?) order by turn_no, session_key',
      [[fork.body.id, changed.body.id]],
    ),
  ).toEqual([
    { turn_no: 2, session_key: 'other', active_run_id: changed.body.id },
    { turn_no: 2, session_key: null, active_run_id: fork.body.id },
  ]);
});

test('a fork at any other message keeps it and demands the next input', async () => {
  const { tenant, agentId, runId } = await tenantWithRun({ session_key: 'chat' });
  const { member } = tenant.tokens;
  const [, answeredFirst] = await answer(runId, 'One.');
  const second = await start(member, agentId, { session_key: 'chat' });
  const [, answeredSecond] = await answer(second, 'Two.');

  expect(await retry(member, second, { fork_at_message_id: answeredFirst })).toMatchObject({
    status: 422,
    body: { errors: [{ pointer: '/input' }] },
  });
  const fork = await retry(member, second, { fork_at_message_id: answeredFirst, input: { text: 'Why?' } });
  const messages = (await world.call(member, 'GET', `/runs/${fork.body.id}/messages`)).body.items;
  expect(messages.map((message: { content: { text: string }[] }) => message.content[0]?.text)).toEqual(['Hi', 'One.', 'Why?']);
  // What came after the run is not its to fork at.
  expect(await retry(member, runId, { fork_at_message_id: answeredSecond, input: { text: 'Why?' } })).toMatchObject({
    status: 422,
    body: { errors: [{ pointer: '/fork_at_message_id', rule: 'reference' }] },
  });
});

test('a message that was discarded, is another conversation’s or nobody’s is 422; so is what only a fork takes', async () => {
  const { tenant, agentId, runId } = await tenantWithRun({ session_key: 'chat' });
  const { member } = tenant.tokens;
  const [asked] = await answer(runId, 'One.');
  const other = await tenantWithRun();
  const [foreign] = await answer(other.runId, 'Else.');
  const beside = await start(member, agentId);
  const [elsewhere] = await answer(beside, 'Beside.');
  const unknown = { status: 422, body: { errors: [{ pointer: '/fork_at_message_id', rule: 'reference' }] } };

  for (const id of [foreign, elsewhere, crypto.randomUUID()])
    expect(await retry(member, runId, { fork_at_message_id: id })).toMatchObject(unknown);
  await write("update messages set state = 'discarded' where id = ?", [asked]);
  expect(await retry(member, runId, { fork_at_message_id: asked })).toMatchObject(unknown);
  for (const body of [
    { input: { text: 'x' } },
    { session_key: 's' },
    { revision: 'newest' },
    { limits: { max_steps: 0 } },
    { mode: 'wait' },
  ])
    expect([body, (await retry(member, runId, body)).status]).toEqual([body, 422]);
});

test('a used session key is taken; the fork leaves nothing behind', async () => {
  const { tenant, runId } = await tenantWithRun({ session_key: 'chat' });
  const [asked] = await answer(runId, 'One.');

  const refused = await retry(tenant.tokens.member, runId, { fork_at_message_id: asked, session_key: 'chat' });

  expect(refused).toMatchObject({ status: 409, body: { code: 'already_exists', context: { field: 'session_key' } } });
  expect(await query('select id from runs where retry_of_run_id = ?', [runId])).toEqual([]);
});

test('rank, sight and place bound a retry as they bound a start', async () => {
  const { tenant, agentId, runId } = await tenantWithRun();
  const stranger = await world.tenant();
  await answer(runId, 'One.');

  expect((await retry(tenant.tokens.viewer, runId)).status).toBe(403);
  expect((await retry(stranger.tokens.owner, runId)).status).toBe(404);
  const ofAdmin = await start(tenant.tokens.admin, agentId);
  await answer(ofAdmin, 'Two.');
  // It works for another user: that takes an admin.
  expect(await retry(tenant.tokens.member, ofAdmin)).toMatchObject({ status: 403, body: { code: 'role_insufficient' } });
  expect((await retry(tenant.tokens.admin, runId)).body).toMatchObject({ subject: { id: tenant.users.member.id } });
  await write('update agents set is_active = false where id = ?', [agentId]);
  expect(await retry(tenant.tokens.admin, ofAdmin)).toMatchObject(conflict('agent_inactive'));
  await write('update agents set is_active = true, deleted_at = now() where id = ?', [agentId]);
  expect(await retry(tenant.tokens.admin, ofAdmin)).toMatchObject(conflict('agent_inactive'));
  await write('update workspaces set is_active = false where id = ?', [tenant.workspaceId]);
  expect((await retry(tenant.tokens.admin, ofAdmin)).status).toBe(423);
});

test('a repeat of its key starts nothing; a purged run is retried by nobody, its fork stays whole', async () => {
  const { tenant, runId } = await tenantWithRun();
  const [asked] = await answer(runId, 'One.');
  const key = { 'idempotency-key': crypto.randomUUID() };
  const body = { fork_at_message_id: asked, input: { text: 'Again' } };

  const [first, again] = [await retry(tenant.tokens.member, runId, body, key), await retry(tenant.tokens.member, runId, body, key)];
  expect(again.body).toEqual(first.body);
  expect((await world.call(tenant.tokens.admin, 'DELETE', `/runs/${runId}`)).status).toBe(204);

  expect((await retry(tenant.tokens.member, runId)).status).toBe(404);
  expect(await read(tenant.tokens.viewer, first.body.id)).toMatchObject({
    retry_of_run_id: runId,
    status: 'queued',
    input: { text: 'Again' },
  });
});

test('what bounds a run bounds its retries and forks: they are no way out of read, and no word from outside becomes a trusted one', async () => {
  const { tenant, runId } = await tenantWithRun({ session_key: 'chat' });
  const [asked] = await answer(runId, 'One.');
  const rootEventId = newId();
  await write("update runs set max_effect = 'read', untrusted = true, root_event_id = ?, event_depth = 3 where id = ?", [
    rootEventId,
    runId,
  ]);

  const started = [
    await retry(tenant.tokens.member, runId, { fork_at_message_id: asked, input: { text: 'Else' } }),
    await retry(tenant.tokens.member, runId),
  ];

  expect(started.map(({ status }) => status)).toEqual([202, 202]);
  const bounds = await query('select max_effect, untrusted, root_event_id, event_depth from runs where retry_of_run_id = ?', [runId]);
  const same = { max_effect: 'read', untrusted: true, root_event_id: rootEventId, event_depth: 3 };
  expect(bounds).toEqual([same, same]);
});

test('a fork reads on in a result that its copies name, and in no other of the old conversation', async () => {
  const { tenant, runId } = await tenantWithRun({ session_key: 'chat' });
  const [, answered] = await answer(runId, 'One.');
  const place = [tenant.organizationId, tenant.workspaceId];
  const [named, later, uncut] = [newId(), newId(), newId()];
  for (const [pos, callId] of [named, later, uncut].entries()) {
    await write(
      `insert into tool_calls (id, organization_id, workspace_id, run_id, step, message_id, pos, provider_call_id, slug, effect, concurrency, timeout_s, response_max_chars, args, state, output)
       values (?, ?, ?, ?, 1, ?, ?, ?, 'tool', 'read', 'read', 60, 1000, '{}', 'succeeded', '{"a":1}')`,
      [callId, ...place, runId, answered, pos, `c${pos}`],
    );
    if (callId === uncut) continue;
    await write(
      `insert into tool_outputs (run_id, call_id, organization_id, workspace_id, body, media_type) values (?, ?, ?, ?, 'whole', 'text/plain')`,
      [runId, callId, ...place],
    );
  }
  const [message] = await query<{ id: string }>(
    `insert into messages (id, organization_id, workspace_id, conversation_id, run_id, turn, pos, role, origin, content, tool_call_id, state, attempt)
     select ?, organization_id, workspace_id, conversation_id, id, turn_no, 2, 'tool', 'model', '[]', ?, 'committed', 1 from runs where id = ? returning id`,
    [newId(), named, runId],
  );
  const fork = await retry(tenant.tokens.member, runId, { fork_at_message_id: message?.id, input: { text: 'And?' } });
  const tenantOfRun = workspaceTenant(tenant.organizationId, tenant.workspaceId);
  const options = { tenant: tenantOfRun, actor: systemActor, correlationId: crypto.randomUUID() };
  const readOn = async (id: string, from = fork.body.id) =>
    (await transact(world.api.db, options, (tx) => readWholeOutput(tx, from, id, 1, 3))).value?.text ?? null;

  expect([await readOn(named), await readOn(later)]).toEqual(['hol', null]);
  // One that was never cut may have been left out of the prompt since; a model may name what is no id.
  expect([await readOn(uncut, runId), await readOn(uncut), await readOn('c0')]).toEqual(['"a"', null, null]);
});
