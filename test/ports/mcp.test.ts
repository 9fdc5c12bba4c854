import { afterEach, expect, test } from '@jest/globals';
import { createEgress, type Egress } from '../../ports/egress/egress.ts';
import { connectMcp, type McpSession, type McpTarget } from '../../ports/mcp/mcp.ts';
import { hang, startMcpServer, type FakeEra, type FakeMcpServer } from '../fakes/mcp-server.ts';
import { until } from '../support/temporal.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await one.close();
});

async function world(era: FakeEra): Promise<{ server: FakeMcpServer; egress: Egress; target: McpTarget }> {
  const server = await startMcpServer(era);
  const egress = createEgress();
  open.push(server, egress);
  return { server, egress, target: { url: server.url, transport: 'auto', policy: policyFor(server.port) } };
}

const policyFor = (port: number) => ({ allowHttp: false, exceptions: [{ host: '127.0.0.1', port, allow_http: true }] });
const patience = (timeoutMs = 5_000) => ({ timeoutMs, signal: AbortSignal.timeout(timeoutMs + 5_000) });
const call = (args: Record<string, unknown> = { text: 'hi' }) => ({ name: 'echo', args, inputSchema: { type: 'object' } });

async function connect(world: { egress: Egress; target: McpTarget }, options: object = {}): Promise<McpSession> {
  const session = await connectMcp(world.egress, world.target, { ...patience(), headers: {}, ...options });
  open.push(session);
  return session;
}

test.each([
  ['streamable', 'http', '2025-11-25'],
  ['sse', 'sse', '2025-11-25'],
  ['modern', 'http', '2026-07-28'],
] as const)('a %s server is reached, lists and is called', async (era, transport, version) => {
  const there = await world(era);

  const session = await connect(there);
  const tools = await session.listTools(patience());
  const result = await session.callTool(call(), patience());

  expect(session).toMatchObject({ transport, protocolVersion: version, server: { name: 'fake' } });
  expect(tools.map(({ name }) => name)).toEqual(['echo']);
  expect(result.content).toEqual([{ type: 'text', text: 'echo hi' }]);
});

test.each(['streamable', 'sse', 'modern'] as const)('a %s server tells that its tools are others now', async (era) => {
  const there = await world(era);
  let told = 0;
  await connect(there, { onToolsChanged: () => (told += 1) });

  await until(async () => {
    await there.server.tellToolsChanged();
    return told > 0;
  });
});

test.each(['streamable', 'sse', 'modern'] as const)('a call that a %s server never answers ends with the caller', async (era) => {
  const there = await world(era);
  const session = await connect(there);
  there.server.answer = () => new Promise(() => undefined);

  await expect(session.callTool(call(), patience(300))).rejects.toMatchObject({ kind: 'timed_out' });
  const stopped = session.callTool(call(), { timeoutMs: 60_000, signal: AbortSignal.abort(new Error('stopped')) });
  await expect(stopped).rejects.toThrow('stopped');
});

test.each(['streamable', 'modern'] as const)('a %s server that is silent from the start is given up in time', async (era) => {
  const there = await world(era);
  there.server.before = (request) => hang(request);
  const since = Date.now();

  await expect(connect(there, patience(300))).rejects.toMatchObject({ kind: 'timed_out' });
  expect(Date.now() - since).toBeLessThan(45_000); // the client itself would wait for a minute
});

test('a stream that ends in the middle of a call ends the call, which may have happened', async () => {
  const there = await world('streamable');
  const session = await connect(there);
  there.server.before = (request, response) => {
    if (request.method !== 'POST') return false;
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(': nothing\n\n');
    return true;
  };

  await expect(session.callTool(call(), patience(30_000))).rejects.toMatchObject({ name: 'EgressUnreachable', mayHaveArrived: true });
});

