import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sweep } from '../../../db/transaction.ts';
import { change, rows } from '../../../db/sql.ts';
import { toFeedbackAggregateView } from '../../../api/feedback/feedback.schema.ts';
import { wilsonLower } from '../../../domain/feedback/wilson.ts';
import type { TestTenant } from '../../support/tenant.ts';
import { makeAgent, openWorld, type World } from '../world.ts';

let world: World;
const statements: string[] = [];

beforeAll(async () => {
  world = await openWorld({ onQuery: (sql) => statements.push(sql) });
});

afterAll(() => world.close());

const query = <T>(sql: string, params: unknown[]) => sweep(world.api.db, (em) => rows<T>(em, sql, params));
const vote = (token: string, runId: string, body: object = { rating: 'up' }, headers: Record<string, string> = {}) =>
  world.call(token, 'PUT', `/runs/${runId}/feedback`, { body, headers });
const withdraw = (token: string, runId: string) => world.call(token, 'DELETE', `/runs/${runId}/feedback`);
const groups = (token: string, filters = '') => world.call(token, 'GET', `/feedback${filters}`);

/** A run that has ended; of the agent's active revision. */
async function endedRun({ tokens }: TestTenant, agentId: string, extra: object = {}): Promise<string> {
  const run = await world.call(tokens.admin, 'POST', '/runs', { body: { agent_id: agentId, input: { text: 'Hi' }, ...extra } });
  const ended = await world.call(tokens.admin, 'POST', `/runs/${run.body.id}/cancel`, { body: {} });
  expect(ended.body.status).toBe('cancelled');
  return run.body.id;
}

async function tenantWithRun(): Promise<{ tenant: TestTenant; agentId: string; runId: string }> {
  const tenant = await world.tenant();
  const agent = await makeAgent(world, tenant.tokens.admin);
  return { tenant, agentId: agent.id, runId: await endedRun(tenant, agent.id) };
}

test('tags are kept letter by letter, also those that an array of PostgreSQL reads otherwise', async () => {
  const { tenant, runId } = await tenantWithRun();
  const tags = ['NULL', ' a ', 'b"q\\', '{x,y}', 'two\nlines'];

  const put = await vote(tenant.tokens.viewer, runId, { rating: 'up', tags });

  expect(put).toMatchObject({ status: 200, body: { tags } });
});

test('a vote is put whole: absent fields are cleared, its making stays, its time is its last change', async () => {
  const { tenant, agentId, runId } = await tenantWithRun();

  const first = await vote(tenant.tokens.viewer, runId, {
    rating: 'down',
    comment: 'Wrong.',
    tags: ['facts', 'tone'],
    correction: 'Right.',
  });
  const second = await vote(tenant.tokens.viewer, runId, { rating: 'up' });

  expect(first).toMatchObject({
    status: 200,
    body: {
      run_id: runId,
      agent_id: agentId,
      subject: { kind: 'user', id: tenant.users.viewer.id },
      rating: 'down',
      comment: 'Wrong.',
      tags: ['facts', 'tone'],
      correction: 'Right.',
    },
  });
  expect(second.body).toEqual({
    ...first.body,
    rating: 'up',
    comment: null,
    tags: [],
    correction: null,
    updated_at: expect.any(String),
  });
  expect(second.body.updated_at > first.body.updated_at).toBe(true);
});

test('20 parallel votes of one voter leave one, two voters two; withdrawing twice is 204 twice', async () => {
  const { tenant, runId } = await tenantWithRun();
  const { viewer, member } = tenant.tokens;

  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, at) => vote(viewer, runId, { rating: at % 2 === 0 ? 'up' : 'down', comment: `${at}` })),
  );
  await vote(member, runId);
  const stored = await query<{ subject_id: string }>('select subject_id from feedback where run_id = ?', [runId]);
  const withdrawn = [await withdraw(viewer, runId), await withdraw(viewer, runId)];

  expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([200]));
  expect(new Set(answers.map((answer) => answer.body.id)).size).toBe(1);
  expect(stored.map((row) => row.subject_id).toSorted()).toEqual([tenant.users.viewer.id, tenant.users.member.id].toSorted());
  expect(withdrawn.map((answer) => answer.status)).toEqual([204, 204]);
  expect(await query('select subject_id from feedback where run_id = ?', [runId])).toEqual([{ subject_id: tenant.users.member.id }]);
});

test('the voter is the acting user, else the user, else the service key', async () => {
  const { tenant, runId } = await tenantWithRun();
  const key = tenant.serviceKey;

  const byKey = await vote(key.plaintext, runId);
  const asViewer = await vote(key.plaintext, runId, { rating: 'down' }, { 'x-acting-user': tenant.users.viewer.id });
  const byViewer = await vote(tenant.tokens.viewer, runId, { rating: 'up' });

  expect(byKey.body.subject).toEqual({ kind: 'service_key', id: key.id });
  expect(asViewer.body.subject).toEqual({ kind: 'user', id: tenant.users.viewer.id });
  expect(byViewer.body.id).toBe(asViewer.body.id);
});

