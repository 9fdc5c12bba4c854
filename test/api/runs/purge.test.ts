import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../../db/ids.ts';
import { storeReply } from '../../../db/http/idempotency.ts';
import { storeModelStep } from '../../../domain/runs/steps/store-step.ts';
import { sweep } from '../../../db/transaction.ts';
import { appendFramesNow } from '../../../db/streams/append.ts';
import { change, rows } from '../../../db/sql.ts';
import { connectRedis } from '../../../db/streams/redis.ts';
import { streamKeys } from '../../../db/streams/keys.ts';
import { tablesHolding } from '../../support/canary.ts';
import { testServices } from '../../support/services.ts';
import { withAdmin } from '../../support/template.ts';
import { until } from '../../support/temporal.ts';
import type { TestTenant } from '../../support/tenant.ts';
import { runsAsActivities } from '../../support/runs-as-activities.ts';
import { makeAgent, openWorld, type World } from '../world.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});

afterAll(() => world.close());

const write = (sql: string, params: unknown[]) => sweep(world.api.db, (em) => change(em, sql, params));
const query = <T>(sql: string, params: unknown[]) => sweep(world.api.db, (em) => rows<T>(em, sql, params));
const purge = (token: string, runId: string) => world.call(token, 'DELETE', `/runs/${runId}`);
const cancel = (token: string, runId: string) => world.call(token, 'POST', `/runs/${runId}/cancel`, { body: {} });

async function start({ tokens }: TestTenant, agentId: string, extra: object = {}, headers: Record<string, string> = {}): Promise<string> {
  const started = await world.call(tokens.member, 'POST', '/runs', {
    body: { agent_id: agentId, input: { text: 'Hi' }, ...extra },
    headers,
  });
  expect(started.status).toBe(202);
  return started.body.id;
}

const tablesWith = (words: string) => tablesHolding(world.api.database.adminUrl, words);

/** Everything that can hang on a run, each with the words in it. */
async function furnish(tenant: TestTenant, runId: string, words: string): Promise<void> {
  const [messageId, callId, attachmentId] = [newId(), newId(), newId()];
  const [run] = await query<{ conversation_id: string }>('select conversation_id from runs where id = ?', [runId]);
  const place = [tenant.organizationId, tenant.workspaceId];
  const text = JSON.stringify([{ type: 'text', text: words }]);
  const json = JSON.stringify({ words });
  await write(
    `insert into messages (id, organization_id, workspace_id, conversation_id, run_id, turn, pos, role, origin, content, state, attempt)
     values (?, ?, ?, ?, ?, 1, 7, 'assistant', 'model', ?::jsonb, 'committed', 1)`,
    [messageId, ...place, run?.conversation_id, runId, text],
  );
  await write(
    `insert into tool_calls (id, organization_id, workspace_id, run_id, step, message_id, pos, provider_call_id, slug, effect, concurrency, timeout_s, response_max_chars, args, state, output)
     values (?, ?, ?, ?, 1, ?, 0, 'c', 'tool', 'read', 'read', 60, 1000, ?::jsonb, 'succeeded', ?::jsonb)`,
    [callId, ...place, runId, messageId, json, json],
  );
  await write(
    `insert into tool_outputs (run_id, call_id, organization_id, workspace_id, body, media_type) values (?, ?, ?, ?, ?, 'text/plain')`,
    [runId, callId, ...place, words],
  );
  await write(
    `insert into run_steps (id, organization_id, workspace_id, run_id, step, kind, name, status, attempt, args, output_preview, retries, started_at)
     values (?, ?, ?, ?, 1, 'tool', 'tool', 'succeeded', 1, ?::jsonb, ?, '[]', now())`,
    [newId(), ...place, runId, json, words],
  );
  await write(
    `insert into approvals (id, organization_id, workspace_id, run_id, root_run_id, agent_id, tool_call_id, reason, status, prompt, args, decisions, approver_floor, expires_at, on_expiry, comment, resolved_at)
     select ?, organization_id, workspace_id, id, root_run_id, agent_id, ?, 'tool_call', 'approved', ?, ?::jsonb, '{approve}', 'member', now(), 'deny', ?, now() from runs where id = ?`,
    [newId(), callId, words, json, words, runId],
  );
  await write(
    `insert into run_inputs (id, organization_id, workspace_id, run_id, conversation_id, content) values (?, ?, ?, ?, ?, ?::jsonb)`,
    [newId(), ...place, runId, run?.conversation_id, text],
  );
  await write(
    `insert into attachments (id, organization_id, workspace_id, filename, media_type, size_bytes, sha256, purpose, state, created_by, storage_key)
     values (?, ?, ?, 'made.txt', 'text/plain', 4, repeat('0', 64), 'other', 'ready', ?::jsonb, ?)`,
    [attachmentId, ...place, JSON.stringify({ kind: 'agent', id: runId }), `key-${attachmentId}`],
  );
  await write(
    `insert into attachment_links (id, attachment_id, organization_id, workspace_id, owner_kind, owner_id, conversation_id) values (?, ?, ?, ?, 'run', ?, ?)`,
    [newId(), attachmentId, ...place, runId, run?.conversation_id],
  );
  await write(`update runs set output = ?::jsonb, error = ?::jsonb, warnings = ?::jsonb, manifest = ?::jsonb where id = ?`, [
    json,
    json,
    `[${json}]`,
    json,
    runId,
  ]);
  await write(
    `insert into usage_entries (id, organization_id, workspace_id, occurred_at, reserved_at, call_key, source_kind, source_id, run_id, kind, cost, currency)
     values (?, ?, ?, now(), now(), ?, 'run', ?, ?, 'llm', 1, 'USD')`,
    [newId(), ...place, `run:${runId}:1:1:0`, runId, runId],
  );
}

