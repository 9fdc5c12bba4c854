import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { executeHttp } from '../../../activities/tools/http/http.ts';
import { createSecretMask } from '../../../activities/tools/http/secret-mask.ts';
import { exactOutcome, type GuardedExecution, type ToolOutcome } from '../../../activities/tools/calls/outcome.ts';
import { createEgress } from '../../../ports/egress/egress.ts';
import { connectMcp } from '../../../ports/mcp/mcp.ts';
import { createTemplates } from '../../../ports/templates/templates.ts';
import { createSandbox, hasStrictIsolation } from '../../../ports/sandbox/sandbox.ts';
import { executeCode } from '../../../activities/tools/builtin/code-exec.ts';
import { rounded } from '../../../workflows/contracts/tools/exact-json.ts';
import { startMcpServer, type FakeEra } from '../../fakes/mcp-server.ts';
import { testWorkPool } from '../../support/work-pool.ts';

const large = '1234567890123456789';
const pool = testWorkPool();
const egress = createEgress();
const sandbox = createSandbox();
let server: Server;
let port = 0;
let reply = '';
let status = 200;
let sent: { url: string; body: string } = { url: '', body: '' };

beforeAll(async () => {
  server = createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += String(part);
    sent = { url: request.url ?? '', body };
    response.writeHead(status, { 'content-type': 'application/json' }).end(reply);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ({ port } = server.address() as AddressInfo);
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  sandbox.close();
  await Promise.all([egress.close(), pool.close()]);
});

const policy = () => ({ allowHttp: false, exceptions: [{ host: '127.0.0.1', port, allow_http: true }] });

function execution(tool: Partial<GuardedExecution['tool']>, args: Record<string, unknown> = {}): GuardedExecution {
  const { mask, conceal } = createSecretMask(() => Promise.resolve(null));
  return {
    tool: { toolId: 't', kind: 'http', slug: 'tool', config: {}, ...tool },
    toolCallId: 'call-1',
    args,
    run: { id: 'run-1' },
    hops: 1,
    place: { organizationId: 'organization-1', workspaceId: 'workspace-1' },
    secret: () => Promise.resolve(null),
    transact: () => Promise.reject(new Error('no rows')),
    variables: { vars: {} },
    policy: policy(),
    timeoutMs: 30_000,
    signal: new AbortController().signal,
    readOutput: () => Promise.resolve(null),
    mask,
    conceal,
  };
}

/** Calls an HTTP tool whose server answers with this JSON. */
async function fetched(json: string, config: Record<string, unknown> = {}, args: Record<string, unknown> = {}): Promise<ToolOutcome> {
  reply = json;
  const parts = { egress, templates: createTemplates(pool), tokens: { take: () => Promise.reject(new Error('no tokens')) } };
  return executeHttp(
    parts as never, // the tool signs nothing
    execution({ config: { method: 'POST', url: `http://127.0.0.1:${port}/x`, ...config } }, args),
  );
}

test.each([
  ['an identifier', `{ "id": ${large}, "name": "é" }`, { type: 'text', text: `{"id":${large},"name":"é"}` }],
  ['an identifier that ends in 993', '[9007199254740993]', { type: 'text', text: '[9007199254740993]' }],
  ['a long fraction', '{"pi":3.14159265358979323846}', { type: 'text', text: '{"pi":3.14159265358979323846}' }],
  ['more than any double', '{"n":1e400}', { type: 'text', text: '{"n":1e400}' }],
  [
    'numbers that are kept',
    '{"a":0.1,"b":-0,"c":1e22,"d":9007199254740992}',
    { type: 'json', value: { a: 0.1, b: -0, c: 1e22, d: 2 ** 53 } },
  ],
  ['digits in a text', `{"id":"${large}"}`, { type: 'json', value: { id: large } }],
])('the reply of an HTTP tool keeps %s', async (_what, json, outcome) => {
  expect(await fetched(json)).toEqual({ status: 'succeeded', ...outcome });
});

test('what a pointer picks keeps its digits, or stays JSON where it has no such number', async () => {
  const json = `{"data":{"id":${large}},"page":{"n":1}}`;
  const at = (pointer: string) => fetched(json, { response: { pointer, success: [] } });

  expect(await at('/data')).toEqual({ status: 'succeeded', type: 'text', text: `{"id":${large}}` });
  expect(await at('/data/id')).toEqual({ status: 'succeeded', type: 'text', text: large });
  expect(await at('/page')).toEqual({ status: 'succeeded', type: 'json', value: { n: 1 } });
});

