import type { IncomingMessage } from 'node:http';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import { createLog } from '../../api/dependencies.ts';
import { tokenHash } from '../../db/identity/factors/opaque-tokens.ts';
import { newId } from '../../db/ids.ts';
import { sweep, systemActor, transact, workspaceTenant } from '../../db/transaction.ts';
import { rows } from '../../db/sql.ts';
import { appendFrames, stateBatch } from '../../db/streams/append.ts';
import { parseFrame } from '../../db/streams/frame-text.ts';
import type { Frame } from '../../db/streams/frame.schema.ts';
import { makeAgent, openWorld, type World } from '../api/world.ts';
import { bearer, makeUser, type TestTenant } from '../support/tenant.ts';
import { started } from './frame-samples.ts';
import { openSse } from './sse-client.ts';
import { violationsOf } from './frame-validator.ts';
import { eventually } from './waiting.ts';

// The way through the whole API: its checks, headers and envelope. The streams themselves are tested beside this file.
const lines: string[] = [];
let world: World;
let tenant: TestTenant;
let runId: string;
beforeAll(async () => {
  world = await openWorld({ log: createLog('info', { write: (line) => void lines.push(line) }) });
  tenant = await world.tenant();
  const agent = await makeAgent(world, tenant.tokens.admin);
  const made = await world.call(tenant.tokens.member, 'POST', '/runs', { body: { agent_id: agent.id, input: { text: 'Hello' } } });
  runId = made.body.id;
  await begin();
});
afterAll(() => world.close());

test('a stream has the headers of every reply and gives frames that fit the served schemas', async () => {
  const client = await openSse(world.api.url, runId, { bearer: tenant.tokens.viewer });
  await client.until(({ frames }) => frames.length === 2);
  client.destroy();

  expect(client.headers).toMatchObject({
    'content-type': 'text/event-stream; charset=utf-8',
    'x-accel-buffering': 'no',
    'cache-control': 'no-store, no-transform',
    'x-correlation-id': expect.any(String),
    'x-request-duration-ms': expect.any(String),
  });
  expect(client.frames.flatMap(violationsOf)).toEqual([]);
});

test('an open stream keeps no header of its client in memory, and its end is logged with who it was', async () => {
  const requests: IncomingMessage[] = [];
  world.api.app.server.once('request', (request) => requests.push(request));
  const key = await makeKey();
  const client = await openSse(world.api.url, runId, { bearer: key.plaintext });
  const id = client.headers['x-correlation-id'];

  expect(requests.map(({ headers, rawHeaders }) => ({ headers, rawHeaders }))).toEqual([{ headers: {}, rawHeaders: [] }]);
  await world.api.app.inject({ method: 'DELETE', url: `/service-keys/${key.id}`, headers: bearer(tenant.tokens.admin) });
  await client.ended;
  await eventually(() => lines.some((line) => line.includes(`"correlation_id":"${id}"`)));

  expect(lines.map((line) => JSON.parse(line)).filter((entry) => entry.correlation_id === id)).toEqual([
    expect.objectContaining({
      msg: 'request served',
      operation: 'streamRun',
      method: 'GET',
      status: 200,
      caller: `service_key:${key.id}`,
      organization_id: tenant.organizationId,
    }),
  ]);
});

test('a refused stream fails with its status and the envelope', async () => {
  const stranger = await world.tenant();

  expect(await refusal(stranger.tokens.owner, {})).toMatchObject([404, { code: 'not_found' }]);
  expect(await refusal(tenant.tokens.viewer, { 'last-event-id': '99' })).toMatchObject([
    422,
    { code: 'cursor_invalid', context: { last_seq: 2 } },
  ]);
  expect(await refusal(tenant.tokens.viewer, {}, '?after_seq=-1')).toMatchObject([422, { code: 'validation_failed' }]);
  expect(await refusal('', {})).toMatchObject([401, { code: 'credential_invalid' }]);
  expect(
    (await world.api.app.inject({ method: 'HEAD', url: `/runs/${runId}/stream`, headers: bearer(tenant.tokens.viewer) })).statusCode,
  ).toBe(405);
});

