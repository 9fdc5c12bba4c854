import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { rows } from '../../db/sql.ts';
import { sweep } from '../../db/transaction.ts';
import { echoTool, hang, startMcpServer, type FakeMcpServer } from '../fakes/mcp-server.ts';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { startOauthServer, type FakeOauthServer } from '../fakes/oauth-server.ts';
import { makeAgent, scripted, startRun } from '../support/scenario.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { readStream, type ReceivedFrame } from '../support/stream-client.ts';
import { until } from '../support/temporal.ts';
import { runUpkeep } from '../support/upkeep.ts';

let models: ModelServer;
let server: FakeMcpServer;
let modern: FakeMcpServer;
let oauth: FakeOauthServer;
let stack: Stack;

beforeAll(async () => {
  [models, server, modern, oauth] = await Promise.all([
    startModelServer(),
    startMcpServer('streamable'),
    startMcpServer('modern'),
    startOauthServer(),
  ]);
  stack = await startStack({
    processes: ['api', 'worker-runs'],
    modelBaseUrl: models.baseUrl,
    egressPorts: [server.port, modern.port, oauth.port],
  });
});
afterAll(async () => {
  await stack?.stop();
  await Promise.all([server, modern, oauth, models].map((one) => one?.close()));
});
beforeEach(() => {
  Object.assign(server, { tools: [echoTool], accepts: () => true, before: () => false, challenge: 'Bearer' });
  server.answer = (_name, args) => ({ content: [{ type: 'text', text: `echo ${String(args['text'])}` }] });
});

// Each test says what it expects of the bodies.
const ask = async (method: string, path: string, body?: unknown): Promise<{ status: number; body: any }> =>
  stack.request(method, path, body === undefined ? {} : { body });

async function makeToolkit(auth: object = { type: 'none' }, url = server.url): Promise<string> {
  const slug = `kit-${crypto.randomUUID().slice(0, 8)}`;
  const { body } = await ask('POST', '/toolkits', { slug, name: 'Far', kind: 'mcp', config: { url, auth } });
  return body.id;
}

async function sync(toolkitId: string, body: object = {}): Promise<any> {
  const begun = await ask('POST', `/mcp/toolkits/${toolkitId}/sync`, body);
  expect(begun).toMatchObject({ status: 202, body: { state: 'syncing', origin: 'sync' } });
  return ended(toolkitId, begun.body.id);
}

async function ended(toolkitId: string, revisionId: string): Promise<any> {
  const read = async () => (await ask('GET', `/toolkits/${toolkitId}/revisions/${revisionId}`)).body;
  const list = async () =>
    (await ask('GET', `/toolkits/${toolkitId}/revisions`)).body.items.find((each: { id: string }) => each.id === revisionId);
  await until(async () => (await list()).state !== 'syncing');
  return { ...(await list()), ...((await read())?.id === revisionId ? await read() : {}) };
}

const status = async (toolkitId: string) => (await ask('GET', `/mcp/toolkits/${toolkitId}/status`)).body;

async function activate(toolkitId: string, revisionId: string, overrides: object = {}): Promise<void> {
  const { status: code, body } = await ask('POST', `/toolkits/${toolkitId}/revisions/${revisionId}/activate`, {
    approve: 'all',
    overrides,
  });
  if (code !== 200) throw new Error(JSON.stringify(body));
}

async function toolsOf(toolkitId: string): Promise<{ id: string; slug: string }[]> {
  return (await ask('GET', `/tools?toolkit_id=${toolkitId}`)).body.items;
}

/** Runs an agent whose model makes these calls of one tool; gives its results. */
async function runCalls(tool: { id: string; slug: string }, calls: readonly object[]): Promise<ReceivedFrame[]> {
  const agent = await makeAgent(stack, [], { tools: [{ id: tool.id }] });
  const steps = [{ tool_calls: calls.map((args) => ({ name: tool.slug, arguments: args })) }, { text: 'Done.' }];
  const run = await startRun(stack, agent.id, scripted({ steps }));
  const frames = await readStream([stack.url()], `/runs/${run.id}/stream`, stack.tenant.serviceKey.plaintext).finished;
  expect(frames.at(-1)).toMatchObject({ type: 'run.finished', data: { status: 'succeeded' } });
  return frames.filter((frame) => frame.type === 'tool.result');
}

