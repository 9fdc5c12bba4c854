import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import { parseFrame } from '../../../db/streams/frame-text.ts';
import { openSse } from '../../streams/sse-client.ts';
import type { TestTenant } from '../../support/tenant.ts';
import { makeAgent, openWorld, type World } from '../world.ts';
import { admin, impersonate, request } from './client.ts';

let world: World;
let tenant: TestTenant;
let runId: string;

beforeAll(async () => {
  world = await openWorld();
  tenant = await world.tenant({ workspaces: 2 });
  const agent = await makeAgent(world, tenant.tokens.admin);
  runId = (await world.call(tenant.tokens.member, 'POST', '/runs', { body: { agent_id: agent.id, input: { text: 'Hello' } } })).body.id;
});

afterAll(() => world.close());

test('an open stream of an impersonation ends as soon as that does', async () => {
  const { id, token } = await impersonate(world, tenant.tokens.operator, tenant.users.viewer.id);
  const client = await openSse(world.api.url, runId, { bearer: token });
  await client.until(({ frames }) => frames.length === 1);

  const { limits } = world.api.deps.hub;
  const { accessMs } = limits;
  Object.assign(limits, { accessMs: 86_400_000 }); // nobody looks by themselves: only being told can end it
  await request(world, tenant.tokens.operator, 'DELETE', `/impersonations/${id}`);
  await client.ended;

  Object.assign(limits, { accessMs });
  expect(client.headers['x-impersonation-id']).toBe(id);
  expect(client.frames.at(-1)).toMatchObject({ seq: null, data: { code: 'session_revoked' } });
});

test.each([
  ['runs out', 'update impersonations set expires_at = now() where id = $1', 'token_expired'],
  ['is ended elsewhere', 'update impersonations set ended_at = now() where id = $1', 'session_revoked'],
  [
    'loses its operator',
    'update users set is_active = false where id = (select operator_user_id from impersonations where id = $1)',
    'session_revoked',
  ],
  [
    'loses its target',
    'update users set is_active = false where id = (select target_user_id from impersonations where id = $1)',
    'session_revoked',
  ],
  [
    'has a target who is moved away',
    `update users u set workspace_id = (select w.id from workspaces w where w.organization_id = u.organization_id and w.id <> u.workspace_id limit 1)
      where id = (select target_user_id from impersonations where id = $1)`,
    'not_found',
  ],
  [
    'has a target who becomes an operator',
    `update users set role = 'operator', scope = 'platform', organization_id = null, workspace_id = null
      where id = (select target_user_id from impersonations where id = $1)`,
    'session_revoked',
  ],
])('a stream whose impersonation %s ends within 5 s without any notice', async (_how, sql, code) => {
  const own = await world.tenant({ workspaces: 2 });
  const agent = await makeAgent(world, own.tokens.admin);
  const run = await world.call(own.tokens.member, 'POST', '/runs', { body: { agent_id: agent.id, input: { text: 'Hello' } } });
  const { id, token } = await impersonate(world, own.tokens.operator, own.users.viewer.id);
  const client = await openSse(world.api.url, run.body.id, { bearer: token });
  await client.until(({ frames }) => frames.length === 1);

  await admin(world, sql, [id]);
  await client.ended;

  expect(world.api.deps.hub.limits.accessMs).toBeLessThanOrEqual(5_000);
  expect(client.frames.at(-1)).toMatchObject({ seq: null, data: { code } });
});

test('a stream token made inside opens a socket with the target’s sight, and none once the impersonation has ended', async () => {
  const { id, token } = await impersonate(world, tenant.tokens.operator, tenant.users.viewer.id);
  const [used, late] = [await streamToken(token), await streamToken(token)];

  expect((await say(used)).frame).toMatchObject({ seq: 1, run_id: runId });
  await request(world, tenant.tokens.operator, 'DELETE', `/impersonations/${id}`);
  const refused = await say(late);

  expect(refused.frame).toMatchObject({ seq: null, data: { code: 'session_revoked' } });
  const [row] = await admin(
    world,
    'select principal_kind, principal_id from stream_tokens where used_at is not null and run_id = $1 limit 1',
    [runId],
  );
  expect(row).toEqual({ principal_kind: 'impersonation', principal_id: id });
});

async function streamToken(token: string): Promise<string> {
  return String((await request(world, token, 'POST', `/runs/${runId}/stream-token`)).body.token);
}

/** The first frame that a socket with this token gets. */
async function say(token: string) {
  const socket = new WebSocket(`${world.api.url.replace('http', 'ws')}/ws/runs/${runId}`);
  socket.on('open', () => socket.send(JSON.stringify({ type: 'auth', token })));
  const frame = await new Promise<ReturnType<typeof parseFrame>>((resolve) =>
    socket.once('message', (text) => resolve(parseFrame(String(text)))),
  );
  socket.terminate();
  return { frame };
}