test('nothing of what was said is left in any table; the ledger keeps the ids, a vote its rating', async () => {
  const tenant = await world.tenant();
  const agent = await makeAgent(world, tenant.tokens.admin);
  const words = `canary-${crypto.randomUUID()}`;
  const extra = { input: { text: words, json: { words } }, metadata: { words }, subject: { kind: 'guest', id: words } };
  const runId = await start({ ...tenant, tokens: { ...tenant.tokens, member: tenant.tokens.admin } }, agent.id, extra, {
    'idempotency-key': `k-${words}`,
  });
  await cancel(tenant.tokens.admin, runId);
  await furnish(tenant, runId, words);
  const vote = { rating: 'down', comment: words, correction: words, tags: [words.slice(0, 40)] };
  expect((await world.call(tenant.tokens.viewer, 'PUT', `/runs/${runId}/feedback`, { body: vote })).status).toBe(200);
  const before = await tablesWith(words);

  const purged = await purge(tenant.tokens.admin, runId);

  expect(before).toEqual(
    expect.arrayContaining([
      'approvals',
      'feedback',
      'idempotency_keys',
      'messages',
      'run_inputs',
      'run_steps',
      'runs',
      'tool_calls',
      'tool_outputs',
    ]),
  );
  expect([purged.status, purged.body]).toEqual([204, null]);
  // The key of a request is the client's.
  expect(await tablesWith(words)).toEqual(['idempotency_keys']);
  expect(await query('select call_key, cost from usage_entries where run_id = ?', [runId])).toEqual([
    { call_key: `run:${runId}:1:1:0`, cost: '1.000000000' },
  ]);
  expect((await world.call(tenant.tokens.viewer, 'GET', '/feedback')).body.items).toMatchObject([{ down: 1, comments: 0, corrections: 0 }]);
  expect(await query('select from run_frame_chunks where run_id = ?', [runId])).toEqual([]);
  expect(await query('select expires_at <= now() as due from attachments where organization_id = ?', [tenant.organizationId])).toEqual([
    { due: true },
  ]);
});

