import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import { systemActor, transact, workspaceTenant } from '../../db/scope.ts';
import { appendFrames, stateBatch } from '../../db/streams/append.ts';
import { parseFrame } from '../../db/streams/frame-text.ts';
import { makeAgent, openWorld, type World } from '../api/world.ts';
import { bearer, type TestTenant } from '../support/tenant.ts';
import { started } from './frame-samples.ts';
import { openSse } from './sse-client.ts';
import { violationsOf } from './frame-validator.ts';

// The way through the whole API: its checks, headers and envelope. The streams themselves are tested beside this file.
let world: World;
let tenant: TestTenant;
let runId: string;
beforeAll(async () => {
  world = await openWorld();
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
    'x-correlation-id': expect.any(String),
    'x-request-duration-ms': expect.any(String),
  });
  expect(client.frames.flatMap(violationsOf)).toEqual([]);
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

test('a revoked key ends its open stream at once', async () => {
  const key = await world.call(tenant.tokens.admin, 'POST', '/service-keys', {
    body: { name: 'short', role: 'viewer', workspace_id: tenant.workspaceId },
  });
  const client = await openSse(world.api.url, runId, { bearer: key.body.plaintext });
  await client.until(({ frames }) => frames.length === 2);

  const startedAt = performance.now();
  await world.api.app.inject({ method: 'DELETE', url: `/service-keys/${key.body.id}`, headers: bearer(tenant.tokens.admin) });
  await client.ended;

  expect(performance.now() - startedAt).toBeLessThan(3_000);
  expect(client.frames.at(-1)).toMatchObject({
    seq: null,
    data: { code: 'credential_invalid', problem: { type: 'http://longhaul.test/error-codes#credential_invalid' } },
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

/** What beginRun would say; no worker runs here. */
async function begin(): Promise<void> {
  const { db, deps } = world.api;
  const home = { organizationId: tenant.organizationId, workspaceId: tenant.workspaceId };
  const run = { runId, rootRunId: runId, parentRunId: null, ...home, path: ['agent'] };
  const { outgoing } = await transact(
    db,
    { tenant: workspaceTenant(home.organizationId, home.workspaceId), actor: systemActor, correlationId: runId },
    (unit) => appendFrames(unit, [stateBatch(run, [started()])]),
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
