import { afterEach, expect, test } from '@jest/globals';
import { createEgress } from '../../ports/egress/egress.ts';
import { createMcpSessions, type McpSessions, type McpUse } from '../../ports/mcp/sessions.ts';
import { startMcpServer, type FakeEra, type FakeMcpServer } from '../fakes/mcp-server.ts';
import { until } from '../support/temporal.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await one.close();
});

interface World {
  readonly server: FakeMcpServer;
  readonly sessions: McpSessions;
  readonly echo: (text: string, more?: Partial<McpUse>) => Promise<unknown>;
}

async function world(era: FakeEra, idleMs?: number): Promise<World> {
  const server = await startMcpServer(era);
  const egress = createEgress();
  const sessions = createMcpSessions({ egress, ...(idleMs === undefined ? {} : { idleMs }) });
  open.push(server, egress, sessions);
  const policy = { allowHttp: false, exceptions: [{ host: '127.0.0.1', port: server.port, allow_http: true }] };
  const asked = () => ({ key: 'k', target: { url: server.url, transport: 'auto' as const, policy }, headers: {}, ...patience() });
  const patience = () => ({ timeoutMs: 5_000, signal: AbortSignal.timeout(10_000) });
  const echo: World['echo'] = (text, more = {}) =>
    sessions.use({ ...asked(), ...more }, async (session) => {
      const { content } = await session.callTool({ name: 'echo', args: { text }, inputSchema: { type: 'object' } }, patience());
      return content[0];
    });
  return { server, sessions, echo };
}

const initializes = (server: FakeMcpServer) => server.methods.filter((method) => method === 'initialize').length;
const echoes = (count: number) => Array.from({ length: count }, (_, at) => String(at));

test('calls side by side share one session', async () => {
  const { server, sessions, echo } = await world('streamable');

  const answers = await Promise.all(echoes(20).map((text) => echo(text)));

  expect(answers).toEqual(echoes(20).map((text) => ({ type: 'text', text: `echo ${text}` })));
  expect(initializes(server)).toBe(1);
  expect(sessions.size()).toBe(1);
});

test.each(['streamable', 'sse'] as const)('a restarted %s server costs one initialize and no call', async (era) => {
  const { server, echo } = await world(era);
  await echo('before');
  server.restart();
  const before = initializes(server);

  const answers = await Promise.all(echoes(10).map((text) => echo(text)));

  expect(answers).toHaveLength(10);
  expect(initializes(server) - before).toBe(1);
  expect(server.calls).toHaveLength(11);
});

test('a session that nobody uses is ended, on the server too', async () => {
  const { server, sessions, echo } = await world('streamable', 100);
  await echo('once');
  expect(server.openSessions()).toBe(1);

  await until(async () => server.openSessions() === 0);
  expect(sessions.size()).toBe(0);
});

test('a failed connection is not kept, and another key has a session of its own', async () => {
  const { server, sessions, echo } = await world('streamable');
  server.accepts = (token) => token === 'good';

  await expect(echo('no')).rejects.toMatchObject({ kind: 'unauthorized' });
  await echo('yes', { headers: { authorization: 'Bearer good' } });
  await echo('yes', { headers: { authorization: 'Bearer good' }, key: 'other' });

  expect(sessions.size()).toBe(2);
  expect(server.openSessions()).toBe(2);
});