test.each([
  ['one endless body', 'application/json', '{"x":"'],
  ['one endless event', 'text/event-stream', 'data: '],
  ['endless events', 'text/event-stream', ': ping\n\n'],
])('%s is cut off, and memory stays small', async (_title, type, start) => {
  const there = await world('streamable');
  const session = await connect(there);
  const before = process.memoryUsage().rss;
  let sent = 0;
  there.server.before = async (request, response) => {
    if (request.method !== 'POST') return false;
    response.setMaxListeners(0).writeHead(200, { 'content-type': type });
    const chunk = type === 'text/event-stream' && start !== 'data: ' ? start.repeat(8_192) : 'x'.repeat(65_536);
    response.write(start);
    while (!request.socket.destroyed && sent < 100 * 1024 * 1024) {
      sent += chunk.length;
      if (!response.write(chunk)) await new Promise((resolve) => response.once('drain', resolve).once('close', resolve));
    }
    return true;
  };

  await expect(session.callTool(call(), patience(30_000))).rejects.toMatchObject({ name: 'McpTooMuch' });
  expect(sent).toBeLessThan(60 * 1024 * 1024);
  expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024);
});

test.each(['streamable', 'sse'] as const)(
  'a %s session that the server has forgotten is told apart from every other failure',
  async (era) => {
    const there = await world(era);
    const session = await connect(there);
    there.server.restart();

    await expect(session.callTool(call(), patience())).rejects.toMatchObject({ kind: 'session_lost' });
  },
);

test.each(['streamable', 'sse', 'modern'] as const)('a 401 of a %s server brings its challenge', async (era) => {
  const there = await world(era);
  there.server.accepts = (token) => token === 'good';
  there.server.challenge = 'Bearer resource_metadata="https://as.example/x"';

  await expect(connect(there)).rejects.toMatchObject({ kind: 'unauthorized', challenge: there.server.challenge });
  const session = await connect(there, { headers: { authorization: 'Bearer good' } });
  session.setHeaders({ authorization: 'Bearer bad' });
  await expect(session.callTool(call(), patience())).rejects.toMatchObject({ kind: 'unauthorized' });
  session.setHeaders({ Authorization: 'Bearer good' });
  await expect(session.callTool(call(), patience())).resolves.toMatchObject({ content: [{ type: 'text' }] });
});

test('an address that the organization has not opened is refused before anything leaves', async () => {
  const there = await world('streamable');

  const asked = connect({ ...there, target: { ...there.target, policy: { allowHttp: false, exceptions: [] } } });

  await expect(asked).rejects.toMatchObject({ name: 'EgressRefused' });
  expect(there.server.headers).toEqual([]);
});

test('a redirect is not followed', async () => {
  const there = await world('streamable');
  there.server.before = (_request, response) => {
    response.writeHead(307, { location: 'http://169.254.169.254/latest' }).end();
    return true;
  };

  await expect(connect(there)).rejects.toMatchObject({ name: 'McpError' });
});

test('a server that asks for input in the middle of a call is refused, and so is an unknown protocol version', async () => {
  const there = await world('modern');
  const session = await connect(there);
  there.server.answer = () => ({ resultType: 'input_required', inputRequests: {}, requestState: 'x', content: [] }) as never;
  await expect(session.callTool(call(), patience())).rejects.toBeInstanceOf(Error);

  const older = await world('streamable');
  older.server.before = (request, response, body) => {
    if (!body.includes('"initialize"')) return false;
    const result = { protocolVersion: '1999-01-01', capabilities: {}, serverInfo: { name: 'old', version: '1' } };
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(body).id, result }));
    return true;
  };
  await expect(connect(older)).rejects.toMatchObject({ kind: 'protocol_unsupported' });
});

test.each([
  ['https://example.com/about', true],
  ['javascript:alert(1)', false],
  ['file:///etc/passwd', false],
])('the site %s that a server calls its own is told: %s', async (websiteUrl, isTold) => {
  const there = await world('streamable');
  there.server.before = (_request, response, body) => {
    const result = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'it', version: '1', websiteUrl } };
    if (!body.includes('"initialize"')) response.writeHead(body === '' ? 405 : body.includes('"id"') ? 404 : 202).end();
    else
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(body).id, result }));
    return true;
  };

  expect((await connect(there)).server).toEqual({ name: 'it', version: '1', ...(isTold ? { websiteUrl } : {}) });
});
