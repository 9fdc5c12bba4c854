import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sweep } from '../../../db/transaction.ts';
import { change, rows } from '../../../db/sql.ts';
import { parseFrame } from '../../../db/streams/frame-text.ts';
import { checkStream } from '../../../db/streams/grammar.ts';
import { withAdmin } from '../../support/template.ts';
import { until } from '../../support/temporal.ts';
import { makeAgent, openWorld, type World } from '../world.ts';

let world: World;
const statements: string[] = [];

beforeAll(async () => {
  world = await openWorld({ onQuery: (sql) => statements.push(sql) });
});

afterAll(() => world.close());

const query = <T>(sql: string, params: unknown[]) => sweep(world.api.db, (em) => rows<T>(em, sql, params));
const write = (sql: string, params: unknown[]) => sweep(world.api.db, (em) => change(em, sql, params));
const batch = (token: string, items: readonly object[], headers: Record<string, string> = {}) =>
  world.call(token, 'POST', '/runs/batch', { body: { items }, headers });

async function framesOf(runId: string) {
  const chunks = await query<{ frames: string[] }>('select frames from run_frame_chunks where run_id = ? order by first_seq', [runId]);
  return chunks.flatMap((chunk) => chunk.frames.map(parseFrame));
}

test('starts fail alone: what is refused says why, by the place in the batch; the others are started in their order', async () => {
  const [{ tokens }, stranger] = [await world.tenant(), await world.tenant()];
  const agent = await makeAgent(world, tokens.admin);
  const off = await makeAgent(world, tokens.admin, { is_active: false });
  const theirs = await makeAgent(world, stranger.tokens.admin);
  const ok = { agent_id: agent.id, input: { text: 'Hi' } };

  const { status, body } = await batch(tokens.member, [
    { ...ok, session_key: 'line' },
    { ...ok, agent_id: theirs.id },
    { ...ok, agent_id: crypto.randomUUID() },
    { ...ok, input: {} },
    { ...ok, session_key: 'line' },
    { ...ok, session_key: 'line', on_busy: 'reject' },
    { ...ok, agent_id: off.id },
    { ...ok, agent_slug: agent.slug },
    ok,
  ]);

  expect(status).toBe(200);
  expect([body.created, body.failed]).toEqual([3, 6]);
  expect(body.items.map((item: { index: number; status: string }) => [item.index, item.status])).toEqual([
    [0, 'created'],
    [1, 'failed'],
    [2, 'failed'],
    [3, 'failed'],
    [4, 'created'],
    [5, 'failed'],
    [6, 'failed'],
    [7, 'failed'],
    [8, 'created'],
  ]);
  expect(body.items[0].run).toMatchObject({ status: 'queued', queue_position: null, admission: 'started' });
  expect(body.items[4].run).toMatchObject({ status: 'queued', queue_position: 1, admission: 'queued' });
  const refused = { code: 'validation_failed', status: 422 };
  expect(body.items[1].error).toMatchObject({ ...refused, errors: [{ pointer: '/items/1/agent_id', rule: 'reference' }] });
  expect({ ...body.items[2].error, errors: [] }).toEqual({ ...body.items[1].error, errors: [] });
  expect(body.items[3].error).toMatchObject({ ...refused, errors: [{ pointer: '/items/3/input', rule: 'required' }] });
  expect(body.items[5].error).toMatchObject({ status: 409, context: { reason: 'conversation_busy', active_run_id: body.items[0].run.id } });
  expect(body.items[6].error).toMatchObject({ status: 409, context: { reason: 'agent_inactive' } });
  expect(body.items[7].error).toMatchObject({ ...refused, errors: [{ rule: 'oneOf' }] });
  const stored = await query<{ id: string }>('select id from runs where agent_id = any (?) order by id', [[agent.id, off.id, theirs.id]]);
  expect(stored.map(({ id }) => id)).toEqual([body.items[0].run.id, body.items[4].run.id, body.items[8].run.id]);
  const starts = await query("select target from outbox where kind = 'workflow.start' and target = any (?)", [
    stored.map(({ id }) => `run:${id}`),
  ]);
  expect(starts).toHaveLength(2);
});