test('a viewer may vote; a live run is 409, a foreign one the same 404 as a random id, in both operations', async () => {
  const { tenant, agentId, runId } = await tenantWithRun();
  const stranger = await world.tenant();
  const live = await world.call(tenant.tokens.member, 'POST', '/runs', { body: { agent_id: agentId, input: { text: 'Hi' } } });
  const random = crypto.randomUUID();

  expect((await vote(tenant.tokens.viewer, runId)).status).toBe(200);
  expect(await vote(tenant.tokens.viewer, live.body.id)).toMatchObject({
    status: 409,
    body: { code: 'state_conflict', context: { reason: 'run_not_finished' } },
  });
  for (const act of [(id: string) => vote(stranger.tokens.owner, id), (id: string) => withdraw(stranger.tokens.owner, id)]) {
    const [foreign, unknown] = [await act(runId), await act(random)];
    expect([foreign.status, foreign.body.code, foreign.body.detail]).toEqual([404, 'not_found', unknown.body.detail]);
    expect(unknown.status).toBe(404);
  }
  expect(await query('select rating from feedback where run_id = ?', [runId])).toEqual([{ rating: 'up' }]);
});

test('what is no vote is 422', async () => {
  const { tenant, runId } = await tenantWithRun();
  const wrong = [
    {},
    { rating: 'maybe' },
    { rating: 'up', comment: '' },
    { rating: 'up', comment: 'x'.repeat(4_001) },
    { rating: 'up', correction: 'x'.repeat(20_001) },
    { rating: 'up', tags: Array.from({ length: 11 }, (_, at) => `${at}`) },
    { rating: 'up', tags: ['x'.repeat(41)] },
    { rating: 'up', tags: null },
    { rating: 'up', subject: { kind: 'user', id: 'x' } },
  ];

  for (const body of wrong) expect([body, (await vote(tenant.tokens.viewer, runId, body)).status]).toEqual([body, 422]);
  expect((await vote(tenant.tokens.viewer, runId, { rating: 'up', comment: null, correction: null, tags: [] })).status).toBe(200);
});

test('a frozen place takes no vote but gives one back; each change has its entry in the log', async () => {
  const { tenant, runId } = await tenantWithRun();
  await vote(tenant.tokens.viewer, runId);
  const freeze = (isActive: boolean) =>
    sweep(world.api.db, (em) => change(em, 'update workspaces set is_active = ? where id = ?', [isActive, tenant.workspaceId]));

  await freeze(false);
  const refused = await vote(tenant.tokens.viewer, runId, { rating: 'down' });
  const withdrawn = await withdraw(tenant.tokens.viewer, runId);

  expect([refused.status, refused.body.code, withdrawn.status]).toEqual([423, 'resource_frozen', 204]);
  const audited = await query(
    "select action, operation_id, workspace_id from audit_entries where resource_type = 'feedback' and resource_id = ? order by created_at, id",
    [runId],
  );
  expect(audited).toEqual([
    { action: 'submit', operation_id: 'putRunFeedback', workspace_id: tenant.workspaceId },
    { action: 'delete', operation_id: 'withdrawRunFeedback', workspace_id: tenant.workspaceId },
  ]);
});

test('a vote counts for the revision that its run used, after another has been activated too', async () => {
  const { tenant, agentId, runId } = await tenantWithRun();
  const made = await world.call(tenant.tokens.admin, 'POST', `/agents/${agentId}/revisions`, {
    body: { document: { model: 'builtin/extractive', instructions: 'Answer shortly.' } },
  });
  const agent = await world.call(tenant.tokens.admin, 'GET', `/agents/${agentId}`);
  const activated = await world.call(tenant.tokens.admin, 'POST', `/agents/${agentId}/revisions/${made.body.id}/activate`, {
    headers: { 'if-match': String(agent.headers['etag']) },
  });
  const later = await endedRun(tenant, agentId);

  await vote(tenant.tokens.viewer, runId, { rating: 'down', comment: 'No.' });
  await vote(tenant.tokens.viewer, later, { rating: 'up' });
  await vote(tenant.tokens.member, later, { rating: 'up', correction: 'Yes.' });
  const { body } = await groups(tenant.tokens.viewer);

  expect(activated.status).toBe(200);
  expect(body.total).toBe(2);
  expect(body.items).toMatchObject([
    {
      agent_revision_id: made.body.id,
      revision_number: 2,
      up: 2,
      down: 0,
      total: 2,
      comments: 0,
      corrections: 1,
      up_rate: 1,
      up_rate_lower: 0.34238,
    },
    { agent_id: agentId, revision_number: 1, up: 0, down: 1, total: 1, comments: 1, corrections: 0, up_rate: 0, up_rate_lower: 0 },
  ]);
});

