import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { rows } from '../../../db/sql.ts';
import { sweep } from '../../../db/transaction.ts';
import { isOfRequest } from '../../support/statements.ts';
import { makeAgent, openWorld, type World } from '../world.ts';

let world: World;
const statements: string[] = [];

beforeAll(async () => {
  world = await openWorld({ onQuery: (sql) => statements.push(sql) });
});
afterAll(() => world.close());

const sql = <T>(text: string, params: unknown[] = []) => sweep(world.api.db, (em) => rows<T>(em, text, params));
const exact = { key: 'exact', type: 'exact_match' };
const one = { items: [{ input: 'Hi', expected: 'Hello' }] };

async function place() {
  const tenant = await world.tenant();
  const agent = await makeAgent(world, tenant.tokens.admin);
  const post = (body: object, token = tenant.tokens.member, headers: Record<string, string> = {}) =>
    world.call(token, 'POST', '/evaluations', { body: { agent_id: agent.id, dataset: one, evaluators: [exact], ...body }, headers });
  const refused = async (body: object) => {
    const { status, body: told } = await post(body);
    return [status, told.errors?.[0]?.pointer ?? told.context?.reason ?? told.code];
  };
  return { tenant, agent, post, refused };
}

test('an evaluation is written with its items and results, queued, with the revision pinned and all defaults filled in', async () => {
  const { tenant, agent, post } = await place();

  const made = await post({ dataset_name: 'first', repetitions: 3, max_cost: '1.5' });
  const read = await world.call(tenant.tokens.viewer, 'GET', `/evaluations/${made.body.id}`);
  const listed = await world.call(tenant.tokens.viewer, 'GET', `/evaluations?agent_id=${agent.id}&status=queued`);

  expect(made).toMatchObject({
    status: 201,
    body: { status: 'queued', agent_id: agent.id, agent_revision_id: expect.any(String), finished_at: null },
  });
  expect(made.body).not.toHaveProperty('results');
  expect(made.body.evaluators).toEqual([
    { ...exact, params: { trim: true, case_sensitive: true, unicode: 'nfc' }, threshold: 1, weight: 1, negate: false },
  ]);
  expect(made.body.summary).toMatchObject({
    final: false,
    items: 1,
    results: 3,
    completed: 0,
    pass_rate: null,
    pass_ci: null,
    baseline: null,
  });
  expect(made.body.summary.settings).toEqual({
    repetitions: 3,
    concurrency: 5,
    max_cost: '1.5',
    max_error_rate: 0.2,
    item_timeout_s: 600,
    tool_mode: 'read_only',
    baseline_evaluation_run_id: null,
  });
  expect(read.body).toEqual({ ...made.body, results: expect.any(Array) });
  expect(read.body.results).toHaveLength(3);
  expect(read.body.results[0]).toMatchObject({ item_id: '1', repetition: 1, status: 'pending', score: null, run_id: null, scores: [] });
  expect(listed.body.items).toMatchObject([
    { id: made.body.id, summary: { items: 1, completed: 0, errors: 0, pass_rate: null, cost: { total: '0.00' } } },
  ]);
  expect(await sql('select cap_key from budget_windows where cap_key = ? and closed_at is null', [`eval:${made.body.id}`])).toHaveLength(1);
});

