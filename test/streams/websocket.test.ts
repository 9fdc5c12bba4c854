import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type ClientOptions, WebSocket } from 'ws';
import { randomKeyRing } from '../../db/key-ring.ts';
import { issueStreamToken } from '../../domain/identity/sessions/stream-tokens.ts';
import { newId } from '../../db/ids.ts';
import { parseFrame, type RunIdentity } from '../../db/streams/frame-text.ts';
import type { Frame } from '../../db/streams/frame.schema.ts';
import { callerOf } from '../support/caller.ts';
import { makeTenant, type TestTenant } from '../support/tenant.ts';
import { note } from './frame-samples.ts';
import { openSse, range } from './sse-client.ts';
import { openStreamWorld, type StreamWorld } from './stream-world.ts';
import { eventually } from './waiting.ts';

let world: StreamWorld;
let tenant: TestTenant;
beforeAll(async () => {
  world = await openStreamWorld({ limits: { streamsPerPrincipal: 3, accessMs: 1_000, heartbeatMs: 1_000 } });
  tenant = await makeTenant(world.database.db, randomKeyRing());
});
afterAll(() => world.close());

test('a socket gives the same frames as an event stream and closes with 1000 after run.finished', async () => {
  const run = await world.startRun(tenant);
  const socket = await open(run, { token: await token(run) });
  const sse = await openSse(world.url, run.runId, { bearer: world.bearerOf(run) });

  await world.append(run, [note('one'), note('two')]);
  await world.finish(run);
  await sse.ended;

  expect(await socket.closed).toEqual([1000, 'finished']);
  expect(socket.texts).toEqual(sse.texts);
});

test('after_seq and replay=false mean the same as over HTTP, and an ended run closes with 1000', async () => {
  const run = await world.startRun(tenant);
  const [resumed, live] = [
    await open(run, { token: await token(run), after_seq: 1 }),
    await open(run, { token: await token(run), replay: false }),
  ];
  await eventually(() => resumed.texts.length === 1 && world.hub.counts().streams === 2);
  await world.finish(run);
  await Promise.all([resumed.closed, live.closed]);

  expect([numbers(resumed), numbers(live)]).toEqual([[2, 3], [3]]);
  const after = await open(run, { token: await token(run), after_seq: 3 });
  expect([await after.closed, after.texts]).toEqual([[1000, 'finished'], []]);
  const ahead = await open(run, { token: await token(run), after_seq: 4 });
  expect([(await ahead.closed)[0], notice(ahead)]).toMatchObject([
    4422,
    { data: { code: 'cursor_invalid', problem: { context: { last_seq: 3 } } } },
  ]);
});

test('a token opens one of two sockets, no other run, and nothing when it is made up', async () => {
  const [run, other] = [await world.startRun(tenant), await world.startRun(tenant)];
  const once = await token(run);
  const [first, second] = await Promise.all([open(run, { token: once }), open(run, { token: once })]);
  const loser = await Promise.race([first.closed.then(() => first), second.closed.then(() => second)]);

  expect([await loser.closed, notice(loser).data]).toMatchObject([[4409, 'token_used'], { code: 'stream_token_used', source: 'stream' }]);
  expect((await (await open(other, { token: await token(run) })).closed)[0]).toBe(4401);
  expect((await (await open(run, { token: `lh_st_${'A'.repeat(43)}` })).closed)[0]).toBe(4401);
  (loser === first ? second : first).socket.terminate();
});

test('a first message of another kind is refused, and none at all after 5 s', async () => {
  const run = await world.startRun(tenant);

  const silent = await open(run, null);
  for (const message of [
    '{}',
    'no json',
    JSON.stringify({ type: 'auth', token: 'x', after_seq: -1 }),
    JSON.stringify({ type: 'auth', token: 'x'.repeat(5_000) }),
  ]) {
    const socket = await open(run, null);
    socket.socket.send(message);
    expect(await socket.closed).toEqual([4400, 'bad_first_frame']);
  }
  expect(await silent.closed).toEqual([4408, 'no_first_frame']);
});

test('a client that sends 1 MB keeps receiving; a message above 64 KiB ends it', async () => {
  const run = await world.startRun(tenant);
  const socket = await open(run, { token: await token(run) });
  await eventually(() => socket.texts.length === 2);

  for (const _ of range(1, 17)) socket.socket.send('x'.repeat(62_000));
  await world.append(run, [note('still there')]);
  await eventually(() => socket.texts.length === 3);

  socket.socket.send('x'.repeat(70_000));
  expect((await socket.closed)[0]).toBe(1009);
});

