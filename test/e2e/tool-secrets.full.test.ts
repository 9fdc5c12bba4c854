import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import pg from 'pg';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { endOf, watchRun } from '../support/run-checks.ts';
import { makeAgent, scripted, startRun } from '../support/scenario.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';

const value = 'sk-live-4f7e9c2b1a';
let models: ModelServer;
let server: Server;
let elsewhere: Server;
let stack: Stack;
let requests: { url: string; headers: IncomingMessage['headers']; body: string }[] = [];
let onRequest: (() => Promise<unknown>) | null = null;

beforeAll(async () => {
  models = await startModelServer();
  server = createServer((request, response) => {
    void (async () => {
      let body = '';
      for await (const part of request) body += String(part);
      const told = { url: request.url ?? '', headers: request.headers, body };
      requests.push(told);
      await onRequest?.();
      if (request.url?.startsWith('/leap'))
        return response.writeHead(302, { location: `http://127.0.0.1:${portOf(elsewhere)}/echo` }).end();
      if (request.url === '/image') return response.writeHead(200, { 'content-type': 'image/png' }).end(Buffer.from([0x89, 0x50, 0xff, 1]));
      return response.writeHead(request.url === '/refuse' ? 400 : 200, { 'content-type': 'application/json' }).end(JSON.stringify(told));
    })().catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  elsewhere = createServer((request, response) => server.emit('request', request, response));
  await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
  stack = await startStack({ processes: ['api', 'worker-runs'], modelBaseUrl: models.baseUrl, egressPorts: [portOf(), portOf(elsewhere)] });
});

beforeEach(() => {
  [requests, onRequest] = [[], null];
});

afterAll(async () => {
  await stack?.stop();
  server?.closeAllConnections();
  server?.close();
  elsewhere?.closeAllConnections();
  elsewhere?.close();
  await models?.close();
});

const portOf = (listening = server) => (listening.address() as AddressInfo).port; // it listens
const slugOf = (kind: string) => `${kind}-${crypto.randomUUID().slice(0, 8)}`;

const tool = (path: string, more: object = {}, config: object = {}) => ({
  slug: slugOf('call'),
  kind: 'http',
  description: 'x',
  input_schema: { type: 'object', properties: { n: { type: 'integer' } }, additionalProperties: false },
  config: { method: 'POST', url: `http://127.0.0.1:${portOf()}${path}`, ...config },
  ...more,
});
const bearer = (secret: string) => ({ auth: { type: 'bearer', secret } });

async function made(body: object): Promise<string> {
  const answer = await stack.request('POST', '/tools', { body });
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  return (answer.body as { id: string }).id;
}

const tryOut = (toolId: string, body: object, options: object = {}) => stack.request('POST', `/tools/${toolId}/test`, { body, ...options });

/** Every row of every table, as text, that holds the words. */
async function rowsHolding(words: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: stack.adminUrl });
  await client.connect();
  try {
    const tables = await client.query<{ name: string }>("select tablename as name from pg_tables where schemaname = 'public'");
    const found = [];
    for (const { name } of tables.rows) {
      const { rows } = await client.query(
        `select 1 from "${name}" t where position($1 in t::text) > 0 or position($2 in t::text) > 0 limit 1`,
        [words, Buffer.from(words).toString('hex')],
      );
      if (rows.length > 0) found.push(name);
    }
    return found;
  } finally {
    await client.end();
  }
}

function logsHolding(words: string): string[] {
  const folder = join(import.meta.dirname, '../../.longhaul/test-logs');
  const own = readdirSync(folder).filter((name) => name.startsWith(stack.redisPrefix.slice(0, -1)));
  expect(own.length).toBeGreaterThan(0);
  return own.filter((name) => readFileSync(join(folder, name), 'utf8').includes(words));
}

/** All texts of a history, payloads too, which are bytes in base64. */
function textsOf(node: unknown): string {
  if (typeof node === 'string') return `${node}\n${Buffer.from(node, 'base64').toString('latin1')}\n`;
  return node !== null && typeof node === 'object' ? Object.values(node).map(textsOf).join('') : '';
}