test('what is wrong with a request is told by its place, and nothing is stored', async () => {
  const { tenant, refused } = await place();
  const evaluator = (more: object) => ({ evaluators: [{ key: 'a', ...more }] });
  const item = (more: object) => ({ dataset: { items: [{ input: 'Hi', expected: 'x', ...more }] } });

  expect(await refused(evaluator({ type: 'regex', params: { pattern: '(?=a)' } }))).toEqual([422, '/evaluators/0/params/pattern']);
  expect(await refused(evaluator({ type: 'regex', params: { pattern: '(' } }))).toEqual([422, '/evaluators/0/params/pattern']);
  expect(await refused(evaluator({ type: 'magic' }))).toEqual([422, '/evaluators/0/type']);
  expect(await refused({ evaluators: [exact, exact] })).toEqual([422, '/evaluators/1/key']);
  expect(await refused(evaluator({ type: 'exact_match', params: { trim: true, speed: 1 } }))).toEqual([422, '/evaluators/0/params/speed']);
  expect(await refused(evaluator({ type: 'latency' }))).toEqual([422, '/evaluators/0/params']);
  expect(await refused(evaluator({ type: 'json_schema', params: { schema: { type: 'nothing' } } }))).toEqual([
    422,
    '/evaluators/0/params/schema',
  ]);
  expect(await refused(evaluator({ type: 'json_schema', params: { schema: { $ref: 'https://example.com/s' } } }))).toEqual([
    422,
    '/evaluators/0/params/schema',
  ]);
  expect(await refused(evaluator({ type: 'embedding_similarity' }))).toEqual([422, '/evaluators/0/threshold']);
  expect(await refused(evaluator({ type: 'embedding_similarity', threshold: 1, params: { model: 'no/such' } }))).toEqual([
    422,
    '/evaluators/0/params/model',
  ]);
  expect(await refused(evaluator({ type: 'llm_judge', params: { rubric: 'x', model: 'no/such' } }))).toEqual([
    422,
    '/evaluators/0/params/model',
  ]);
  expect(await refused(evaluator({ type: 'llm_judge', params: { rubric: 'x', model: 'builtin/extractive' } }))).toEqual([
    422,
    '/evaluators/0/params/model',
  ]);
  expect(await refused(evaluator({ type: 'pairwise', params: { rubric: 'x' } }))).toEqual([422, '/evaluators/0/params/model']);
  expect(await refused(evaluator({ type: 'tool_trajectory' }))).toEqual([422, '/evaluators/0']);
  expect(await refused({ dataset: { items: [{ input: 'Hi' }] } })).toEqual([422, '/evaluators/0']);
  expect(await refused(item({ input: [{ role: 'assistant', content: 'x' }] }))).toEqual([422, '/dataset/items/0/input']);
  expect(await refused(item({ evaluators: ['b'] }))).toEqual([422, '/dataset/items/0']);
  expect(await refused(item({ expected: 'x'.repeat(40_000) }))).toEqual([422, '/dataset/items/0/expected']);
  expect(
    await refused({
      dataset: {
        items: [
          { id: 'a', input: 'x', expected: '' },
          { id: 'a', input: 'y' },
        ],
      },
    }),
  ).toEqual([422, '/dataset/items/1']);
  expect(await refused({ dataset: {} })).toEqual([422, '/dataset']);
  expect(await refused({ dataset: { ...one, text: '{}' } })).toEqual([422, '/dataset']);
  expect(await refused({ dataset: { format: 'csv', ...one } })).toEqual([422, '/dataset/format']);
  expect(await refused({ dataset: { text: '{}' } })).toEqual([422, '/dataset/format']);
  expect(await refused({ max_cost: '0' })).toEqual([422, '/max_cost']);
  expect(await refused({ repetitions: 11 })).toEqual([422, '/repetitions']);
  expect(await refused({ speed: 1 })).toEqual([422, '/speed']);
  expect(await refused({ metadata: { a: 'x'.repeat(5_000) } })).toEqual([422, '/metadata']);
  expect(await sql('select id from evaluation_runs where workspace_id = ?', [tenant.workspaceId])).toEqual([]);
});

test('foreign agents, revisions, attachments and baselines are the same 422, a foreign evaluation the same 404 as a random id', async () => {
  const { post, refused } = await place();
  const other = await place();
  const foreign = await other.post({});
  const revisions = await world.call(other.tenant.tokens.admin, 'GET', `/agents/${other.agent.id}/revisions`);
  const random = crypto.randomUUID();

  for (const id of [other.agent.id, random]) expect(await refused({ agent_id: id })).toEqual([422, '/agent_id']);
  for (const id of [revisions.body.items[0].id, random])
    expect(await refused({ agent_revision_id: id })).toEqual([422, '/agent_revision_id']);
  for (const id of [foreign.body.id, random])
    expect(await refused({ baseline_evaluation_run_id: id })).toEqual([422, '/baseline_evaluation_run_id']);
  expect(await refused({ dataset: { format: 'csv', attachment_id: random } })).toEqual([422, '/dataset/attachment_id']);
  const own = await post({});
  expect(await refused({ baseline_evaluation_run_id: own.body.id })).toEqual([409, 'baseline_not_finished']);
  const stranger = other.tenant.tokens.viewer;
  const seen = await Promise.all([own.body.id, random].map((id) => world.call(stranger, 'GET', `/evaluations/${id}`)));
  expect(seen.map(({ status }) => status)).toEqual([404, 404]);
});

test('an inactive agent is 409, live tools below admin 403, the 21st at once 429', async () => {
  const { tenant, agent, post } = await place();

  expect(await post({ tool_mode: 'live' })).toMatchObject({ status: 403, body: { code: 'role_insufficient' } });
  expect((await post({ tool_mode: 'live' }, tenant.tokens.admin)).status).toBe(201);
  expect((await post({}, tenant.tokens.viewer)).status).toBe(403);
  const made = await Promise.all(Array.from({ length: 24 }, () => post({})));
  expect(made.filter(({ status }) => status === 201)).toHaveLength(19);
  expect(made.filter(({ status }) => status === 429)).toHaveLength(5);
  expect(made.find(({ status }) => status === 429)?.body.context).toMatchObject({ reason: 'live_evaluations' });
  await world.call(tenant.tokens.admin, 'PATCH', `/agents/${agent.id}`, { body: { is_active: false } });
  expect(await post({})).toMatchObject({ status: 409, body: { context: { reason: 'agent_inactive' } } });
});