test('a purged run is 404 everywhere, also for whoever asks under an old key; a repeat starts nothing', async () => {
  const tenant = await world.tenant();
  const agent = await makeAgent(world, tenant.tokens.admin);
  const key = { 'idempotency-key': crypto.randomUUID() };
  const runId = await start(tenant, agent.id, { session_key: 'gone' }, key);
  await cancel(tenant.tokens.member, runId);
  await purge(tenant.tokens.admin, runId);

  const asks: [string, string, object?][] = [
    ['GET', ''],
    ['GET', '/messages'],
    ['GET', '/steps'],
    ['GET', '/wait'],
    ['GET', '/stream'],
    ['POST', '/cancel', {}],
    ['POST', '/stream-token'],
    ['PUT', '/feedback', { rating: 'up' }],
    ['DELETE', '/feedback'],
    ['DELETE', ''],
  ];
  for (const [method, path, body] of asks) {
    const answer = await world.call(tenant.tokens.admin, method as 'GET', `/runs/${runId}${path}`, body ? { body } : {});
    expect([method, path, answer.status, answer.body.code]).toEqual([method, path, 404, 'not_found']);
  }
  const repeated = await world.call(tenant.tokens.member, 'POST', '/runs', {
    body: { agent_id: agent.id, input: { text: 'Hi' }, session_key: 'gone' },
    headers: key,
  });
  expect([repeated.status, repeated.body.code, repeated.headers['idempotency-replayed']]).toEqual([404, 'not_found', 'true']);
  expect((await world.call(tenant.tokens.viewer, 'GET', '/runs')).body.items).toEqual([]);
  const many = await world.call(tenant.tokens.admin, 'POST', '/runs/cancel', { body: { ids: [runId] } });
  expect(many.body).toMatchObject({ matched: 0, not_found: 1 });
});

test('a live run is 409, a child too, a foreign one 404; a member may not', async () => {
  const [tenant, stranger] = [await world.tenant(), await world.tenant()];
  const agent = await makeAgent(world, tenant.tokens.admin);
  const [root, child] = [await start(tenant, agent.id), await start(tenant, agent.id)];
  const conflict = (reason: string) => ({ status: 409, body: { code: 'state_conflict', context: { reason } } });

  expect(await purge(tenant.tokens.admin, root)).toMatchObject(conflict('run_not_finished'));
  for (const id of [root, child]) await cancel(tenant.tokens.member, id);
  await write(`update runs set parent_run_id = ?, root_run_id = ?, lineage = array[?::uuid], source = 'sub_agent' where id = ?`, [
    root,
    root,
    root,
    child,
  ]);
  await write('update run_streams set root_run_id = ? where run_id = ?', [root, child]);
  expect(await purge(tenant.tokens.admin, child)).toMatchObject(conflict('not_a_root_run'));
  expect((await purge(tenant.tokens.member, root)).status).toBe(403);
  expect((await purge(stranger.tokens.owner, root)).status).toBe(404);
  await write("update runs set status = 'running', finish_reason = null, finished_at = null where id = ?", [child]);
  expect(await purge(tenant.tokens.admin, root)).toMatchObject(conflict('run_not_finished'));
  await write("update runs set status = 'cancelled', finish_reason = 'cancelled', finished_at = now() where id = ?", [child]);
  expect((await purge(tenant.tokens.admin, root)).status).toBe(204);

  expect((await world.call(tenant.tokens.viewer, 'GET', `/runs/${child}`)).status).toBe(404);
  expect(await query('select from messages where run_id = any (?)', [[root, child]])).toEqual([]);
  const audited = await query(
    "select action, changes -> 'purged_runs' -> 'to' as runs from audit_entries where operation_id = 'purgeRun' and resource_id = ?",
    [root],
  );
  expect(audited).toEqual([{ action: 'purge', runs: 2 }]);
});