test('every policy of a busy conversation acts within a batch as it does alone', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const at = (sessionKey: string, onBusy: string, text = 'Hi') => ({
    agent_id: agent.id,
    input: { text },
    session_key: sessionKey,
    on_busy: onBusy,
  });

  const { body } = await batch(tokens.member, [
    at('interrupt', 'enqueue'),
    at('interrupt', 'interrupt'),
    at('steer', 'enqueue', 'First.'),
    at('steer', 'steer', 'Second.'),
    at('later', 'enqueue'),
    { ...at('later', 'enqueue'), start_after: new Date(Date.now() + 3_600_000).toISOString() },
  ]);

  expect(body.failed).toBe(0);
  const [old, next, first, steered, , delayed] = body.items.map((item: { run: { id: string; admission: string } }) => item.run);
  expect([next.admission, steered.admission, delayed.admission]).toEqual(['started', 'steered', 'delayed']);
  expect(steered.id).toBe(first.id);
  const superseded = await world.call(tokens.viewer, 'GET', `/runs/${old.id}`);
  expect(superseded.body).toMatchObject({ status: 'cancelled', finish_reason: 'superseded' });
  for (const run of [old, next, first]) expect(checkStream(await framesOf(run.id), { runId: run.id, isEnded: run === old })).toEqual([]);
});

test('a hundred starts refer to what they need in at most six statements, and commit once', async () => {
  const { tokens, users } = await world.tenant();
  const [one, two] = [await makeAgent(world, tokens.admin), await makeAgent(world, tokens.admin)];
  const items = Array.from({ length: 100 }, (_, n) => ({
    ...(n % 2 === 0 ? { agent_id: one.id } : { agent_slug: two.slug }),
    input: { text: `${n}` },
    session_key: `s${n % 40}`,
    ...(n % 3 === 0 ? { subject: { kind: 'user', id: users.viewer.id } } : {}),
  }));

  statements.length = 0;
  const { body } = await batch(tokens.admin, items);

  expect([body.created, body.failed]).toEqual([100, 0]);
  const reads = statements.filter((sql) => /^\s*(with|select)/i.test(sql) && !/insert|update|set_config|gate_|append_frames/.test(sql));
  expect(reads.length).toBeLessThanOrEqual(6);
  // Beside one statement a run: the note, reads, and what opens and ends the transaction.
  const others = statements.filter((sql) => !/insert into "runs"|gate_|from "outbox"|update "outbox"/.test(sql));
  expect(others.length).toBeLessThanOrEqual(12);
});

test('what breaks the schema breaks the batch; nothing is started then', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const ok = { agent_id: agent.id, input: { text: 'Hi' } };
  const wrong: [object[], string | null][] = [
    [[], '/items'],
    [Array.from({ length: 101 }, () => ok), '/items'],
    [[ok, { ...ok, mode: 'wait' }], '/items/1/mode'],
    [[ok, { ...ok, wait_timeout_s: 5 }], '/items/1/wait_timeout_s'],
    [[ok, { ...ok, on_busy: 'explode' }], '/items/1/on_busy'],
    [[ok, { agent_id: agent.id }], '/items/1/input'],
  ];

  for (const [items, pointer] of wrong) {
    const answer = await batch(tokens.member, items);
    expect([answer.status, answer.body.errors[0].pointer]).toEqual([422, pointer]);
  }
  expect((await batch(tokens.viewer, [ok])).status).toBe(403);
  expect(await query('select id from runs where agent_id = ?', [agent.id])).toEqual([]);
});