test.each(['older', 'modern'])(
  'an %s server: sync, approval, a call in a run; a changed tool is blocked until it is approved',
  async (era) => {
    const there = era === 'modern' ? modern : server;
    const toolkitId = await makeToolkit({ type: 'none' }, there.url);
    const first = await sync(toolkitId);
    expect(first).toMatchObject({ state: 'inactive', error: null, protocol_version: era === 'modern' ? '2026-07-28' : '2025-11-25' });
    await activate(toolkitId, first.id, { echo: { effect: 'read' } });
    const [tool] = await toolsOf(toolkitId);
    if (!tool) throw new Error('no tool was made');

    expect(await runCalls(tool, [{ text: 'one' }])).toMatchObject([{ data: { status: 'succeeded', output: 'echo one' } }]);
    expect(await sync(toolkitId)).toMatchObject({ state: 'unchanged' });

    there.tools = [{ ...echoTool, description: 'Says something else' }];
    const agent = await makeAgent(stack, [], { tools: [{ id: tool.id }] });
    expect(await sync(toolkitId)).toMatchObject({ state: 'inactive', quarantined: ['echo'] });
    expect(await status(toolkitId)).toMatchObject({ reachable: true, quarantined: ['echo'], last_sync: { state: 'inactive' } });
    const calls = there.calls.length;
    const run = await startRun(
      stack,
      agent.id,
      scripted({ steps: [{ tool_calls: [{ name: tool.slug, arguments: { text: 'two' } }] }, { text: 'x' }] }),
    );
    await readStream([stack.url()], `/runs/${run.id}/stream`, stack.tenant.serviceKey.plaintext).finished;
    expect(there.calls).toHaveLength(calls);

    there.tools = [echoTool];
    const restored = await sync(toolkitId);
    expect(restored).toMatchObject({ state: 'inactive', quarantined: [] });
    await activate(toolkitId, restored.id, { echo: { effect: 'read' } });
    expect(await runCalls(tool, [{ text: 'three' }])).toMatchObject([{ data: { status: 'succeeded', output: 'echo three' } }]);
  },
);

test('a worker killed in the middle of a sync: the sync ends as if it had not been', async () => {
  const toolkitId = await makeToolkit();
  let isAsked = false;
  server.before = async (request, _response, body) => {
    if (!body.includes('"tools/list"')) return false;
    isAsked = true;
    return hang(request);
  };
  const begun = await ask('POST', `/mcp/toolkits/${toolkitId}/sync`, {});
  await until(async () => isAsked);
  expect(await ask('POST', `/mcp/toolkits/${toolkitId}/sync`, {})).toMatchObject({
    status: 409,
    body: { context: { reason: 'sync_running' } },
  });

  await stack.kill('worker-runs');
  server.before = () => false;
  await stack.start('worker-runs');

  expect(await ended(toolkitId, begun.body.id)).toMatchObject({ state: 'inactive', error: null });
});

test('a server that is not there fails the sync after its tries, a hostile tool is left out', async () => {
  const gone = await makeToolkit({ type: 'none' }, `http://127.0.0.1:${server.port}/mcp`);
  server.before = (_request, response) => {
    response.destroy();
    return true;
  };
  expect(await sync(gone)).toMatchObject({ state: 'failed' });
  expect(await status(gone)).toMatchObject({ reachable: false, last_sync: { state: 'failed' } });

  server.before = () => false;
  const schema = { type: 'object' as const, properties: { a: { $ref: 'https://example.com/x' } } };
  server.tools = [echoTool, { ...echoTool, name: 'bad', inputSchema: schema }, { ...echoTool, name: 'x'.repeat(300) }];
  const found = await sync(gone);
  expect(found.state).toBe('inactive');
  expect(found.diff.map((each: { name: string }) => each.name)).toEqual(['echo']);
  expect(found.error).toMatch(/^Left out: bad /);
  expect(found).toMatchObject({ left_out_count: 2, left_out: [{ name: 'bad' }, { name: 'x'.repeat(200) }] });
});

test('a sync that keeps nothing has failed and says why; what was in force is quarantined; a flawed neighbour costs nobody else', async () => {
  const toolkitId = await makeToolkit();
  const untyped = { ...echoTool, name: 'untyped', inputSchema: {} as never };
  const pattern = { type: 'object' as const, properties: { text: { type: 'string', pattern: '^(?=.*a).{1,2048}$' } } };
  server.tools = [untyped, { ...echoTool, inputSchema: pattern }];
  const first = await sync(toolkitId);
  expect(first).toMatchObject({ state: 'inactive', diff: [{ name: 'echo' }] });
  expect(first.error).toMatch(/^Left out: untyped .*inputSchema\/type.*Ignored: echo .*\/properties\/text\/pattern/);
  await activate(toolkitId, first.id, { echo: { effect: 'read' } });
  const [tool] = await toolsOf(toolkitId);
  expect(await runCalls(tool ?? { id: '', slug: '' }, [{ text: 'b' }])).toMatchObject([{ data: { output: 'echo b' } }]);

  server.tools = [untyped];
  const second = await sync(toolkitId);

  expect(second).toMatchObject({ state: 'failed', quarantined: ['echo'], error: expect.stringMatching(/^No tool .* Left out: untyped /) });
  expect(await status(toolkitId)).toMatchObject({ reachable: true, last_sync: { state: 'failed', error: second.error } });
  server.tools = [];
  expect(await sync(await makeToolkit())).toMatchObject({ state: 'failed', error: 'The server offers no tools.' });
});