test('filters choose the votes before they are counted', async () => {
  const { tenant, agentId, runId } = await tenantWithRun();
  const other = await makeAgent(world, tenant.tokens.admin);
  const { body: down } = await vote(tenant.tokens.viewer, runId, { rating: 'down' });
  await vote(tenant.tokens.member, runId);
  await vote(tenant.tokens.viewer, await endedRun(tenant, other.id), { rating: 'down' });
  const read = async (filters: string) => (await groups(tenant.tokens.viewer, filters)).body;

  const downs = await read('?rating=down');
  expect(downs.items.map((group: { up: number; down: number }) => [group.up, group.down])).toEqual([
    [0, 1],
    [0, 1],
  ]);
  expect((await read(`?agent_id=${agentId}`)).items).toMatchObject([{ up: 1, down: 1, up_rate: 0.5 }]);
  expect((await read(`?agent_id=${agentId}&to=${down.updated_at}`)).items).toEqual([]);
  expect((await read(`?agent_id=${agentId}&from=${down.updated_at}`)).items).toMatchObject([{ up: 1, down: 1 }]);
  expect(await groups(tenant.tokens.viewer, '?from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z')).toMatchObject({
    status: 422,
    body: { errors: [{ in: 'query', name: 'from', rule: 'range' }] },
  });
  expect((await groups(tenant.tokens.viewer, '?revision_id=x')).status).toBe(422);
});

test('pages by offset have no gap and no repeat, count all groups, and take no cursor', async () => {
  const tenant = await world.tenant();
  const stranger = await tenantWithRun();
  await vote(stranger.tenant.tokens.viewer, stranger.runId);
  const agents = await Promise.all(Array.from({ length: 5 }, () => makeAgent(world, tenant.tokens.admin)));
  for (const [at, agent] of agents.entries()) {
    const runId = await endedRun(tenant, agent.id);
    for (const token of [tenant.tokens.viewer, tenant.tokens.member].slice(0, at < 2 ? 2 : 1)) await vote(token, runId);
  }

  statements.length = 0;
  const pages = [];
  for (const offset of [0, 2, 4, 6]) pages.push((await groups(tenant.tokens.viewer, `?limit=2&offset=${offset}`)).body);
  const taken = statements.filter((sql) => / from "feedback" /.test(sql)).length;

  const sizes = agents.map((agent, at) => ({ agent: agent.id, total: at < 2 ? 2 : 1 }));
  const wanted = sizes.toSorted((left, right) => right.total - left.total || (left.agent < right.agent ? -1 : 1)).map(({ agent }) => agent);
  expect(pages.flatMap((page) => page.items.map((group: { agent_id: string }) => group.agent_id))).toEqual(wanted);
  expect(pages.map((page) => [page.total, page.next_cursor])).toEqual(Array.from({ length: 4 }, () => [5, null]));
  expect(taken).toBe(4);
  expect(await groups(tenant.tokens.viewer, '?cursor=abc')).toMatchObject({ status: 422, body: { code: 'cursor_invalid' } });
});

test('organization callers count all workspaces, the others their own', async () => {
  const tenant = await world.tenant({ workspaces: 2 });
  const { token } = tenant.organizationAdmin;
  const agent = await makeAgent(world, token, { scope: 'organization' });
  for (const workspaceId of tenant.workspaceIds) {
    const run = await world.call(token, 'POST', '/runs', {
      body: { agent_id: agent.id, workspace_id: workspaceId, input: { text: 'Hi' } },
    });
    await world.call(token, 'POST', `/runs/${run.body.id}/cancel`, { body: {} });
    expect((await vote(token, run.body.id)).status).toBe(200);
  }

  const [all, own] = [await groups(token), await groups(tenant.tokens.viewer)];

  expect(all.body.items).toMatchObject([{ agent_id: agent.id, total: 2 }]);
  expect(own.body.items).toMatchObject([{ agent_id: agent.id, total: 1 }]);
});

test('the Wilson interval has the published values', () => {
  expect(wilsonLower(10, 10).toFixed(6)).toBe('0.722467');
  expect(wilsonLower(18, 20).toFixed(6)).toBe('0.698966');
  expect(wilsonLower(0, 5)).toBe(0);
  const at = '1970-01-01 00:00:00+00';
  const group = { agentId: 'a', agentRevisionId: null, revisionNumber: null, comments: 0, corrections: 0, firstAt: at, lastAt: at };
  expect(toFeedbackAggregateView({ ...group, up: 2, down: 1 }).up_rate).toBe(0.666667);
});
