import { afterEach, expect, test } from '@jest/globals';
import { createEgress } from '../../ports/egress/egress.ts';
import { connectMcp, type McpSession } from '../../ports/mcp/mcp.ts';
import { startMcpServer, type FakeEra, type FakeMcpServer } from '../fakes/mcp-server.ts';
import { until } from '../support/temporal.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await one.close();
});

/** A connected session whose server never answers a call; `closed` counts the calls whose connection the client has closed. */
async function silentServer(
  era: FakeEra,
): Promise<{ server: FakeMcpServer; session: McpSession; arrived: () => number; closed: () => number }> {
  const server = await startMcpServer(era);
  const egress = createEgress();
  open.push(server, egress);
  const policy = { allowHttp: false, exceptions: [{ host: '127.0.0.1', port: server.port, allow_http: true }] };
  const target = { url: server.url, transport: 'auto' as const, policy };
  const session = await connectMcp(egress, target, { timeoutMs: 30_000, signal: AbortSignal.timeout(60_000), headers: {} });
  open.push(session);
  let arrived = 0;
  let closed = 0;
  server.answer = () => new Promise(() => undefined);
  server.before = (_request, response, body) => {
    if (!body.includes('"tools/call"')) return false;
    arrived += 1;
    response.once('close', () => (closed += response.writableFinished ? 0 : 1));
    // The older transport answers a call elsewhere: here not even its receipt comes.
    return era === 'sse';
  };
  return { server, session, arrived: () => arrived, closed: () => closed };
}

const call = { name: 'echo', args: { text: 'hi' }, inputSchema: { type: 'object' } };
const eras = ['streamable', 'sse', 'modern'] as const;

test.each(eras)('the connection of a call to a %s server is closed when the caller stops waiting', async (era) => {
  const { server, session, arrived, closed } = await silentServer(era);
  const stop = new AbortController();
  const waiting = session.callTool(call, { timeoutMs: 60_000, signal: stop.signal }).catch((error: unknown) => error);
  await until(async () => arrived() === 1);

  stop.abort(new Error('stopped'));

  expect(await waiting).toMatchObject({ message: 'stopped' });
  await until(async () => closed() === 1);
  if (era !== 'modern') await until(async () => server.methods.includes('notifications/cancelled'));
});

test.each(eras)('the connection of a call to a %s server is closed when its time is up', async (era) => {
  const { session, closed } = await silentServer(era);

  await expect(session.callTool(call, { timeoutMs: 500, signal: AbortSignal.timeout(60_000) })).rejects.toMatchObject({
    kind: 'timed_out',
  });

  await until(async () => closed() === 1);
});

test.each(eras)('a session with a %s server goes on after a call that was given up', async (era) => {
  const { server, session } = await silentServer(era);
  const initialized = () => server.methods.filter((method) => method === 'initialize').length;
  const before = initialized();
  await session.callTool(call, { timeoutMs: 200, signal: AbortSignal.timeout(60_000) }).catch(() => undefined);
  server.before = () => false;
  server.answer = () => ({ content: [{ type: 'text', text: 'again' }] });

  const result = await session.callTool(call, { timeoutMs: 30_000, signal: AbortSignal.timeout(60_000) });

  expect(result.content).toEqual([{ type: 'text', text: 'again' }]);
  expect(initialized()).toBe(before);
});