test('nobody is sent to a page that is none: the sync says which endpoint is refused', async () => {
  server.accepts = () => false;
  server.challenge = `Bearer resource_metadata="${oauth.resourceMetadata(server.url)}"`;
  oauth.metadata = { authorization_endpoint: 'file:///etc/passwd' };
  const toolkitId = await makeToolkit({ type: 'oauth' });

  const failed = await sync(toolkitId);

  oauth.metadata = {};
  expect(failed).toMatchObject({ state: 'failed', error: expect.stringContaining('authorization_endpoint') });
  expect(JSON.stringify((await status(toolkitId)).connections)).not.toContain('file:');
});

test('a server that tells of other tools is listed anew at once', async () => {
  const toolkitId = await makeToolkit();
  const first = await sync(toolkitId);
  await activate(toolkitId, first.id, { echo: { effect: 'read' } });
  await sweep(stack.db, (em) =>
    rows(em, "update toolkit_revisions set created_at = now() - interval '2 minutes' where toolkit_id = ?", [toolkitId]),
  );
  const [tool] = await toolsOf(toolkitId);
  await runCalls(tool ?? { id: '', slug: '' }, [{ text: 'opens a session' }]);

  server.tools = [];
  await until(async () => {
    await server.tellToolsChanged();
    return (await status(toolkitId)).quarantined.length === 1;
  });
  expect((await status(toolkitId)).last_sync.number).toBe(2);
});

test('a result is structured, in parts or an error; hostile ones end the call only', async () => {
  const toolkitId = await makeToolkit();
  const output = { type: 'object' as const, properties: { n: { type: 'integer', pattern: '^(a+)+$' } }, required: ['n'] };
  server.tools = [{ ...echoTool, outputSchema: output }];
  await activate(toolkitId, (await sync(toolkitId)).id, { echo: { effect: 'read', timeout_s: 20 } });
  const [tool] = await toolsOf(toolkitId);
  server.answer = async (_name, { text }) => {
    if (text === 'structured') return { content: [], structuredContent: { n: 1 } };
    if (text === 'wrong') return { content: [], structuredContent: { n: 'a'.repeat(5_000) } };
    if (text === 'error') return { content: [{ type: 'text', text: 'no such thing' }], isError: true };
    if (text === 'link') return { content: [{ type: 'resource_link', name: 'file', uri: 'https://example.com/f' }] };
    if (text === 'hang') return new Promise(() => undefined);
    return { content: [{ type: 'text', text: 'x'.repeat(12 * 1024 * 1024) }] };
  };

  const results = await runCalls(
    tool ?? { id: '', slug: '' },
    ['structured', 'wrong', 'error', 'link', 'hang', 'huge'].map((text) => ({ text })),
  );

  const byCall = results.map((frame) => frame.data as { status: string; output?: unknown; error?: { code: string; reason?: string } });
  expect(byCall).toContainEqual(expect.objectContaining({ status: 'succeeded', output: { n: 1 } }));
  expect(byCall).toContainEqual(expect.objectContaining({ status: 'succeeded', output: 'file: https://example.com/f' }));
  const codes = byCall.flatMap(({ error }) => (error ? [error.code] : [])).toSorted();
  expect(codes).toEqual(['timed_out', 'upstream_status', 'upstream_status', 'upstream_status']);
});

test('a write whose answer is lost may have happened; one that never left has not', async () => {
  const toolkitId = await makeToolkit();
  await activate(toolkitId, (await sync(toolkitId)).id, { echo: { effect: 'write', timeout_s: 20 } });
  const [tool = { id: '', slug: '' }] = await toolsOf(toolkitId);
  server.before = (_request, response, body) => {
    if (!body.includes('"tools/call"')) return false;
    response.destroy();
    return true;
  };
  expect(await runCalls(tool, [{ text: 'lost' }])).toMatchObject([{ data: { status: 'failed', error: { code: 'outcome_unknown' } } }]);

  server.restart();
  server.before = (_request, response) => {
    response.writeHead(503).end();
    return true;
  };
  expect(await runCalls(tool, [{ text: 'never' }])).toMatchObject([{ data: { status: 'failed', error: { code: 'upstream_status' } } }]);
});

