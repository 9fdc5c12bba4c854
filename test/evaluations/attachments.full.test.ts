import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { makeTenant, makeUser, testPassword } from '../support/tenant.ts';
import { until } from '../support/temporal.ts';
import { runUpkeep } from '../support/upkeep.ts';
import { exact, makeEchoAgent, openEvaluations, said, type EvaluationWorld } from './evaluation-world.ts';

let world: EvaluationWorld;
let agentId: string;

beforeAll(async () => {
  world = await openEvaluations();
  agentId = await makeEchoAgent(world);
});
beforeEach(() => {
  world.answers = said;
});
afterAll(() => world?.stop());

const jsonl = [
  { id: 'right', input: 'say yes', expected: 'yes', tags: ['a'] },
  { id: 'wrong', input: 'say no', expected: 'yes', tags: ['b'] },
  { id: 'lines', input: 'say two\nlines', expected: 'two\nlines', tags: [] },
]
  .map((item) => JSON.stringify(item))
  .join('\n');
const csv = '\uFEFFid,input,expected,tags\r\nright,say yes,yes,a\r\nwrong,say no,yes,b\r\nlines,"say two\nlines","two\nlines",\r\n';

/** Uploads a file as a member of the workspace; gives its id. */
async function upload(text: string, filename: string, credential = world.stack.tenant.tokens.member): Promise<string> {
  const form = new FormData();
  form.set('file', new Blob([text]), filename);
  const headers = { authorization: `Bearer ${credential}` };
  const reply = await fetch(`${world.stack.url()}/attachments`, { method: 'POST', body: form, headers });
  expect(reply.status).toBe(201);
  return ((await reply.json()) as { id: string }).id;
}

const fileOf = (id: string, credential: string | null) =>
  fetch(`${world.stack.url()}/attachments/${id}`, { headers: credential === null ? {} : { authorization: `Bearer ${credential}` } });

const exists = async (attachmentId: string) => (await world.sql('select 1 from attachments where id = ?', [attachmentId])).length === 1;

/** As if a day had passed since a file was uploaded: the sweep takes what nothing uses. */
async function sweepAway(attachmentId: string): Promise<void> {
  await world.sql("update attachments set expires_at = now() - interval '1 second' where id = ? and expires_at is not null", [
    attachmentId,
  ]);
  await runUpkeep(world.stack.temporal, 'attachments');
}

test('a JSONL and a CSV file as data set give the same results; a file that is deleted while its items run changes nothing', async () => {
  const [fromJsonl, fromCsv] = [await upload(jsonl, 'items.jsonl'), await upload(csv, 'items.csv')];
  world.answers = (text) => ({ ...said(text), first_token_ms: 1_500 });
  const create = (format: string, attachmentId: string) =>
    world.create(agentId, { dataset: { format, attachment_id: attachmentId }, evaluators: [exact], concurrency: 1 });
  const ids = [await create('jsonl', fromJsonl), await create('csv', fromCsv)];

  for (const file of [fromJsonl, fromCsv]) await sweepAway(file);
  await until(async () => !(await exists(fromJsonl)) && !(await exists(fromCsv)));
  const before = await Promise.all(ids.map((id) => world.read(id)));
  const [left, right] = await Promise.all(ids.map((id) => world.ended(id)));

  expect(before.map(({ finished_at: end }) => end)).toEqual([null, null]);
  const shown = ({ results, summary }: { results: Record<string, unknown>[]; summary: Record<string, unknown> }) => ({
    results: results.map(({ item_id: item, status, score, output, tags }) => ({ item, status, score, output, tags })),
    sha: summary['dataset_sha256'],
    rate: summary['pass_rate'],
    tags: summary['by_tag'],
  });
  expect(shown(left)).toEqual(shown(right));
  expect(shown(left).results).toEqual([
    { item: 'wrong', status: 'failed', score: 0, output: 'no', tags: ['b'] },
    { item: 'right', status: 'passed', score: 1, output: 'yes', tags: ['a'] },
    { item: 'lines', status: 'passed', score: 1, output: 'two\nlines', tags: [] },
  ]);
});

test('the file with all results is read by whoever reads the evaluation, stays, and is 404 for everybody else', async () => {
  const { tenant, db, keys, url } = world.stack;
  const path = `/organizations/${tenant.organizationId}/workspaces`;
  const made = await world.stack.request('POST', path, {
    body: { name: 'Other', slug: 'other' },
    credential: tenant.organizationOwner.token,
  });
  expect(made.status).toBe(201);
  const place = {
    role: 'admin',
    scope: 'workspace',
    organizationId: tenant.organizationId,
    workspaceId: (made.body as { id: string }).id,
  } as const;
  const { email } = await makeUser(db, keys, place);
  const login = await world.stack.request('POST', '/auth/login', { body: { email, password: testPassword }, credential: '' });
  const neighbour = (login.body as { access_token: string }).access_token;
  const stranger = await makeTenant(db, keys, { publicUrl: url() });
  const body = { agent_id: agentId, dataset: { format: 'csv', attachment_id: await upload(csv, 'items.csv') }, evaluators: [exact] };
  const posted = await world.stack.request('POST', '/evaluations', { body, credential: tenant.tokens.member });
  expect(posted.status).toBe(201);

  const done = await world.ended((posted.body as { id: string }).id);
  const file = done.summary.results_attachment_id;
  await sweepAway(file);
  const read = await fileOf(file, tenant.tokens.member);
  const lines = (await read.text())
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const statusFor = async (credential: string | null) => (await fileOf(file, credential)).status;

  expect([read.status, read.headers.get('content-type')]).toEqual([200, expect.stringContaining('application/x-ndjson')]);
  expect(lines.map(({ item_id: item }) => item)).toEqual(['right', 'wrong', 'lines']);
  expect(new Set(lines.map((line) => JSON.stringify(line)))).toEqual(new Set(done.results.map((line: object) => JSON.stringify(line))));
  const { viewer, admin } = tenant.tokens;
  expect(await Promise.all([viewer, admin, tenant.serviceKey.plaintext, tenant.organizationOwner.token].map(statusFor))).toEqual([
    200, 200, 200, 200,
  ]);
  expect(await Promise.all([neighbour, stranger.tokens.owner, stranger.serviceKey.plaintext].map(statusFor))).toEqual([404, 404, 404]);
  expect(await statusFor(null)).toBe(401);
  expect((await fileOf(crypto.randomUUID(), neighbour)).status).toBe(404);
  expect(await exists(file)).toBe(true);
});

test('a file of another tenant is no data set, told like one that there is not, and no line of it is shown', async () => {
  const stranger = await makeTenant(world.stack.db, world.stack.keys, { publicUrl: world.stack.url() });
  const foreign = await upload('{"input": "secret of theirs"\n', 'items.jsonl', stranger.tokens.member);
  const ask = async (attachmentId: string) => {
    const body = { agent_id: agentId, dataset: { format: 'jsonl', attachment_id: attachmentId }, evaluators: [exact] };
    const { status, body: told } = await world.stack.request('POST', '/evaluations', { body, credential: world.stack.tenant.tokens.admin });
    return { status, errors: (told as { errors: unknown }).errors };
  };

  const [theirs, nobodys] = [await ask(foreign), await ask(crypto.randomUUID())];

  expect(theirs).toEqual(nobodys);
  expect(theirs).toMatchObject({ status: 422, errors: [{ pointer: '/dataset/attachment_id', rule: 'reference' }] });
});