test('the fourth socket of a principal with three is refused', async () => {
  const run = await world.startRun(tenant);
  const sockets = await Promise.all(range(1, 3).map(async () => open(run, { token: await token(run, tenant.users.admin.id) })));
  await eventually(() => sockets.every((socket) => socket.texts.length === 2));

  const refused = await open(run, { token: await token(run, tenant.users.admin.id) });
  expect([await refused.closed, notice(refused).data.problem]).toMatchObject([
    [4429, 'too_many_streams'],
    { code: 'rate_limited', retry_after_s: 5 },
  ]);
  for (const { socket } of sockets) socket.terminate();
});

test('a socket whose session is revoked ends at once, one of a purged run too', async () => {
  const [run, purged] = [await world.startRun(tenant), await world.startRun(tenant)];
  const [held, gone] = [await open(run, { token: await token(run) }), await open(purged, { token: await token(purged) })];
  await eventually(() => held.texts.length === 2 && gone.texts.length === 2);

  await world.admin('update runs set deleted_at = now() where id = $1', [purged.runId]);
  expect([await gone.closed, notice(gone).data.code]).toEqual([[4404, 'not_found'], 'not_found']);
  await world.admin(`update sessions set revoked_at = now() where id = $1`, [tenant.users.member.sessionId]);
  world.publisher.notifyRevoked([`session:${tenant.users.member.sessionId}`]);

  expect([await held.closed, notice(held).data]).toMatchObject([[4401, 'token_invalid'], { code: 'session_revoked', resume_after_seq: 2 }]);
});

test('a socket that answers no ping is ended', async () => {
  const run = await world.startRun(tenant);
  const socket = await open(run, { token: await token(run, tenant.users.owner.id) }, { autoPong: false });

  expect((await socket.closed)[0]).toBe(1006);
});

test('an upgrade is refused as HTTP for a path without a run, a draining process, and a plain request', async () => {
  expect(await upgradeStatus('/ws/runs/not-a-uuid')).toBe(422);
  expect((await fetch(`${world.url}/ws/runs/${newId()}`)).status).toBe(404);

  const other = await openStreamWorld();
  await other.hub.drain();
  expect(await upgradeStatus(`/ws/runs/${newId()}`, other.url)).toBe(503);
  await other.close();
});

interface OpenSocket {
  readonly socket: WebSocket;
  readonly texts: string[];
  readonly closed: Promise<[number, string]>;
}

async function open(run: RunIdentity, first: Record<string, unknown> | null, options: ClientOptions = {}): Promise<OpenSocket> {
  const socket = new WebSocket(`${world.url.replace('http', 'ws')}/ws/runs/${run.runId}`, options);
  const texts: string[] = [];
  socket.on('message', (message) => texts.push(String(message)));
  socket.on('error', () => undefined);
  const closed = new Promise<[number, string]>((resolve) => socket.on('close', (code, reason) => resolve([code, String(reason)])));
  await new Promise((resolve) => socket.on('open', resolve));
  if (first) socket.send(JSON.stringify({ type: 'auth', ...first }));
  return { socket, texts, closed };
}

async function token(run: RunIdentity, userId = tenant.users.member.id): Promise<string> {
  const user = Object.values(tenant.users).find(({ id }) => id === userId) ?? tenant.users.member;
  const caller = callerOf({
    organizationId: tenant.organizationId,
    workspaceId: tenant.workspaceId,
    principalId: user.id,
    userId: user.id,
    sessionId: user.sessionId,
  });
  const issued = await world.inTransaction(run, (tx) =>
    issueStreamToken({ ...tx, caller }, { id: run.runId, organizationId: run.organizationId, workspaceId: run.workspaceId }),
  );
  return issued.token;
}

function numbers(socket: OpenSocket): (number | null)[] {
  return socket.texts.map((text) => parseFrame(text).seq);
}

function notice(socket: OpenSocket): Extract<Frame, { type: 'error' }> {
  const frame = parseFrame(socket.texts.at(-1) ?? '');
  if (frame.type !== 'error' || frame.seq !== null) throw new Error('no notice');
  return frame;
}

function upgradeStatus(path: string, url = world.url): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`${url.replace('http', 'ws')}${path}`);
    socket.on('unexpected-response', (_request, response) => {
      resolve(response.statusCode ?? 0);
      response.destroy();
    });
    socket.on('error', () => undefined);
    socket.on('open', () => reject(new Error('opened')));
  });
}
