import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sweep } from '../../../db/transaction.ts';
import { change, rows } from '../../../db/sql.ts';
import { parseFrame } from '../../../db/streams/frame-text.ts';
import { checkStream } from '../../../db/streams/grammar.ts';
import { violationsOf } from '../../streams/frame-validator.ts';
import { isOfRequest } from '../../support/statements.ts';
import { makeAgent, openWorld, type World } from '../world.ts';

let world: World;
const statements: string[] = [];

beforeAll(async () => {
  world = await openWorld({ onQuery: (sql) => statements.push(sql) });
});

afterAll(() => world.close());

const start = async (token: string, agentId: string, extra: object = {}): Promise<string> => {
  const started = await world.call(token, 'POST', '/runs', { body: { agent_id: agentId, input: { text: 'Hi' }, ...extra } });
  expect(started.status).toBe(202);
  return started.body.id;
};
const cancelMany = (token: string, body: object, headers: Record<string, string> = {}) =>
  world.call(token, 'POST', '/runs/cancel', { body, headers });
const statusOf = async (token: string, id: string) => (await world.call(token, 'GET', `/runs/${id}`)).body.status;
const query = <T>(sql: string, params: unknown[]) => sweep(world.api.db, (em) => rows<T>(em, sql, params));
const write = (sql: string, params: unknown[]) => sweep(world.api.db, (em) => change(em, sql, params));
const running = (id: string) => write("update runs set status = 'running', started_at = now() where id = ?", [id]);

async function framesOf(runId: string) {
  const chunks = await query<{ frames: string[] }>('select frames from run_frame_chunks where run_id = ? order by first_seq', [runId]);
  return chunks.flatMap((chunk) => chunk.frames.map(parseFrame));
}

test('named runs are cancelled by what they are, each counted once; foreign and unknown ids are not found', async () => {
  const [mine, other] = [await world.tenant(), await world.tenant()];
  const agent = await makeAgent(world, mine.tokens.admin);
  const theirs = await start(other.tokens.member, (await makeAgent(world, other.tokens.admin)).id);
  const [queued, working, cancelling, ended] = await Promise.all([1, 2, 3, 4].map(() => start(mine.tokens.member, agent.id)));
  await running(working ?? '');
  await running(cancelling ?? '');
  for (const id of [cancelling, ended]) await world.call(mine.tokens.member, 'POST', `/runs/${id}/cancel`, { body: {} });

  const ids = [queued, working, cancelling, ended, queued, String(queued).toUpperCase(), theirs, crypto.randomUUID()];
  const answer = await cancelMany(mine.tokens.admin, { ids, policy: 'rollback', reason: 'enough' });

  expect(answer).toMatchObject({
    status: 202,
    body: { matched: 4, cancelled: 1, cancelling: 2, already_finished: 1, not_found: 2, continues: false },
  });
  expect(await statusOf(mine.tokens.viewer, queued ?? '')).toBe('cancelled');
  expect(await statusOf(mine.tokens.viewer, working ?? '')).toBe('cancelling');
  expect(await statusOf(other.tokens.viewer, theirs)).toBe('queued');
  expect((await framesOf(working ?? '')).at(-1)?.data).toMatchObject({ status: 'cancelling', previous: 'running', reason: 'enough' });
  expect((await query('select target from outbox where kind = ? and target = ?', ['workflow.cancel', `run:${working}`])).length).toBe(1);
  const frames = await framesOf(queued ?? '');
  expect(checkStream(frames, { runId: queued ?? '' })).toEqual([]);
  expect(frames.flatMap((frame) => violationsOf(frame))).toEqual([]);
});

test('a filter meets live runs alone, in every state, and moves no line for nothing', async () => {
  const { tokens } = await world.tenant();
  const [agent, beside] = [await makeAgent(world, tokens.admin), await makeAgent(world, tokens.admin)];
  const line: string[] = [];
  for (let n = 0; n < 4; n++) line.push(await start(tokens.member, agent.id, { session_key: 'line' }));
  const elsewhere = await start(tokens.member, agent.id, { session_key: 'other' });
  const untouched = await start(tokens.member, beside.id, { session_key: 'line' });
  await running(line[0] ?? '');

  const first = await cancelMany(tokens.admin, { filter: { session_key: 'line', agent_id: agent.id } });
  const again = await cancelMany(tokens.admin, { filter: { session_key: 'line', agent_id: agent.id } });

  expect(first.body).toEqual({ matched: 4, cancelled: 3, cancelling: 1, already_finished: 0, not_found: 0, continues: false });
  expect(again.body).toEqual({ matched: 0, cancelled: 0, cancelling: 0, already_finished: 0, not_found: 0, continues: false });
  expect([await statusOf(tokens.viewer, elsewhere), await statusOf(tokens.viewer, untouched)]).toEqual(['queued', 'queued']);
  for (const id of line.slice(1)) expect((await framesOf(id)).map((frame) => frame.type)).toEqual(['run.status', 'run.finished']);
  expect(
    await query('select queue_length, active_run_id from conversations c join runs r on r.conversation_id = c.id where r.id = ?', [
      line[0],
    ]),
  ).toEqual([{ queue_length: 0, active_run_id: line[0] }]);
});