test('an unknown and a foreign run are one 404, however often, and hold no place for a stream', async () => {
  const stranger = await world.tenant();
  const ask = async (id: string) => {
    const reply = await world.api.app.inject({ url: `/runs/${id}/stream`, headers: bearer(stranger.tokens.viewer) });
    return [reply.statusCode, { ...reply.json(), correlation_id: null, instance: null }];
  };
  const unknown = await ask(newId());

  for (let round = 0; round < world.api.deps.hub.limits.streamsPerPrincipal; round += 1) expect(await ask(runId)).toEqual(unknown);
  expect(unknown[0]).toBe(404);
  const agent = await makeAgent(world, stranger.tokens.admin);
  const own = await world.call(stranger.tokens.member, 'POST', '/runs', { body: { agent_id: agent.id, input: { text: 'Hello' } } });
  const client = await openSse(world.api.url, own.body.id, { bearer: stranger.tokens.viewer });
  await client.until(({ frames }) => frames.length === 1);
  client.destroy();
});

test('a stream token opens a socket as its caller', async () => {
  const made = await world.call(tenant.serviceKey.plaintext, 'POST', `/runs/${runId}/stream-token`);
  expect([made.status, made.body]).toMatchObject([
    201,
    { token: expect.stringMatching(/^lh_st_.{43}$/), run_id: runId, websocket_path: `/ws/runs/${runId}`, protocol: 2 },
  ]);

  const socket = new WebSocket(`${world.api.url.replace('http', 'ws')}${made.body.websocket_path}`);
  const first = new Promise<string>((resolve) => socket.on('message', (message) => resolve(String(message))));
  socket.on('open', () => socket.send(JSON.stringify({ type: 'auth', token: made.body.token })));
  expect(parseFrame(await first)).toMatchObject({ seq: 1, type: 'run.status', run_id: runId });
  socket.terminate();
});

test('the end of a socket is logged with who it was, or that it never said so, and with no token', async () => {
  const before = lines.length;
  const ends = () =>
    lines
      .slice(before)
      .map((line) => JSON.parse(line))
      .filter((entry) => entry.msg === 'request served' && entry.status === 101);
  const key = await makeKey();
  const token = await streamToken(key.plaintext);

  for (const query of [`?token=${token}`, '']) await socket(JSON.stringify({ type: 'auth', token }), query).first; // which breaks it off
  await eventually(() => ends().some(({ caller }) => caller === `service_key:${key.id}`) && ends().some(({ caller }) => !caller));

  const facts = { operation: null, method: 'GET', path: '/ws/runs/{run_id}', close_code: 1006, address: '127.0.0.1' };
  const named = { ...facts, caller: `service_key:${key.id}`, organization_id: tenant.organizationId };
  expect(ends()).toEqual(expect.arrayContaining([expect.objectContaining(named), expect.objectContaining(facts)]));
  expect(lines.join()).not.toContain(token);
});

test.each([
  ['revoked', 'DELETE', ''],
  ['rotated', 'POST', '/rotate'],
] as const)('a key that is %s ends its open stream at once', async (_how, method, action) => {
  const key = await makeKey();
  const client = await openSse(world.api.url, runId, { bearer: key.plaintext });
  await client.until(({ frames }) => frames.length === 2);

  const { limits } = world.api.deps.hub;
  const { accessMs } = limits;
  Object.assign(limits, { accessMs: 86_400_000 }); // nobody looks by themselves: only being told can end it
  await world.api.app.inject({ method, url: `/service-keys/${key.id}${action}`, headers: bearer(tenant.tokens.admin) });
  await client.ended;

  Object.assign(limits, { accessMs });
  expect(client.frames.at(-1)).toMatchObject({
    seq: null,
    data: { code: 'credential_invalid', problem: { type: 'http://longhaul.test/error-codes#credential_invalid' } },
  });
});

test('a stream token works in a first message only: in no URL and no header, where it is not used up either', async () => {
  const token = await streamToken(tenant.tokens.viewer);

  for (const headers of [{ authorization: `Bearer ${token}` }, { 'x-api-key': token }] as Record<string, string>[]) {
    const reply = await world.api.app.inject({ url: `/runs/${runId}/stream`, headers });
    expect([reply.statusCode, reply.json().code]).toEqual([401, 'credential_invalid']);
  }
  expect((await world.api.app.inject(`/runs/${runId}/stream?token=${token}`)).statusCode).toBe(401);
  for (const [query, headers] of [
    [`?token=${token}`, {}],
    [`?access_token=${token}`, {}],
    ['', { authorization: `Bearer ${token}` }],
    ['', { 'sec-websocket-protocol': token }],
  ] as const)
    expect((await socket('{}', query, headers).closed).code).toBe(4400);

  expect((await socket(JSON.stringify({ type: 'auth', token })).first).seq).toBe(1);
});

