import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Egress } from '../../../ports/egress/egress.ts';
import { sweep } from '../../../db/transaction.ts';
import { change, rows } from '../../../db/sql.ts';
import { tokenFor, type TestTenant } from '../../support/tenant.ts';
import { eventually } from '../../streams/waiting.ts';
import { callTool } from '../mcp/client.ts';
import { makeAgent, openWorld, type Answer, type World } from '../world.ts';

// Nothing here is ever done: no worker takes a run or a test, no server answers. Only the end of the right ends a wait before its time.
const never = () => new Promise<never>(() => undefined);
const silent: Egress = { fetch: never, open: never, connect: never, close: async () => undefined };
const allowance = [{ host: 'silent.example', port: 443, allow_http: false }];

let world: World;

beforeAll(async () => {
  world = await openWorld({ egress: silent });
});
afterAll(() => world.close());

interface Waiter {
  readonly tenant: TestTenant;
  readonly token: string;
  readonly sessionId: string;
  readonly agentId: string;
  readonly runId: string;
}

/** An admin with a session of their own for the wait. */
async function makeWaiter(): Promise<Waiter> {
  const tenant = await world.tenant({ workspaces: 2, egressAllowlist: allowance });
  const agent = await makeAgent(world, tenant.tokens.admin);
  const run = await world.call(tenant.tokens.admin, 'POST', '/runs', { body: { agent_id: agent.id, input: { text: 'Hello' } } });
  const session = await tokenFor(world.api.db, world.api.keys, tenant.users.admin);
  return { tenant, agentId: agent.id, runId: run.body.id, ...session };
}

async function testOf({ tenant, token }: Waiter): Promise<Answer> {
  const made = await world.call(tenant.tokens.admin, 'POST', '/tools', {
    body: { slug: 'look', kind: 'http', description: 'x', config: { method: 'GET', url: 'https://silent.example/' } },
  });
  return world.call(token, 'POST', `/tools/${made.body.id}/test`, { body: { arguments: {} } });
}

async function toolCall({ token, runId }: Waiter): Promise<Answer> {
  const { structuredContent, isError } = await callTool(world.api, token, 'waitForRun', { run_id: runId, timeout_s: 60 });
  return { status: isError ? structuredContent.status : 200, headers: {}, body: structuredContent };
}

/** Whatever answers later than at once. */
const waits: Readonly<Record<string, (waiter: Waiter) => Promise<Answer>>> = {
  'GET /runs/{id}/wait': ({ token, runId }) => world.call(token, 'GET', `/runs/${runId}/wait?timeout_s=60`),
  'POST /runs with mode wait': ({ token, agentId }) =>
    world.call(token, 'POST', '/runs', { body: { agent_id: agentId, input: { text: 'Hi' }, mode: 'wait', wait_timeout_s: 60 } }),
  'POST /tools/{id}/test': testOf,
  'POST /mcp/discover': ({ token }) => world.call(token, 'POST', '/mcp/discover', { body: { url: 'https://silent.example/mcp' } }),
  'a tool call of the MCP endpoint': toolCall,
};

/** Ways by which a right is lost: told to all processes, or found by their look. */
const losses: Readonly<Record<string, { readonly code: string; readonly lose: (waiter: Waiter) => Promise<unknown> }>> = {
  'its session is ended': {
    code: 'session_revoked',
    lose: ({ tenant, sessionId }) => request('DELETE', tenant.tokens.admin, `/sessions/${sessionId}`),
  },
  'a second factor is demanded': {
    code: 'mfa_required',
    lose: ({ tenant }) =>
      request('PATCH', tenant.organizationOwner.token, `/organizations/${tenant.organizationId}/settings`, { require_mfa: true }),
  },
  'its user is deactivated behind the API': {
    code: 'session_revoked',
    lose: ({ tenant }) =>
      sweep(world.api.db, (em) => change(em, 'update users set is_active = false where id = ?', [tenant.users.admin.id])),
  },
};

test.each(Object.entries(waits).flatMap(([wait, ask]) => Object.entries(losses).map(([loss, given]) => ({ wait, ask, loss, ...given }))))(
  '$wait ends with 401 when $loss',
  async ({ ask, code, lose }) => {
    const waiter = await makeWaiter();
    const answer = ask(waiter);
    let isAnswered = false;
    void answer.then(() => (isAnswered = true));
    await eventually(() => isAnswered || world.api.deps.hub.counts().held > 0, 20_000);
    expect(isAnswered).toBe(false);

    await lose(waiter);

    expect(await answer).toMatchObject({ status: 401, body: { code } });
    expect(world.api.deps.hub.counts().held).toBe(0);
  },
);

test('a wait ends when its run is out of sight, and a key goes on where people lack a factor', async () => {
  const waiter = await makeWaiter();
  const { tenant, runId } = waiter;
  const [byPerson, byKey] = [waiter.token, tenant.serviceKey.plaintext].map((token) =>
    world.call(token, 'GET', `/runs/${runId}/wait?timeout_s=60`),
  );
  await eventually(() => world.api.deps.hub.counts().held === 2);

  const [, elsewhere] = tenant.workspaceIds;
  await sweep(world.api.db, (em) => change(em, 'update users set workspace_id = ? where id = ?', [elsewhere, tenant.users.admin.id]));
  expect(await byPerson).toMatchObject({ status: 404, body: { code: 'not_found' } });
  await request('PATCH', tenant.organizationOwner.token, `/organizations/${tenant.organizationId}/settings`, { require_mfa: true });
  await world.call(tenant.serviceKey.plaintext, 'POST', `/runs/${runId}/cancel`);

  expect(await byKey).toMatchObject({ status: 200, body: { status: 'cancelled' } });
});

test('what a lost wait has begun is begun: its Idempotency-Key gives the run, and the holder’s other session reads it', async () => {
  const waiter = await makeWaiter();
  const { tenant, agentId, token, sessionId } = waiter;
  const start = (by: string) =>
    world.call(by, 'POST', '/runs', {
      headers: { 'idempotency-key': 'one' },
      body: { agent_id: agentId, input: { text: 'Hi' }, mode: 'wait', wait_timeout_s: 60 },
    });
  const answer = start(token);
  await eventually(() => world.api.deps.hub.counts().held === 1);

  await request('DELETE', tenant.tokens.admin, `/sessions/${sessionId}`);
  expect((await answer).status).toBe(401);
  expect((await start(token)).status).toBe(401);
  const again = await start(tenant.tokens.admin);

  const [run] = await sweep(world.api.db, (em) =>
    rows<{ id: string }>(em, 'select id from runs where workspace_id = ? order by id desc limit 1', [tenant.workspaceId]),
  );
  expect(again).toMatchObject({ status: 202, body: { id: run?.id }, headers: { 'idempotency-replayed': 'true' } });
});

async function request(method: 'DELETE' | 'PATCH', token: string, path: string, body?: object): Promise<void> {
  const answer = await world.call(token, method, path, { body });
  if (answer.status >= 300) throw new Error(`${path}: ${answer.status}`);
}
