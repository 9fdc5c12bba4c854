import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { untilRun } from '../support/approvals.ts';
import { endOf, watchRun } from '../support/run-checks.ts';
import { archivedFrames, makeAgent, scripted, startRun } from '../support/scenario.ts';
import { freePort, startStack, type Stack } from '../support/stack.ts';

const large = '1234567890123456789';
const neighbour = '9007199254740993';
const longFraction = '0.1000000000000000055511151231257827';
let models: ModelServer;
let server: Server;
let stack: Stack;
const received: string[] = [];

beforeAll(async () => {
  models = await startModelServer();
  server = createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += String(part);
    received.push(`${request.url ?? ''} ${body}`);
    response.writeHead(200, { 'content-type': 'application/json' }).end(`{"id": ${neighbour}, "owner": ${large}}`);
  });
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  stack = await startStack({ processes: ['api', 'worker-runs'], modelBaseUrl: models.baseUrl, egressPorts: [port] });
});
afterAll(async () => {
  await stack?.stop();
  server.closeAllConnections();
  server.close();
  await models.close();
});

const asked = (name: string, argumentsText: string) => ({ tool_calls: [{ name, arguments: argumentsText }] });
const get = async (path: string): Promise<string> => JSON.stringify((await stack.request('GET', path)).body);

test('an identifier goes from the model to a tool, and from its reply to the model, frames and messages, without losing a digit', async () => {
  const slug = `fetch-${crypto.randomUUID().slice(0, 8)}`;
  const { port } = server.address() as AddressInfo;
  const agent = await makeAgent(stack, [
    {
      slug,
      kind: 'http',
      effect: 'read',
      description: 'Fetches a thing.',
      input_schema: { type: 'object', properties: { id: { type: ['string', 'number'] } }, required: ['id'] },
      config: {
        method: 'POST',
        url: `http://127.0.0.1:${port}/things/{{ args.id }}`,
        body: { mode: 'json', template: { id: '{{ args.id }}' } },
      },
    },
  ]);
  const steps = [
    asked(slug, `{"id":${large}}`),
    asked(slug, `{"id":${longFraction}}`),
    asked(slug, `{"id":"${large}"}`),
    { text: 'Done.' },
  ];

  const run = await startRun(stack, agent.id, scripted({ steps }, slug));
  await endOf(watchRun(stack, run.id));

  const calls = models.calls().filter(({ body }) => JSON.stringify(body).includes(slug));
  const prompt = calls.at(-1)?.body['messages'] as { role: string; content: string }[]; // of our own product
  const results = prompt.filter(({ role }) => role === 'tool');
  expect(received).toEqual([`/things/${large} {"id":"${large}"}`]);
  expect(results[0]?.content).toContain(`The number ${large} has more digits than a number can keep`);
  expect(results[1]?.content).toContain(`The number ${longFraction} has more digits than a number can keep`);
  expect(results[2]?.content).toBe(`{"id":${neighbour},"owner":${large}}`);

  const [messages, stepsRead, frames] = await Promise.all([
    get(`/runs/${run.id}/messages`),
    get(`/runs/${run.id}/steps`),
    archivedFrames(stack, run.id).then((all) => all.join()),
  ]);
  for (const told of [messages, stepsRead, frames]) {
    expect(told).toContain(neighbour);
    expect(told).not.toMatch(/1234567890123456(?!789)|9007199254740992/);
  }
});

test('a call of a client has its digits wherever it stands, and a result with a number that would be changed is refused', async () => {
  const slug = `mine-${crypto.randomUUID().slice(0, 8)}`;
  const agent = await makeAgent(stack, [
    {
      slug,
      kind: 'http',
      client_owned: true,
      description: 'Is executed by the client.',
      input_schema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
      config: {},
    },
  ]);
  const run = await startRun(stack, agent.id, scripted({ steps: [asked(slug, `{"id":"${large}"}`), { text: 'Done.' }] }, slug));
  await untilRun(stack, run.id, (now) => now.waiting_on === 'client_tool');
  const { body }: { body: { pending_tool_calls: { tool_call_id: string; args: unknown }[] } } = await stack.request(
    'GET',
    `/runs/${run.id}`,
  );
  const [call] = body.pending_tool_calls;

  const send = (output: string) =>
    fetch(`${stack.url()}/runs/${run.id}/input`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'authorization': `Bearer ${stack.tenant.tokens.admin}` },
      body: `{"kind":"tool_results","results":[{"tool_call_id":"${call?.tool_call_id}","status":"succeeded","output":${output}}]}`,
    });
  const refused = await send(`{"id":${neighbour}}`);
  const taken = await send(`{"id":"${neighbour}"}`);
  await endOf(watchRun(stack, run.id));

  expect(call?.args).toEqual({ id: large });
  expect([refused.status, taken.status]).toEqual([422, 202]);
  expect(await refused.json()).toMatchObject({ errors: [{ pointer: '/results/0/output/id', rule: 'range' }] });
  expect(await get(`/runs/${run.id}/messages`)).toContain(`"id":"${neighbour}"`);
});

test('the JSON of a sub-agent whose numbers would be changed is handed on as it is written', async () => {
  const leaf = await makeAgent(stack, []);
  const slug = `helper-${crypto.randomUUID().slice(0, 8)}`;
  const agent = await makeAgent(stack, [
    { slug, kind: 'delegate', description: 'Asks the helper.', config: { agent: { id: leaf.id }, output: 'json' } },
  ]);
  const task = (text: string) => asked(slug, JSON.stringify({ task: scripted({ steps: [{ text }] }, slug) }));
  const script = { steps: [task(`{"id":${neighbour}}`), task('{"id":7}'), { text: 'Done.' }] };

  models.script(slug, script);
  const run = await startRun(stack, agent.id, `[script:${slug}]`);
  await endOf(watchRun(stack, run.id));

  const { body }: { body: { items: { role: string; content: { value?: { output: unknown } }[] }[] } } = await stack.request(
    'GET',
    `/runs/${run.id}/messages`,
  );
  const results = body.items.filter(({ role }) => role === 'tool').map(({ content }) => content[0]?.value?.output);
  expect(results).toEqual([`{"id":${neighbour}}`, { id: 7 }]);
});