test('a stream token that was not used within 60 s opens nothing', async () => {
  const token = await streamToken(tenant.tokens.viewer);
  const life = `select extract(epoch from expires_at - created_at)::int as seconds from stream_tokens where token_hash = ?`;
  const [{ seconds } = {}] = await sweep(world.api.db, (em) => rows<{ seconds: number }>(em, life, [tokenHash(token)]));
  await sweep(world.api.db, (em) => rows(em, 'update stream_tokens set expires_at = now() where token_hash = ?', [tokenHash(token)]));

  expect(seconds).toBe(60);
  expect(await socket(JSON.stringify({ type: 'auth', token })).closed).toMatchObject({
    code: 4401,
    notice: { code: 'stream_token_invalid' },
  });
});

test('a stream token made in another user’s name opens nothing once its holder is no admin any more', async () => {
  const own = await makeUser(world.api.db, world.api.keys, {
    role: 'admin',
    scope: 'workspace',
    organizationId: tenant.organizationId,
    workspaceId: tenant.workspaceId,
  });
  const headers = { 'x-acting-user': tenant.users.viewer.id };
  const [before, after] = [await streamToken(own.token, headers), await streamToken(own.token, headers)];

  expect((await socket(JSON.stringify({ type: 'auth', token: before })).first).seq).toBe(1);
  await sweep(world.api.db, (em) => rows(em, `update users set role = 'member' where id = ?`, [own.id]));

  expect(await socket(JSON.stringify({ type: 'auth', token: after })).closed).toMatchObject({
    code: 4401,
    notice: { code: 'role_insufficient' },
  });
});

test('the protocol that is served describes these frames', async () => {
  const { body } = await world.call(tenant.tokens.viewer, 'GET', '/stream-protocol');

  expect([body.version, body.frames.length, body.close_codes.length, body.resume]).toEqual([
    2,
    13,
    14,
    { header: 'Last-Event-ID', parameter: 'after_seq' },
  ]);
  expect(body.envelope.description).toContain('stream   = status(queued)');
});

async function makeKey(): Promise<{ readonly id: string; readonly plaintext: string }> {
  const body = { name: 'short', role: 'viewer', workspace_id: tenant.workspaceId };
  return (await world.call(tenant.tokens.admin, 'POST', '/service-keys', { body })).body;
}

async function streamToken(credential: string, headers: Record<string, string> = {}): Promise<string> {
  return (await world.call(credential, 'POST', `/runs/${runId}/stream-token`, { headers })).body.token;
}

/** A socket that says one thing: the first frame it gets, and how it is closed. */
function socket(says: string, query = '', headers: Readonly<Record<string, string>> = {}) {
  const { 'sec-websocket-protocol': protocol, ...rest } = headers;
  const made = new WebSocket(`${world.api.url.replace('http', 'ws')}/ws/runs/${runId}${query}`, protocol ? [protocol] : [], {
    headers: rest,
  });
  const frames: Frame[] = [];
  made.on('open', () => made.send(says)).on('message', (message) => frames.push(parseFrame(String(message))));

  return {
    first: new Promise<Frame>((resolve) =>
      made.once('message', (message) => {
        made.terminate();
        resolve(parseFrame(String(message)));
      }),
    ),
    closed: new Promise<{ code: number; notice: unknown }>((resolve) =>
      made.on('close', (code) => resolve({ code, notice: frames.at(-1)?.data })).on('error', () => undefined),
    ),
  };
}

/** What beginRun would say; no worker runs here. */
async function begin(): Promise<void> {
  const { db, deps } = world.api;
  const home = { organizationId: tenant.organizationId, workspaceId: tenant.workspaceId };
  const run = { runId, rootRunId: runId, parentRunId: null, ...home, path: ['agent'] };
  const { outgoing } = await transact(
    db,
    { tenant: workspaceTenant(home.organizationId, home.workspaceId), actor: systemActor, correlationId: runId },
    (tx) => appendFrames(tx, [stateBatch(run, [started()])]),
  );
  await deps.dispatch(outgoing);
}

async function refusal(token: string, headers: Record<string, string>, query = ''): Promise<[number, unknown]> {
  const reply = await world.api.app.inject({
    method: 'GET',
    url: `/runs/${runId}/stream${query}`,
    headers: { authorization: `Bearer ${token || 'x'}`, ...headers },
  });
  return [reply.statusCode, JSON.parse(reply.body)];
}