test('the line moves past the runs that are cancelled', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const line: string[] = [];
  for (let n = 0; n < 4; n++) line.push(await start(tokens.member, agent.id, { session_key: 'move' }));

  const answer = await cancelMany(tokens.admin, { ids: [line[0], line[2]] });
  const [second, fourth] = [
    await world.call(tokens.viewer, 'GET', `/runs/${line[1]}`),
    await world.call(tokens.viewer, 'GET', `/runs/${line[3]}`),
  ];

  expect(answer.body).toMatchObject({ matched: 2, cancelled: 2 });
  expect(second.body).toMatchObject({ status: 'queued', queue_position: null });
  expect(fourth.body).toMatchObject({ status: 'queued', queue_position: 1 });
  expect((await query('select target from outbox where kind = ? and target = ?', ['workflow.start', `run:${line[1]}`])).length).toBe(1);
});

test('descendants are cancelled with their runs, ancestors are not', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const [root, child, grandchild] = [
    await start(tokens.member, agent.id),
    await start(tokens.member, agent.id),
    await start(tokens.member, agent.id),
  ];
  for (const id of [root, child, grandchild]) await running(id);
  const hang = async (id: string, parent: string, lineage: string[]) => {
    await write(`update runs set parent_run_id = ?, root_run_id = ?, lineage = ?, depth = ?, source = 'sub_agent' where id = ?`, [
      parent,
      root,
      lineage,
      lineage.length,
      id,
    ]);
    await write('update run_streams set root_run_id = ? where run_id = ?', [root, id]);
  };
  await hang(child, root, [root]);
  await hang(grandchild, child, [root, child]);

  const answer = await cancelMany(tokens.admin, { ids: [child] });

  expect(answer.body).toMatchObject({ matched: 1, cancelling: 1 });
  expect([await statusOf(tokens.viewer, root), await statusOf(tokens.viewer, child), await statusOf(tokens.viewer, grandchild)]).toEqual([
    'running',
    'cancelling',
    'cancelling',
  ]);
  expect((await framesOf(root)).filter((frame) => frame.type === 'run.status').map((frame) => frame.run_id)).toEqual([
    root,
    child,
    grandchild,
  ]);
});

test('no cancel without an id or a filter, no empty filter, not both, no unknown field', async () => {
  const { tokens } = await world.tenant();
  const wrong = [
    {},
    { reason: 'x' },
    { filter: {} },
    { ids: [] },
    { ids: [crypto.randomUUID()], filter: { session_key: 'a' } },
    { ids: Array.from({ length: 201 }, () => crypto.randomUUID()) },
    { ids: ['no-id'] },
    { filter: { status: 'running' } },
    { filter: { session_key: '' } },
    { filter: { agent_id: null } },
    { filter: { session_key: 'a' }, policy: 'kill' },
    { filter: { session_key: 'a' }, reason: 'x'.repeat(501) },
  ];

  for (const body of wrong) expect([body, (await cancelMany(tokens.admin, body)).status]).toEqual([body, 422]);
  expect((await cancelMany(tokens.member, { filter: { session_key: 'a' } })).status).toBe(403);
});

test('where the rank is lower a named run is refused and a matching one left out; frozen places too', async () => {
  const tenant = await world.tenant({ workspaces: 2 });
  const { tokens, users, organizationAdmin } = tenant;
  const agent = await makeAgent(world, organizationAdmin.token, { scope: 'workspace', workspace_id: tenant.workspaceIds[1] });
  const theirs = await start(organizationAdmin.token, agent.id, { session_key: 'a' });
  await write('insert into workspace_grants (workspace_id, user_id, organization_id, role) values (?, ?, ?, ?)', [
    tenant.workspaceIds[1],
    users.admin.id,
    tenant.organizationId,
    'member',
  ]);

  expect(await cancelMany(tokens.admin, { ids: [theirs] })).toMatchObject({ status: 403, body: { code: 'role_insufficient' } });
  expect((await cancelMany(tokens.admin, { filter: { session_key: 'a' } })).body).toMatchObject({ matched: 0 });
  await write('update workspaces set is_active = false where id = ?', [tenant.workspaceIds[1]]);
  expect((await cancelMany(organizationAdmin.token, { ids: [theirs] })).status).toBe(423);
  expect((await cancelMany(organizationAdmin.token, { filter: { session_key: 'a' } })).body).toMatchObject({ matched: 0 });
  await write('update workspaces set is_active = true where id = ?', [tenant.workspaceIds[1]]);
  expect((await cancelMany(organizationAdmin.token, { filter: { session_key: 'a' } })).body).toMatchObject({ matched: 1, cancelled: 1 });
});