test('a refusal of the server is told with its digits', async () => {
  status = 409;
  const outcome = await fetched(`{"error":"taken","by":${large}}`);
  status = 200;

  expect(outcome).toMatchObject({ status: 'failed', error: { message: expect.stringContaining(`"by":${large}`) } });
});

test('arguments that are accepted reach path, query, header, JSON and form as they are', async () => {
  const args = { id: large, count: 2 ** 53, part: 0.1 };
  const config = { url: `http://127.0.0.1:${port}/things/{{ args.id }}`, query: { n: '{{ args.count }}' } };

  await fetched('{}', { ...config, body: { mode: 'json', template: null } }, args);
  const asJson = sent;
  await fetched('{}', { ...config, body: { mode: 'form', template: { id: '{{ args.id }}', n: '{{ args.count }}' } } }, args);

  expect(asJson).toEqual({ url: `/things/${large}?n=9007199254740992`, body: `{"id":"${large}","count":9007199254740992,"part":0.1}` });
  expect(sent.body).toBe(`id=${large}&n=9007199254740992`);
});

/** Puts a number as it stands into whatever the official server writes. */
function rawNumbers(fake: { before: unknown }) {
  const placeholder = /"number:(-?[\d.e+]+)"/g;
  fake.before = (_request: unknown, response: { write: unknown; end: unknown }) => {
    for (const name of ['write', 'end'] as const) {
      const original = (response[name] as (...given: unknown[]) => unknown).bind(response);
      response[name] = (first: unknown, ...rest: unknown[]) => {
        const isBytes = typeof first === 'string' || first instanceof Uint8Array;
        return original(isBytes ? Buffer.from(Buffer.from(first).toString().replaceAll(placeholder, '$1')) : first, ...rest);
      };
    }
    return false;
  };
}

test.each(['streamable', 'sse', 'modern'] as const)(
  'the result of an MCP tool keeps its numbers, its list stays readable (%s)',
  async (era: FakeEra) => {
    const fake = await startMcpServer(era);
    rawNumbers(fake);
    const [tool] = fake.tools;
    if (tool)
      tool.inputSchema = {
        type: 'object',
        properties: { n: { type: 'integer', maximum: 'number:18446744073709551615' }, kind: { enum: [`number:${large}`] } },
      };
    fake.answer = () => ({ content: [{ type: 'text', text: large }], structuredContent: { id: `number:${large}`, n: 1.5, é: 'number' } });
    const target = {
      url: fake.url,
      transport: 'auto',
      policy: { allowHttp: false, exceptions: [{ host: '127.0.0.1', port: fake.port, allow_http: true }] },
    } as const;
    const patience = { timeoutMs: 30_000, signal: AbortSignal.timeout(40_000) };
    const session = await connectMcp(egress, target, { ...patience, headers: {} });

    const [listed] = await session.listTools(patience);
    const result = await session.callTool({ name: 'echo', args: {}, inputSchema: { type: 'object' } }, patience);
    await session.close();
    await fake.close();

    expect(exactOutcome(result.structuredContent)).toEqual({
      status: 'succeeded',
      type: 'text',
      text: `{"id":${large},"n":1.5,"é":"number"}`,
    });
    expect(rounded(result.structuredContent)).toEqual({ id: Number(large), n: 1.5, é: 'number' });
    expect(result.content).toEqual([{ type: 'text', text: large }]);
    expect(listed?.inputSchema).toMatchObject({ properties: { n: { maximum: 2 ** 64 }, kind: { enum: [large] } } });
  },
);

const strictly = (await hasStrictIsolation()) ? test : test.skip;
strictly('integers of Python keep their digits', async () => {
  const config = { language: 'python', isolation: 'strict', memory_mb: 64, cpu_ms: 5_000, source: 'input["n"] ** 60' };

  const outcome = await executeCode({ sandbox }, execution({ kind: 'code_exec', config }, { n: 3 }));

  expect(outcome).toEqual({ status: 'succeeded', type: 'text', text: `{"value":${3n ** 60n},"console":""}` });
});