test('consent: 401, authorization_url, code and state, then calls; an expired token is refreshed once, a revoked one fails at the next call', async () => {
  server.accepts = (token) => oauth.accepts(token);
  server.challenge = `Bearer resource_metadata="${oauth.resourceMetadata(server.url)}"`;
  const toolkitId = await makeToolkit({ type: 'oauth', scopes: ['tools'] });
  expect(await sync(toolkitId)).toMatchObject({ state: 'failed', error: expect.stringContaining('authorization_url') });
  const [waiting] = (await status(toolkitId)).connections;
  expect(waiting).toMatchObject({ principal: { kind: 'shared', id: null }, state: 'needs_auth' });

  const { code, state } = oauth.agree(waiting.authorization_url);
  expect(await ask('POST', `/mcp/toolkits/${toolkitId}/sync`, { authorization: { code, state: 'other' } })).toMatchObject({ status: 422 });
  const first = await sync(toolkitId, { authorization: { code, state } });
  expect(first).toMatchObject({ state: 'inactive', error: null });
  expect(await ask('POST', `/mcp/toolkits/${toolkitId}/sync`, { authorization: { code, state } })).toMatchObject({ status: 422 });
  expect((await status(toolkitId)).connections).toMatchObject([{ state: 'healthy', scopes: ['tools'], authorization_url: null }]);

  await activate(toolkitId, first.id, { echo: { effect: 'read' } });
  const [tool] = await toolsOf(toolkitId);
  if (!tool) throw new Error('no tool was made');
  oauth.expireAll();
  const before = oauth.tokenRequests.length;
  const results = await runCalls(
    tool,
    Array.from({ length: 20 }, (_, at) => ({ text: String(at) })),
  );
  expect(results.map((frame) => frame.data['status'])).toEqual(Array.from({ length: 20 }, () => 'succeeded'));
  expect(oauth.tokenRequests.length - before).toBe(1);

  oauth.revokeAll();
  expect(await runCalls(tool, [{ text: 'no' }])).toMatchObject([{ data: { status: 'failed', error: { code: 'auth_required' } } }]);
  expect((await status(toolkitId)).connections).toMatchObject([{ state: 'needs_auth' }]);
});

test('a bearer secret is sent and masked; without a value the call says so', async () => {
  const secret = `value-${crypto.randomUUID()}`;
  await ask('PUT', '/secrets/mcp_key', { value: secret });
  server.accepts = (token) => token === secret;
  const toolkitId = await makeToolkit({ type: 'bearer', secret: 'mcp_key' });
  server.tools = [{ ...echoTool, description: `Token ${secret}` }];
  const first = await sync(toolkitId);
  expect(JSON.stringify(first)).not.toContain(secret);
  await activate(toolkitId, first.id, { echo: { effect: 'read' } });
  const [tool] = await toolsOf(toolkitId);
  server.answer = () => ({ content: [{ type: 'text', text: `you sent ${secret}` }] });

  expect(await runCalls(tool ?? { id: '', slug: '' }, [{ text: 'a' }])).toMatchObject([{ data: { output: 'you sent [secret:mcp_key]' } }]);
});

test('a toolkit is listed anew when its interval has passed', async () => {
  const slug = `kit-${crypto.randomUUID().slice(0, 8)}`;
  const config = { url: server.url, sync_interval_s: 3_600 };
  const toolkitId = (await ask('POST', '/toolkits', { slug, name: 'Far', kind: 'mcp', config })).body.id;
  await sweep(stack.db, (em) => rows(em, "update toolkits set next_sync_at = now() - interval '1 second' where id = ?", [toolkitId]));

  await runUpkeep(stack.temporal, 'toolkit-syncs');

  await until(async () => (await status(toolkitId)).last_sync?.state === 'inactive');
  const [due] = await sweep(stack.db, (em) =>
    rows<{ later: boolean }>(em, 'select next_sync_at > now() as later from toolkits where id = ?', [toolkitId]),
  );
  expect(due).toEqual({ later: true });
});

test('discover tells what a server is, with what it wants, and stores nothing', async () => {
  expect(await ask('POST', '/mcp/discover', { url: modern.url })).toMatchObject({
    status: 200,
    body: { reachable: true, transport: 'http', protocol_version: '2026-07-28', tools: [{ name: 'echo' }], auth: { required: false } },
  });
  server.accepts = () => false;
  server.challenge = `Bearer resource_metadata="${oauth.resourceMetadata(server.url)}"`;
  expect(await ask('POST', '/mcp/discover', { url: server.url, token: 'some-long-token' })).toMatchObject({
    body: { reachable: true, auth: { required: true, authorization_servers: [oauth.issuer], scopes: ['tools'], registration: 'dynamic' } },
  });
  expect(await ask('POST', '/mcp/discover', { url: 'http://169.254.169.254/' })).toMatchObject({ status: 422 });
});
