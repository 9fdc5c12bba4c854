import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { publishedServers, servedText, type PublishedServer } from '../support/published-servers.ts';
import { makeAgent, scripted, startRun } from '../support/scenario.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { readStream } from '../support/stream-client.ts';
import { until } from '../support/temporal.ts';

type Name = keyof typeof publishedServers;
type Tool = { id: string; slug: string; input_schema: { $schema?: string } };

let models: ModelServer;
let stack: Stack;
const servers = new Map<string, PublishedServer>();

beforeAll(async () => {
  models = await startModelServer();
  await Promise.all(Object.entries(publishedServers).map(async ([name, start]) => servers.set(name, await start())));
  stack = await startStack({
    processes: ['api', 'worker-runs'],
    modelBaseUrl: models.baseUrl,
    egressPorts: [...servers.values()].map(({ port }) => port),
  });
});
afterAll(async () => {
  await stack?.stop();
  await Promise.all([...servers.values()].map((server) => server.close()));
  await models?.close();
});

// Each test says what it expects of the bodies.
const ask = async (method: string, path: string, body?: unknown): Promise<{ status: number; body: any }> =>
  stack.request(method, path, body === undefined ? {} : { body });

/** Syncs a toolkit of the server and puts all that was found in force; gives them. */
async function inForce(name: Name): Promise<readonly Tool[]> {
  const server = servers.get(name);
  const config = { url: server?.url, transport: server?.transport, auth: { type: 'none' } };
  const slug = `kit-${crypto.randomUUID().slice(0, 8)}`;
  const toolkit = (await ask('POST', '/toolkits', { slug, name, kind: 'mcp', config })).body;
  const begun = (await ask('POST', `/mcp/toolkits/${toolkit.id}/sync`, {})).body;
  const read = async () => (await ask('GET', `/toolkits/${toolkit.id}/revisions`)).body.items[0];
  await until(async () => (await read()).state !== 'syncing');
  const revision = await read();
  expect({ state: revision.state, error: revision.error }).toEqual({ state: 'inactive', error: null });
  expect(await ask('POST', `/toolkits/${toolkit.id}/revisions/${begun.id}/activate`, { approve: 'all' })).toMatchObject({ status: 200 });
  const tools: Tool[] = (await ask('GET', `/tools?toolkit_id=${toolkit.id}&limit=100`)).body.items;
  expect(tools).toHaveLength(revision.diff.length);
  return tools;
}

/** Lets a model call tools one after the other; gives what each brought. */
async function outputs(tools: readonly Tool[], calls: readonly (readonly [string, object])[]): Promise<string[]> {
  const bound = calls.map(([name]) => tools.find(({ slug }) => slug.endsWith(`__${name}`)) ?? { id: '', slug: `no ${name}` });
  const agent = await makeAgent(stack, [], { tools: [...new Map(bound.map((tool) => [tool.id, { id: tool.id }])).values()] });
  const steps = calls.map(([, args], at) => ({ tool_calls: [{ name: bound[at]?.slug ?? '', arguments: args }] }));
  const run = await startRun(stack, agent.id, scripted({ steps: [...steps, { text: 'Done.' }] }));
  const frames = await readStream([stack.url()], `/runs/${run.id}/stream`, stack.tenant.serviceKey.plaintext).finished;
  return frames.filter(({ type }) => type === 'tool.result').map(({ data }) => JSON.stringify(data['output'] ?? data['error']));
}

const entities = [{ name: 'Ada', entityType: 'person', observations: ['writes programs'] }];

/** Calls whose arguments use what their schemas say, by server. */
const cases: readonly [Name, number, readonly (readonly [string, object, RegExp])[]][] = [
  [
    'everythingOverHttp',
    10,
    [
      ['echo', { message: 'hello' }, /Echo: hello/],
      ['get-sum', { a: 2, b: 3 }, /5/],
    ],
  ],
  [
    'everythingOverSse',
    10,
    [
      ['echo', { message: 'hello' }, /Echo: hello/],
      ['get-structured-content', { location: 'New York' }, /temperature/],
    ],
  ],
  [
    'memoryOverBridge',
    9,
    [
      ['create_entities', { entities }, /Ada/],
      ['search_nodes', { query: 'programs' }, /Ada/],
    ],
  ],
  ['filesystemOverBridge', 10, [['list_allowed_directories', {}, /longhaul-published-/]]],
];

test.each(cases)('%s: every tool is kept, and calls do what they say', async (name, least, calls) => {
  const tools = await inForce(name);

  expect(tools.length).toBeGreaterThanOrEqual(least);
  expect(tools.map((tool) => tool.input_schema.$schema)).toContain('http://json-schema.org/draft-07/schema#');
  const brought = await outputs(
    tools,
    calls.map(([tool, args]) => [tool, args] as const),
  );
  for (const [at, [, , expected]] of calls.entries()) expect(brought[at]).toMatch(expected);
});

test('arguments are held to a schema of draft-07 before anything is called', async () => {
  const tools = await inForce('memoryOverBridge');

  const [refused] = await outputs(tools, [['create_entities', { entities: [{ name: 7 }] }]]);

  expect(refused).toContain('invalid_arguments');
});

test('a file is read from a folder that the server tells of', async () => {
  const tools = await inForce('filesystemOverBridge');
  const [folders = ''] = await outputs(tools, [['list_allowed_directories', {}]]);
  const folder = /\/[^\s"\\]*longhaul-published-\w+/.exec(folders)?.[0];

  const [text] = await outputs(tools, [['read_text_file', { path: `${folder}/hello.txt` }]]);

  expect(text).toContain(servedText);
});

test('a look at a server tells the same tools, without a word against one', async () => {
  const url = servers.get('everythingOverHttp')?.url;

  const { body } = await ask('POST', '/mcp/discover', { url });

  expect(body).toMatchObject({ reachable: true, transport: 'http', warnings: [] });
  expect(body.tools.map(({ name }: { name: string }) => name)).toContain('echo');
});