test('a CSV with byte-order mark, CRLF, quoted line breaks and a formula gives the items of its JSONL; bad lines are told by number', async () => {
  const { tenant, post } = await place();
  const csv = '\uFEFFid,input,expected,tags,cluster,context.note\r\na,"two\r\nlines",=1+1,x;y,c1,n\r\nb,"q ""x""","{""a"":[1]}",,,\r\n';
  const jsonl = [
    { id: 'a', input: 'two\r\nlines', expected: '=1+1', tags: ['x', 'y'], cluster: 'c1', context: { note: 'n' } },
    { id: 'b', input: 'q "x"', expected: { a: [1] }, context: { note: '' } },
  ];
  const stored = async (dataset: object) => {
    const made = await post({ dataset });
    expect(made.status).toBe(201);
    const found = await sql(
      'select item_key, position, content_sha256, input, expected, context, tags, cluster from evaluation_items where evaluation_run_id = ? order by position',
      [made.body.id],
    );
    return { items: found, sha: made.body.summary.dataset_sha256 };
  };
  const text = jsonl.map((line) => JSON.stringify(line)).join('\n');

  const fromCsv = await stored({ format: 'csv', text: csv });
  expect(fromCsv).toEqual(await stored({ format: 'jsonl', text }));
  expect(fromCsv).toEqual(await stored({ items: jsonl }));

  const bad = await post({ dataset: { format: 'csv', text: 'id,input,expected\r\na,x,y\r\nb,,y\r\nc,x\r\na,x,y\r\n' } });
  expect(bad.status).toBe(422);
  expect(bad.body.errors.map(({ params }: { params: { line: number } }) => params.line)).toEqual([3, 4]);
  const twice = await post({ dataset: { format: 'csv', text: 'id,input,expected\r\na,x,y\r\na,x,y\r\n' } });
  expect(twice.body.errors).toMatchObject([{ rule: 'unique', params: { line: 3 } }]);
  const unknown = await post({ dataset: { format: 'csv', text: 'id,input,score\r\na,x,y\r\n' } });
  expect(unknown.body.errors).toMatchObject([{ rule: 'columns', params: { line: 1 } }]);
  const broken = await post({ dataset: { format: 'jsonl', text: `{"input":"a","expected":"b"}\n{nope\n{"input":12345678901234567890}` } });
  expect(broken.body.errors.map(({ params }: { params: { line: number } }) => params.line)).toEqual([2, 3]);
  expect((await post({ dataset: { format: 'jsonl', text: '\n\n' } })).body.context.reason).toBe('dataset_empty');
  expect(await sql('select id from evaluation_runs where workspace_id = ?', [tenant.workspaceId])).toHaveLength(3);
});

test('runs with a vote down become items: id, input, the newest correction; none is 422 dataset_empty', async () => {
  const { tenant, agent, post } = await place();
  const run = await world.call(tenant.tokens.member, 'POST', '/runs', { body: { agent_id: agent.id, input: { text: 'When?' } } });
  const other = await world.call(tenant.tokens.member, 'POST', '/runs', { body: { agent_id: agent.id, input: { json: { a: 1 } } } });
  for (const { body } of [run, other]) await world.call(tenant.tokens.admin, 'POST', `/runs/${body.id}/cancel`, { body: {} });
  const from = { dataset: { from: { source: 'feedback' } } };
  const any = { evaluators: [{ key: 't', type: 'turns', params: { max: 3 } }] };

  expect((await post({ ...from, ...any })).body.context.reason).toBe('dataset_empty');
  await world.call(tenant.tokens.viewer, 'PUT', `/runs/${run.body.id}/feedback`, { body: { rating: 'down', correction: 'On Friday.' } });
  await world.call(tenant.tokens.viewer, 'PUT', `/runs/${other.body.id}/feedback`, { body: { rating: 'up' } });
  const voted = await post(from);
  const all = await post({ dataset: { from: { source: 'runs' } }, ...any });

  const items = (id: string) =>
    sql('select item_key, input, expected from evaluation_items where evaluation_run_id = ? order by position', [id]);
  expect(await items(voted.body.id)).toEqual([{ item_key: run.body.id, input: 'When?', expected: 'On Friday.' }]);
  expect(await items(all.body.id)).toMatchObject([{ item_key: other.body.id, input: { a: 1 } }, { item_key: run.body.id }]);
});

test('a request takes few statements however many items it has, a read three, a list two', async () => {
  const { tenant, post } = await place();
  const count = async (work: () => Promise<unknown>, of = /./) => {
    statements.length = 0;
    await work();
    return statements.filter((text) => of.test(text) && isOfRequest(text) && !/^(?:begin|commit|set )/i.test(text)).length;
  };
  const items = Array.from({ length: 1_200 }, (_, at) => ({ input: `q${at}`, expected: 'a' }));

  const made = await post({});
  const posted = await count(() => post({ dataset: { items }, repetitions: 2 }));
  expect(posted).toBeLessThanOrEqual(18);
  expect(await count(() => world.call(tenant.tokens.viewer, 'GET', `/evaluations/${made.body.id}`), /evaluation_/)).toBeLessThanOrEqual(3);
  expect(await count(() => world.call(tenant.tokens.viewer, 'GET', '/evaluations'), /evaluation_/)).toBeLessThanOrEqual(2);
});