test('a secret reaches the server and nothing else: no row, frame, log, history, prompt or view holds it', async () => {
  const tools = [tool('/echo', {}, bearer('echo_key')), tool('/refuse', {}, bearer('echo_key'))];
  const agent = await makeAgent(stack, tools);
  for (const id of agent.toolIds) await stack.request('PUT', `/tools/${id}/secrets`, { body: { values: { echo_key: value } } });
  const steps = [...tools.map(({ slug }) => ({ tool_calls: [{ name: slug, arguments: { n: 1 } }] })), { text: 'Seen.' }];

  const run = await startRun(stack, agent.id, scripted({ steps }));
  const frames = await endOf(watchRun(stack, run.id));
  await tryOut(agent.toolIds[0] ?? '', { arguments: { n: 2 } });

  expect(requests.map(({ headers }) => headers.authorization)).toEqual(Array.from({ length: 3 }, () => `Bearer ${value}`));
  expect(JSON.stringify(frames)).toContain('[secret:echo_key]');
  expect(JSON.stringify(frames)).not.toContain(value);
  expect(JSON.stringify(models.calls())).not.toContain(value);
  expect(await rowsHolding(value)).toEqual([]);
  expect(logsHolding(value)).toEqual([]);
  const history = await stack.temporal.client.workflow.getHandle(`run:${run.id}`).fetchHistory();
  expect(textsOf(JSON.parse(JSON.stringify(history)))).toContain(run.id);
  expect(textsOf(JSON.parse(JSON.stringify(history)))).not.toContain(value);
  for (const path of [`/runs/${run.id}`, `/runs/${run.id}/messages`, `/runs/${run.id}/steps`, `/tools/${agent.toolIds[0]}`, '/secrets'])
    expect(JSON.stringify((await stack.request('GET', path)).body)).not.toContain(value);
});

