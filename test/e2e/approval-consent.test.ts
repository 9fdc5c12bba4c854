import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { echoTool, startMcpServer, type FakeMcpServer } from '../fakes/mcp-server.ts';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { startOauthServer, type FakeOauthServer } from '../fakes/oauth-server.ts';
import { archiveFaults, pendingOf, questionsOf, resolve, runOf } from '../support/approvals.ts';
import { endOf, watchRun } from '../support/run-checks.ts';
import { archivedFrames, makeAgent, scripted } from '../support/scenario.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';

let models: ModelServer;
let server: FakeMcpServer;
let oauth: FakeOauthServer;
let stack: Stack;

beforeAll(async () => {
  [models, server, oauth] = await Promise.all([startModelServer(), startMcpServer('streamable'), startOauthServer()]);
  server.accepts = (token) => oauth.accepts(token);
  server.challenge = `Bearer resource_metadata="${oauth.resourceMetadata(server.url)}"`;
  server.answer = (_name, args) => ({ content: [{ type: 'text', text: `echo ${String(args['text'])}` }] });
  server.tools = [echoTool];
  stack = await startStack({
    processes: ['api', 'worker-runs'],
    modelBaseUrl: models.baseUrl,
    egressPorts: [server.port, oauth.port],
  });
});

afterAll(async () => {
  await stack?.stop();
  await Promise.all([server, oauth, models].map((one) => one?.close()));
});

/** A request as the workspace's admin, which succeeds. */
async function asAdmin(method: string, path: string, body?: unknown): Promise<any> {
  const reply = await stack.request(method, path, { credential: stack.tenant.tokens.admin, ...(body === undefined ? {} : { body }) });
  if (reply.status >= 400) throw new Error(`${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`);
  return reply.body;
}

/** Syncs the toolkit; gives the revision when it has come to the state. */
async function synced(toolkitId: string, state: string, body: object = {}): Promise<string> {
  const { id } = await asAdmin('POST', `/mcp/toolkits/${toolkitId}/sync`, body);
  const revision = async () => {
    const { items } = await asAdmin('GET', `/toolkits/${toolkitId}/revisions`);
    return items.find((one: { id: string }) => one.id === id);
  };
  await until(async () => (await revision()).state !== 'syncing');
  expect(await revision()).toMatchObject({ state });
  return id;
}

/** An agent with a tool of a server for which each user has a grant of its own; the admin has one already. */
async function personalAgent(): Promise<{ agentId: string; slug: string }> {
  const config = { url: server.url, auth: { type: 'oauth', mode: 'per_user', scopes: ['tools'] } };
  const { id } = await asAdmin('POST', '/toolkits', { slug: `kit-${crypto.randomUUID().slice(0, 8)}`, name: 'Far', kind: 'mcp', config });
  await synced(id, 'failed');
  const [connection] = (await asAdmin('GET', `/mcp/toolkits/${id}/status`)).connections;
  const { code, state } = oauth.agree(connection.authorization_url);
  const revisionId = await synced(id, 'inactive', { authorization: { code, state } });
  await asAdmin('POST', `/toolkits/${id}/revisions/${revisionId}/activate`, { approve: 'all', overrides: { echo: { effect: 'read' } } });
  const [tool] = (await asAdmin('GET', `/tools?toolkit_id=${id}`)).items;
  const agent = await makeAgent(stack, [], { tools: [{ id: tool.id }] });
  return { agentId: agent.id, slug: tool.slug };
}

test('calls that need the consent of their user wait for it: one consent, given by that user, lets all of them go', async () => {
  const { agentId, slug } = await personalAgent();
  const steps = [{ tool_calls: ['one', 'two'].map((text) => ({ name: slug, arguments: { text } })) }, { text: 'Done.' }];
  const started = await stack.request('POST', '/runs', {
    credential: stack.tenant.tokens.member,
    body: { agent_id: agentId, input: { text: scripted({ steps }) } },
  });
  const run: { id: string } = started.body;
  const pending = await pendingOf(stack, run.id, 2);
  const waiting = await runOf(stack, run.id);
  const link = String(pending[0]?.args?.['authorization_url']);
  const { code, state } = oauth.agree(link);
  const respond = (response: object, credential: string) =>
    resolve(stack, run.id, [{ approval_id: pending[0]?.id, decision: 'respond', response }], credential);

  const foreign = await respond({ code, state }, stack.tenant.tokens.admin);
  const wrong = await respond({ code, state: 'another' }, stack.tenant.tokens.member);
  const given = await respond({ code, state }, stack.tenant.tokens.member);
  const frames = await endOf(watchRun(stack, run.id));

  expect(waiting).toMatchObject({ status: 'waiting', waiting_on: 'auth' });
  expect(pending.map((question) => question.args)).toEqual([{ authorization_url: link }, { authorization_url: link }]);
  expect(pending[0]).toMatchObject({ reason: 'auth', decisions: ['respond', 'reject'] });
  expect(foreign).toMatchObject({ status: 403, body: { code: 'resource_forbidden' } });
  expect(wrong).toMatchObject({ status: 422, body: { errors: [{ pointer: '/resolutions/0/response/state', rule: 'state' }] } });
  expect(given).toMatchObject({ status: 200, body: { items: [{ status: 'responded', response: null }] } });
  const results = frames.filter((frame) => frame.type === 'tool.result').map((frame) => frame.data);
  expect(results.map((result) => result['output']).toSorted()).toEqual(['echo one', 'echo two']);
  expect((await questionsOf(stack, run.id)).map(({ status }) => status).toSorted()).toEqual(['cancelled', 'responded']);
  expect((await archivedFrames(stack, run.id)).join('\n')).not.toContain(code);
  expect(await archiveFaults(stack, run.id)).toEqual([]);
});

test('a consent that is refused is a denied result, and the run goes on', async () => {
  const { agentId, slug } = await personalAgent();
  const steps = [{ tool_calls: [{ name: slug, arguments: { text: 'x' } }] }, { text: 'Without it, then.' }];
  const started = await stack.request('POST', '/runs', {
    credential: stack.tenant.tokens.member,
    body: { agent_id: agentId, input: { text: scripted({ steps }) } },
  });
  const run: { id: string } = started.body;
  const [question] = await pendingOf(stack, run.id);

  await resolve(stack, run.id, [{ approval_id: question?.id, decision: 'reject' }]);
  const frames = await endOf(watchRun(stack, run.id));

  expect(frames.find((frame) => frame.type === 'tool.result')?.data).toMatchObject({ status: 'denied' });
  expect(frames.at(-1)?.data).toMatchObject({ status: 'succeeded' });
});