test('what Redis holds of the frames goes with them', async () => {
  const tenant = await world.tenant();
  const agent = await makeAgent(world, tenant.tokens.admin);
  const runId = await start(tenant, agent.id);
  await cancel(tenant.tokens.member, runId);
  const redis = connectRedis(testServices().redisUrl, 'commands', () => undefined);
  const key = streamKeys(world.api.redisPrefix).run(runId);
  try {
    await until(async () => (await redis.exists(key)) === 1);
    await purge(tenant.tokens.admin, runId);
    await until(async () => (await redis.exists(key)) === 0);
  } finally {
    redis.disconnect();
  }
});

test('a vote and a purge at once leave no text behind', async () => {
  const tenant = await world.tenant();
  const agent = await makeAgent(world, tenant.tokens.admin);
  for (let round = 0; round < 8; round++) {
    const runId = await start(tenant, agent.id);
    await cancel(tenant.tokens.member, runId);

    const [voted, purged] = await Promise.all([
      world.call(tenant.tokens.viewer, 'PUT', `/runs/${runId}/feedback`, { body: { rating: 'up', comment: 'late' } }),
      purge(tenant.tokens.admin, runId),
    ]);

    expect(purged.status).toBe(204);
    expect([200, 404]).toContain(voted.status);
    const left = await query('select comment from feedback where run_id = ?', [runId]);
    expect(left).toEqual(voted.status === 200 ? [{ comment: null }] : []);
  }
});

test('a frozen place lets a run be purged', async () => {
  const tenant = await world.tenant();
  const agent = await makeAgent(world, tenant.tokens.admin);
  const runId = await start(tenant, agent.id);
  await cancel(tenant.tokens.member, runId);
  await write('update workspaces set is_active = false where id = ?', [tenant.workspaceId]);

  expect((await purge(tenant.tokens.admin, runId)).status).toBe(204);
});

test('a reply that was on its way while the run was purged brings nothing back', async () => {
  const tenant = await world.tenant();
  const agent = await makeAgent(world, tenant.tokens.admin);
  const words = `canary-${crypto.randomUUID()}`;
  const key = crypto.randomUUID();
  const runId = await start(tenant, agent.id, {}, { 'idempotency-key': key });
  await cancel(tenant.tokens.member, runId);
  // As a start with mode wait has left it: its 202 stands in for the reply that is still to come.
  const held = await write("update idempotency_keys set state = 'running', lease_until = now() + interval '90 seconds' where key = ?", [
    key,
  ]);
  const [row] = await query<{ id: string; lease: string }>('select id, lease_until::text as lease from idempotency_keys where key = ?', [
    key,
  ]);

  await purge(tenant.tokens.admin, runId);
  const late = { status: 200, headers: {}, body: Buffer.from(words), bodyKeyId: null, shownIds: [] };
  await sweep(world.api.db, (em) => storeReply(em, row?.id ?? '', row?.lease ?? '', late, true));

  expect(held).toBe(1);
  expect(await tablesWith(words)).toEqual([]);
});

test('a refusal that shows the run is not kept beyond its purge', async () => {
  const tenant = await world.tenant();
  const agent = await makeAgent(world, tenant.tokens.admin);
  const words = `canary-${crypto.randomUUID()}`;
  const runId = await start(tenant, agent.id, { input: { text: words } });
  await cancel(tenant.tokens.member, runId);
  const key = crypto.randomUUID();

  // The refused request has answered, and its reply is stored when the run is gone already.
  const refused = await withAdmin(world.api.database.adminUrl, async (client) => {
    await client.query('begin');
    await client.query('select from conversations where id = (select conversation_id from runs where id = $1) for update', [runId]);
    const asked = world.call(tenant.tokens.member, 'POST', `/runs/${runId}/cancel`, { body: {}, headers: { 'idempotency-key': key } });
    await until(async () => (await query('select from idempotency_keys where key = ?', [key])).length === 1);
    await withAdmin(world.api.database.adminUrl, async (other) => {
      await other.query('begin');
      await other.query('select from idempotency_keys where key = $1 for update', [key]);
      await client.query('commit');
      await until(async () => (await waitersOn('idempotency_keys')) > 0);
      const purged = purge(tenant.tokens.admin, runId);
      await until(
        async () =>
          (await waitersOn('runs')) > 0 || (await query('select from runs where id = ? and deleted_at is not null', [runId])).length > 0,
      );
      await other.query('commit');
      expect((await purged).status).toBe(204);
    });
    return asked;
  });

  expect(refused).toMatchObject({ status: 409, body: { context: { reason: 'run_finished', run: { id: runId } } } });
  expect(await tablesWith(words)).toEqual([]);
});