test("a workspace's tool never gets the organization's secret", async () => {
  const put = (credential: string, body: object) => stack.request('PUT', '/secrets/shared_key', { body, credential });
  expect((await put(stack.tenant.organizationAdmin.token, { value: 'of-the-organization', scope: 'organization' })).status).toBe(200);
  const id = await made(tool('/echo', {}, bearer('shared_key')));

  expect((await tryOut(id, { arguments: {} })).body).toMatchObject({ status: 'failed', error: { code: 'secret_missing' } });
  expect(requests).toEqual([]);
  await put(stack.tenant.organizationAdmin.token, { value: 'of-the-workspace', workspace_id: stack.tenant.workspaceId });
  expect((await tryOut(id, { arguments: {} })).body).toMatchObject({ status: 'succeeded' });
  expect(requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer of-the-workspace']);
});

test('a test runs the tool once, tells the request with secrets by name and cuts as for a model', async () => {
  const id = await made(tool('/echo', { response_max_chars: 100 }, { ...bearer('unset_key'), body: { mode: 'json', template: null } }));
  await stack.request('PUT', `/tools/${id}/secrets`, { body: { values: { unset_key: value } } });

  const { status, body } = await tryOut(id, { arguments: { n: 7 } });

  expect(status).toBe(200);
  expect(body).toMatchObject({
    status: 'succeeded',
    output_type: 'text',
    truncated: true,
    error: null,
    request: { method: 'POST', headers: { authorization: 'Bearer [secret:unset_key]' } },
  });
  expect(requests.map((request) => request.body)).toEqual(['{"n":7}']);
});

test('a dry run sends nothing and shows what would be sent; files of a test are told', async () => {
  const id = await made(tool('/echo', {}, { auth: { type: 'api_key', in: 'query', name: 'k', secret: 'nowhere' } }));
  const image = await made(tool('/image'));

  const dry = (await tryOut(id, { arguments: {}, dry_run: true })).body;

  expect(dry).toMatchObject({
    status: 'succeeded',
    output: null,
    request: { url: expect.stringMatching(/\/echo\?k=\[secret:nowhere\]$/) },
  });
  expect(requests).toEqual([]);
  expect((await tryOut(image, { arguments: {} })).body).toMatchObject({
    output: { files: [{ name: 'image', media_type: 'image/png', size_bytes: 4 }] },
  });
});

test('a test asks for its role, for arguments that fit, and for a tool that is executed here', async () => {
  const { tokens } = stack.tenant;
  const write = await made(tool('/echo'));
  const read = await made(tool('/echo', { effect: 'read' }));
  const ui = await made({ slug: slugOf('ui'), kind: 'http', description: 'x', client_owned: true });

  expect((await tryOut(write, { arguments: {} }, { credential: tokens.member })).status).toBe(403);
  expect((await tryOut(write, { arguments: {}, dry_run: true }, { credential: tokens.member })).status).toBe(200);
  expect((await tryOut(read, { arguments: {} }, { credential: tokens.member })).status).toBe(200);
  expect((await tryOut(read, { arguments: {} }, { credential: tokens.viewer })).status).toBe(403);
  expect(await tryOut(read, { arguments: { n: 'one' } })).toMatchObject({ status: 422, body: { errors: [{ pointer: '/arguments/n' }] } });
  expect(await tryOut(ui, { arguments: {} })).toMatchObject({ status: 422, body: { errors: [{ pointer: '/dry_run' }] } });
  expect(requests).toHaveLength(1);
});

test('the same key tests once', async () => {
  const id = await made(tool('/echo'));
  const options = { headers: { 'idempotency-key': crypto.randomUUID() } };

  const first = await tryOut(id, { arguments: {} }, options);
  const second = await tryOut(id, { arguments: {} }, options);

  expect(second.body).toEqual(first.body);
  expect(second.headers.get('idempotency-replayed')).toBe('true');
  expect(requests).toHaveLength(1);
});

test.each([
  ['a write', {}, 1, { status: 'failed', error: { code: 'outcome_unknown' } }],
  ['a read', { effect: 'read' }, 2, { status: 'succeeded' }],
])('a worker killed during the test of %s', async (_name, more, times, expected) => {
  const id = await made(tool('/echo', more));
  let isKilled = false;
  onRequest = async () => {
    if (isKilled) return;
    isKilled = true;
    await stack.kill('worker-runs');
  };

  const answer = tryOut(id, { arguments: {} });
  await until(() => isKilled);
  await delay(100);
  await stack.start('worker-runs');

  expect(await answer).toMatchObject({ status: 200, body: expected });
  expect(requests).toHaveLength(times);
});

const echoAt = (listening: Server) => ({ method: 'POST', url: `http://127.0.0.1:${portOf(listening)}/echo` });

test('a tool that was aimed at another origin lacks its secret until it is given one', async () => {
  const id = await made(tool('/echo', {}, bearer('aimed_key')));
  const give = (given: string) => stack.request('PUT', `/tools/${id}/secrets`, { body: { values: { aimed_key: given } } });
  await give(value);

  await stack.request('PATCH', `/tools/${id}`, { body: { config: { ...echoAt(elsewhere), ...bearer('aimed_key') } } });
  const lacking = await tryOut(id, { arguments: {} });
  await give('value-for-elsewhere');
  const again = await tryOut(id, { arguments: {} });

  expect(lacking.body).toMatchObject({ status: 'failed', error: { code: 'secret_missing' } });
  expect(again.body).toMatchObject({ status: 'succeeded' });
  expect(requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer value-for-elsewhere']);
});

test('a run that began before does not take the new value to the former origin', async () => {
  const moved = tool('/echo', {}, bearer('moved_key'));
  const agent = await makeAgent(stack, [moved]);
  const [id = ''] = agent.toolIds;
  await stack.request('PUT', `/tools/${id}/secrets`, { body: { values: { moved_key: value } } });
  onRequest = async () => {
    onRequest = null;
    await stack.request('PATCH', `/tools/${id}`, { body: { config: { ...echoAt(elsewhere), ...bearer('moved_key') } } });
    await stack.request('PUT', `/tools/${id}/secrets`, { body: { values: { moved_key: 'value-for-elsewhere' } } });
  };
  const calls = [1, 2].map((n) => ({ tool_calls: [{ name: moved.slug, arguments: { n } }] }));

  const run = await startRun(stack, agent.id, scripted({ steps: [...calls, { text: 'Seen.' }] }));
  const frames = await endOf(watchRun(stack, run.id));

  expect(requests.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${value}`]);
  expect(JSON.stringify(frames)).toContain('secret_missing');
});

test.each([
  ['bearer', bearer('leap_key')],
  ['basic', { auth: { type: 'basic', user: 'u', secret: 'leap_key' } }],
  ['a header of its own', { auth: { type: 'api_key', in: 'header', name: 'X-Own-Key', secret: 'leap_key' } }],
  ['a parameter', { auth: { type: 'api_key', in: 'query', name: 'k', secret: 'leap_key' } }],
])('a redirect to another origin does not carry the secret along: %s', async (_name, auth) => {
  const id = await made(tool('/leap', {}, { ...auth, redirects: 1, headers: { 'X-Note': 'of the author' } }));
  await stack.request('PUT', `/tools/${id}/secrets`, { body: { values: { leap_key: value } } });

  const answer = await tryOut(id, { arguments: {} });

  expect(answer.body).toMatchObject({ status: 'succeeded' });
  const [first, second] = requests;
  const sent = JSON.stringify([first?.headers, first?.url]);
  expect([value, Buffer.from(`u:${value}`).toString('base64')].some((form) => sent.includes(form))).toBe(true);
  expect(second?.headers).not.toHaveProperty('x-note');
  expect(JSON.stringify([second?.headers, second?.url])).not.toMatch(new RegExp(`${value}|Basic|Bearer`));
});
