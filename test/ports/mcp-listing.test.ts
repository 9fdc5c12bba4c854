import { afterAll, afterEach, expect, test } from '@jest/globals';
import { createEgress } from '../../ports/egress/egress.ts';
import { createSchemas } from '../../ports/json/schema.ts';
import { readFoundTools, noticeOf, type FoundTools } from '../../ports/mcp/found-tools.ts';
import { connectMcp } from '../../ports/mcp/mcp.ts';
import { echoTool, startMcpServer, type FakeEra, type FakeTool } from '../fakes/mcp-server.ts';
import { testWorkPool } from '../support/work-pool.ts';

const pool = testWorkPool();
const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await one.close();
});
afterAll(() => pool.close());

/** What is kept of a server that offers these tools, whatever they are, and an honest one after them. */
async function kept(era: FakeEra, offered: readonly unknown[]): Promise<FoundTools> {
  const server = await startMcpServer(era);
  const egress = createEgress();
  open.push(server, egress);
  server.tools = [...offered, echoTool] as FakeTool[]; // whatever they are
  const policy = { allowHttp: false, exceptions: [{ host: '127.0.0.1', port: server.port, allow_http: true }] };
  const patience = { timeoutMs: 30_000, signal: AbortSignal.timeout(60_000) };
  const session = await connectMcp(egress, { url: server.url, transport: 'auto', policy }, { ...patience, headers: {} });
  open.push(session);
  return readFoundTools(await session.listTools(patience), createSchemas(pool).of('a'));
}

const withSchema = (inputSchema: unknown) => ({ name: 'bad', inputSchema });
const circle = { type: 'object', properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: { $ref: '#/$defs/a' } } };
let deep: unknown = { type: 'string' };
for (let level = 0; level < 1_500; level++) deep = { type: 'object', properties: { a: deep } };

const flaws: readonly [string, unknown, RegExp][] = [
  ['no root type', withSchema({ properties: { a: { type: 'string' } } }), /inputSchema\/type/],
  ['another root type', withSchema({ type: 'array', items: {} }), /inputSchema\/type/],
  ['no schema', { name: 'bad' }, /inputSchema/],
  ['no object at all', 'bad', /is not an object/],
  ['a description that is no text', { ...withSchema({ type: 'object' }), description: 7 }, /description/],
  ['an unsound schema', withSchema({ type: 'object', properties: { a: { type: 'thing' } } }), /cannot be used/],
  ['a schema that refers to itself without end', withSchema(circle), /refers to itself/],
  ['a schema that refers elsewhere', withSchema({ type: 'object', properties: { a: { $ref: 'https://a.example' } } }), /references/],
  ['a schema of more than 64 KiB', withSchema({ type: 'object', description: 'x'.repeat(70_000) }), /64 KiB/],
  ['a schema that is nested without end', withSchema(deep), /levels deep/],
];

test.each(flaws)('a tool with %s costs only itself, and why is told', async (_flaw, tool, reason) => {
  const { tools, leftOut } = await kept('streamable', [tool]);

  expect(tools.map(({ name }) => name)).toEqual(['echo']);
  expect(leftOut).toEqual([{ name: tool === 'bad' ? '' : 'bad', reason: expect.stringMatching(reason) }]);
});

test.each(['sse', 'modern'] as const)('a %s server with every flaw at once keeps its honest tool', async (era) => {
  const { tools, leftOut } = await kept(
    era,
    flaws.map(([, tool]) => tool),
  );

  expect(tools.map(({ name }) => name)).toEqual(['echo']);
  expect(leftOut).toHaveLength(flaws.length);
});

test('fields that are not read here may be of any form', async () => {
  const { tools } = await kept('streamable', [{ ...echoTool, name: 'odd', title: null, icons: 'none', execution: 7, _meta: [] }]);

  expect(tools.map(({ name }) => name)).toEqual(['odd', 'echo']);
});

const results: readonly [string, object][] = [
  ['no object', { type: 'array', items: { type: 'string' } }],
  ['no type', { anyOf: [{ type: 'object' }, { type: 'null' }] }],
  ['no properties', { type: 'object', properties: null }],
];

test.each(results)('a tool whose results are declared with %s is kept as it is, by every protocol', async (_flaw, outputSchema) => {
  for (const era of ['sse', 'streamable', 'modern'] as const) {
    const { tools, leftOut } = await kept(era, [{ ...echoTool, name: 'list', outputSchema }]);

    expect({ tools, leftOut }).toMatchObject({ tools: [{ name: 'list', output_schema: outputSchema }, { name: 'echo' }], leftOut: [] });
  }
});

test('a tool whose headers the protocol forbids is left out with that reason', async () => {
  const schema = { type: 'object', properties: { a: { 'type': 'object', 'x-mcp-header': 'A' } } };

  expect((await kept('modern', [withSchema(schema)])).leftOut).toEqual([{ name: 'bad', reason: expect.stringContaining('x-mcp-header') }]);
});

test('patterns that can not be read and an unknown draft are told of tools that are kept', async () => {
  const schema = {
    $schema: 'https://example.com/mine',
    type: 'object',
    properties: { a: { type: 'string', pattern: '^.{1,2048}$' }, b: { type: 'string', pattern: '(?=x)' } },
  };
  const found = await kept('streamable', [{ name: 'search', inputSchema: schema }]);

  expect(found.tools[0]).toMatchObject({ name: 'search', input_schema: schema });
  expect(found.ignored.map(({ name, reason }) => [name, /(\/\S+)/.exec(reason)?.[1]])).toEqual([
    ['search', '/$schema'],
    ['search', '/properties/a/pattern'],
    ['search', '/properties/b/pattern'],
  ]);
  expect(noticeOf(found, 500)).toMatch(/^Ignored: search .*\$schema/);
});