test('it is one mutation: one entry with the counts, one reply under a key, few statements whatever the number', async () => {
  const tenant = await world.tenant();
  const agent = await makeAgent(world, tenant.tokens.admin);
  const begin = () => start(tenant.tokens.member, agent.id, { session_key: 'many' });
  const count = async (runs: number, key: string) => {
    for (let n = 0; n < runs; n++) await begin();
    statements.length = 0;
    const answer = await cancelMany(tenant.tokens.admin, { filter: { session_key: 'many' } }, { 'idempotency-key': key });
    const taken = statements.filter((sql) => isOfRequest(sql) && !/idempotency|reconciled_at/.test(sql)).length;
    return { answer, taken };
  };

  const [two, ten] = [await count(2, 'k-1'), await count(10, 'k-2')];
  const replayed = await cancelMany(tenant.tokens.admin, { filter: { session_key: 'many' } }, { 'idempotency-key': 'k-2' });

  expect([two.answer.body.cancelled, ten.answer.body.cancelled]).toEqual([2, 10]);
  expect(ten.taken).toBe(two.taken);
  expect(replayed.headers['idempotency-replayed']).toBe('true');
  expect(replayed.body).toEqual(ten.answer.body);
  const audited = await query<{ changes: Record<string, { to: unknown }> }>(
    "select changes from audit_entries where operation_id = 'cancelRuns' and workspace_id = ? order by created_at",
    [tenant.workspaceId],
  );
  expect(audited.map(({ changes }) => changes['cancelled']?.to)).toEqual([2, 10]);
});

test('cancels of the same runs at once end each once and block nothing', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const ids = await Promise.all(Array.from({ length: 15 }, (_, n) => start(tokens.member, agent.id, { session_key: `s${n % 3}` })));

  const answers = await Promise.all([
    ...[0, 1, 2].map((n) => cancelMany(tokens.admin, { filter: { session_key: `s${n}` } })),
    cancelMany(tokens.admin, { ids }),
    cancelMany(tokens.admin, { filter: { agent_id: agent.id } }),
    ...ids.slice(0, 5).map((id) => world.call(tokens.member, 'POST', `/runs/${id}/cancel`, { body: {} })),
  ]);

  expect(answers.slice(0, 5).map((answer) => answer.status)).toEqual([202, 202, 202, 202, 202]);
  for (const answer of answers.slice(5)) expect([202, 409]).toContain(answer.status);
  for (const id of ids) expect((await framesOf(id)).filter((frame) => frame.type === 'run.finished')).toHaveLength(1);
  const left = await query(
    'select c.active_run_id, c.queue_length from conversations c join runs r on r.conversation_id = c.id where r.id = any (?)',
    [ids],
  );
  expect(new Set(left.map((row) => JSON.stringify(row)))).toEqual(new Set(['{"active_run_id":null,"queue_length":0}']));
});

test('what is left to the workflow is all that matched, also where the clock of an API process is ahead', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const item = { agent_id: agent.id, input: { text: 'Hi' } };
  for (let hundred = 0; hundred < 5; hundred++)
    await world.call(tokens.member, 'POST', '/runs/batch', { body: { items: Array.from({ length: 100 }, () => item) } });
  const newest = await start(tokens.member, agent.id);
  // By its id it comes last.
  await write("update runs set created_at = clock_timestamp() + interval '3 seconds', activated_at = now() where id = ?", [newest]);
  await write('update runs set activated_at = null where agent_id = ? and id <> ?', [agent.id, newest]);

  const answer = await cancelMany(tokens.admin, { filter: { agent_id: agent.id } });

  expect(answer.body).toMatchObject({ matched: 501, cancelled: 500, continues: true });
  const meant = await query(
    "select r.id from runs r join bulk_cancels b on b.workspace_id = r.workspace_id where r.agent_id = ? and r.status = 'queued' and r.created_at <= b.created_at",
    [agent.id],
  );
  expect(meant).toEqual([{ id: newest }]);
});