/** Statements on a table that wait for a lock. */
async function waitersOn(table: string): Promise<number> {
  return withAdmin(world.api.database.adminUrl, async (client) => {
    const sql = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%' || $1 || '%'`;
    return (await client.query(sql, [table])).rowCount ?? 0;
  });
}

test('the reply of an operator who named the workspace goes too, and no reply that only speaks of the run', async () => {
  const tenant = await world.tenant();
  const agent = await makeAgent(world, tenant.tokens.admin);
  const words = `canary-${crypto.randomUUID()}`;
  const runId = await start(
    { ...tenant, tokens: { ...tenant.tokens, member: tenant.tokens.operator } },
    agent.id,
    {
      workspace_id: tenant.workspaceId,
      input: { text: words },
    },
    { 'idempotency-key': crypto.randomUUID() },
  );
  await cancel(tenant.tokens.admin, runId);
  const speaking = { 'idempotency-key': crypto.randomUUID() };
  const input = { text: `What became of ${runId}?` };
  const beside = await start(tenant, agent.id, { input }, speaking);

  expect((await purge(tenant.tokens.admin, runId)).status).toBe(204);

  expect(await tablesWith(words)).toEqual([]);
  const repeated = await world.call(tenant.tokens.member, 'POST', '/runs', { body: { agent_id: agent.id, input }, headers: speaking });
  expect([repeated.status, repeated.body.id]).toEqual([202, beside]);
});

test('what activities still write when the run is gone brings nothing back', async () => {
  const tenant = await world.tenant();
  const agent = await makeAgent(world, tenant.tokens.admin);
  const place = runsAsActivities(world);
  const words = `canary-${crypto.randomUUID()}`;
  const runId = await start(tenant, agent.id);
  await place.begin(tenant, runId);
  await place.finish(tenant, runId, { reason: 'timeout' });
  await purge(tenant.tokens.admin, runId);

  const content = [{ type: 'text' as const, text: words }];
  const usage = { model: 'm', provider: 'p', input: 1, output: 1, cachedRead: 0, cachedWrite: 0, reasoning: 0 };
  const stored = await place.asRun(tenant, runId, (tx) =>
    storeModelStep(
      tx,
      {
        runId,
        step: 1,
        attempt: 1,
        messageId: newId(),
        model: words,
        stopReason: 'stop',
        content,
        providerState: null,
        calls: [],
        followUp: null,
        firstTokenAt: null,
        usage: usage as never, // it is not looked at
      },
      () => Promise.reject(new Error('frames of a purged run')),
    ),
  );
  const run = {
    runId,
    rootRunId: runId,
    parentRunId: null,
    organizationId: tenant.organizationId,
    workspaceId: tenant.workspaceId,
    path: ['a'],
  };
  const delta = { type: 'message.delta', data: { message_id: newId(), block: 'text', index: 0, text: words } };
  const [appended] = await place.asRun(
    tenant,
    runId,
    (tx) => appendFramesNow(tx, [{ run, scope: 's1', attempt: 1, batch: 1, frames: [delta as never] }]), // as the emitter of a try that was frozen
  );
  await place.begin(tenant, runId);
  await place.finish(tenant, runId, { reason: 'error', error: { code: 'internal_error', message: words } });

  expect([stored, appended?.result]).toEqual(['ended', 'ended']);
  expect(await tablesWith(words)).toEqual([]);
  expect(await query('select from run_frame_chunks where run_id = ?', [runId])).toEqual([]);
});