test('a batch is one mutation: one entry with the counts, one reply under a key', async () => {
  const tenant = await world.tenant();
  const agent = await makeAgent(world, tenant.tokens.admin);
  const items = [
    { agent_id: agent.id, input: { text: 'Hi' } },
    { agent_id: agent.id, input: {} },
  ];
  const key = { 'idempotency-key': crypto.randomUUID() };

  const first = await batch(tenant.tokens.member, items, key);
  const again = await batch(tenant.tokens.member, items, key);

  expect(again.body).toEqual(first.body);
  expect(again.headers['idempotency-replayed']).toBe('true');
  expect(await query('select id from runs where agent_id = ?', [agent.id])).toHaveLength(1);
  const audited = await query(
    "select workspace_id, changes from audit_entries where operation_id = 'createRunBatch' and workspace_id = ?",
    [tenant.workspaceId],
  );
  expect(audited).toEqual([
    { workspace_id: tenant.workspaceId, changes: { created: { from: null, to: 1 }, failed: { from: null, to: 1 } } },
  ]);
  // A purged run goes out of the stored reply, the others stay.
  const runId = first.body.items[0].run.id;
  await world.call(tenant.tokens.member, 'POST', `/runs/${runId}/cancel`, { body: {} });
  expect((await world.call(tenant.tokens.admin, 'DELETE', `/runs/${runId}`)).status).toBe(204);
  const purged = await batch(tenant.tokens.member, items, key);
  expect(purged.body).toMatchObject({ created: 1, items: [{ run: null, error: { status: 404 } }, { status: 'failed' }] });
});

test('a frozen workspace takes no batch; a body may be 8 MiB', async () => {
  const tenant = await world.tenant();
  const agent = await makeAgent(world, tenant.tokens.admin);
  const item = { agent_id: agent.id, input: { text: 'x'.repeat(200_000) } };

  const large = await batch(
    tenant.tokens.member,
    Array.from({ length: 40 }, () => item),
  );
  const tooLarge = await batch(
    tenant.tokens.member,
    Array.from({ length: 43 }, () => item),
  );
  await write('update workspaces set is_active = false where id = ?', [tenant.workspaceId]);
  const frozen = await batch(tenant.tokens.member, [item]);

  expect([large.status, large.body.created]).toEqual([200, 40]);
  expect([tooLarge.status, tooLarge.body.code]).toEqual([413, 'payload_too_large']);
  expect([frozen.status, frozen.body.code]).toEqual([423, 'resource_frozen']);
  expect(await query('select count(*)::int as runs from runs where agent_id = ?', [agent.id])).toEqual([{ runs: 40 }]);
});

test('a batch and a cancel of many meet the same conversations in one order: neither is tried twice', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const at = (sessionKey: string) => ({ agent_id: agent.id, input: { text: 'Hi' }, session_key: sessionKey });
  // The elder conversation has the later name.
  const ids: string[] = [];
  for (const key of ['z', 'a']) ids.push((await world.call(tokens.member, 'POST', '/runs', { body: at(key) })).body.id);
  const waiters = async () =>
    withAdmin(world.api.database.adminUrl, async (client) => {
      const sql =
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%conversations%'";
      return (await client.query(sql)).rowCount ?? 0;
    });

  const [cancelled, started] = await withAdmin(world.api.database.adminUrl, async (client) => {
    await client.query('begin');
    await client.query('select from conversations where id = (select conversation_id from runs where id = $1) for update', [ids[0]]);
    statements.length = 0;
    const cancel = world.call(tokens.admin, 'POST', '/runs/cancel', { body: { ids } });
    await until(async () => (await waiters()) === 1);
    const starts = batch(tokens.member, [at('a'), at('z')]);
    await until(async () => (await waiters()) === 2);
    await client.query('commit');
    return Promise.all([cancel, starts]);
  });

  expect([cancelled.body.cancelled, started.body.created]).toEqual([2, 2]);
  expect(statements.filter((sql) => /insert into "conversations"/.test(sql))).toHaveLength(1);
  expect(statements.filter((sql) => /from "conversations" [^]*order by "id" for no key update/.test(sql))).toHaveLength(1);
});
