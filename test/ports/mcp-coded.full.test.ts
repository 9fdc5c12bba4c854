import { createServer, request as ask, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { constants, createBrotliCompress, createDeflate, createGzip, createZstdCompress } from 'node:zlib';
import { afterEach, expect, test } from '@jest/globals';
import { createEgress, EgressUndecodable } from '../../ports/egress/egress.ts';
import { McpTooMuch } from '../../ports/mcp/fetch.ts';
import { connectMcp, type McpSession } from '../../ports/mcp/mcp.ts';
import { startMcpServer, type FakeEra, type FakeMcpServer } from '../fakes/mcp-server.ts';

const packers = {
  gzip: () => createGzip({ flush: constants.Z_SYNC_FLUSH }),
  deflate: () => createDeflate({ flush: constants.Z_SYNC_FLUSH }),
  br: () => createBrotliCompress({ flush: constants.BROTLI_OPERATION_FLUSH }),
  zstd: () => createZstdCompress({ flush: constants.ZSTD_e_flush }),
} as const;
type Coding = keyof typeof packers;

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await one.close();
});

/** A proxy that compresses what an MCP server says, as those in front of real ones do; `isHonest` false: it only says so. */
async function behind(server: FakeMcpServer, coding: Coding, isHonest: () => boolean): Promise<{ port: number; accepted: Set<unknown> }> {
  const accepted = new Set<unknown>();
  const proxy: Server = createServer((request, response) => {
    accepted.add(request.headers['accept-encoding']);
    const onward = ask({ port: server.port, method: request.method, path: request.url, headers: request.headers }, (answer) => {
      const { 'content-length': _length, ...headers } = answer.headers;
      response.writeHead(answer.statusCode ?? 502, { ...headers, 'content-encoding': coding }).flushHeaders();
      if (isHonest()) answer.pipe(packers[coding]()).pipe(response);
      else answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    request.on('close', () => response.destroyed && onward.destroy()).pipe(onward);
    response.on('close', () => onward.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  open.push({
    close: () => {
      proxy.closeAllConnections();
      proxy.close();
    },
  });
  return { port: (proxy.address() as AddressInfo).port, accepted };
}

const patience = (timeoutMs = 20_000) => ({ timeoutMs, signal: AbortSignal.timeout(timeoutMs + 5_000) });
const call = { name: 'echo', args: { text: 'grüße' }, inputSchema: { type: 'object' } };

async function world(
  era: FakeEra,
  coding: Coding,
): Promise<{ server: FakeMcpServer; session: McpSession; accepted: Set<unknown>; lie(): void }> {
  const server = await startMcpServer(era);
  const egress = createEgress();
  open.push(server, egress);
  let isHonest = true;
  const { port, accepted } = await behind(server, coding, () => isHonest);
  const policy = { allowHttp: false, exceptions: [{ host: '127.0.0.1', port, allow_http: true }] };
  const session = await connectMcp(
    egress,
    { url: `http://127.0.0.1:${port}/mcp`, transport: 'auto', policy },
    { ...patience(), headers: {} },
  );
  open.push(session);
  return { server, session, accepted, lie: () => (isHonest = false) };
}

const all = (['streamable', 'sse', 'modern'] as const).flatMap((era) =>
  (Object.keys(packers) as Coding[]).map((coding): [FakeEra, Coding] => [era, coding]),
);

test.each(all)('a %s server behind a proxy that packs with %s is listed and called', async (era, coding) => {
  const { session, accepted } = await world(era, coding);

  expect((await session.listTools(patience())).map(({ name }) => name)).toEqual(['echo']);
  expect((await session.callTool(call, patience())).content).toEqual([{ type: 'text', text: 'echo grüße' }]);
  expect([...accepted]).toEqual(['gzip, deflate, br, zstd']);
});

test.each(['gzip', 'deflate', 'br', 'zstd'] as const)(
  'a bomb in %s is more than a client takes, and costs no more than that',
  async (coding) => {
    const { server, session } = await world('streamable', coding);
    server.answer = () => ({ content: [{ type: 'text', text: 'a'.repeat(60 * 1024 * 1024) }] });

    await expect(session.callTool(call, patience(60_000))).rejects.toBeInstanceOf(McpTooMuch);
  },
);

test('a proxy that says gzip and packs nothing is told as such', async () => {
  const { session, lie } = await world('streamable', 'gzip');
  lie();

  await expect(session.callTool(call, patience())).rejects.toBeInstanceOf(EgressUndecodable);
});
