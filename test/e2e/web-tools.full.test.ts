import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sweep } from '../../db/transaction.ts';
import { rows } from '../../db/sql.ts';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { makeAgent, scripted, startRun } from '../support/scenario.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';
import { oneOfEach } from '../chaos/whole.ts';

let models: ModelServer;
let web: Server;
let port: number;
let stack: Stack;
const asked: string[] = [];
/** Runs before the first answer to a path. */
let onFirst: (() => Promise<void>) | null = null;

beforeAll(async () => {
  models = await startModelServer();
  web = createServer((request, response) => {
    void answer(request.url ?? '').then(([type, body]) => response.writeHead(200, { 'content-type': type }).end(body));
  });
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
  ({ port } = web.address() as AddressInfo);
  stack = await startStack({ processes: ['api', 'worker-runs'], modelBaseUrl: models.baseUrl, egressPorts: [port] });
});

afterAll(async () => {
  await stack?.stop();
  web?.closeAllConnections();
  web?.close();
  await models?.close();
});

async function answer(path: string): Promise<[type: string, body: string]> {
  asked.push(path);
  if (asked.filter((other) => other === path).length === 1) await onFirst?.();
  if (path.startsWith('/search'))
    return ['application/json', JSON.stringify({ results: [{ title: 'Sea', url: 'https://sea.example.com/', content: 'Water.' }] })];
  return ['text/html', '<html><head><title>Harbour</title></head><body><article><p>The tide is at nine.</p></article></body></html>'];
}

const tools = {
  web_search: () => ({
    tool: { kind: 'web_search', config: { provider: 'searxng', base_url: `http://127.0.0.1:${port}` } },
    args: { query: 'sea' },
    path: '/search?q=sea&format=json',
    output: 'https://sea.example.com/',
  }),
  web_fetch: () => ({
    tool: { kind: 'web_fetch', config: { robots: false } },
    args: { url: `http://127.0.0.1:${port}/harbour` },
    path: '/harbour',
    output: 'The tide is at nine.',
  }),
};

test.each(oneOfEach(['web_fetch', 'web_search'] as const, () => 'read'))(
  'the model calls %s in a run; a worker killed in the middle: it reads once more and the outcome is the same',
  async (kind) => {
    const { tool, args, path, output } = tools[kind]();
    const slug = `${kind}-${crypto.randomUUID().slice(0, 8)}`;
    const agent = await makeAgent(stack, [{ slug, description: 'Reads the web', ...tool }]);
    let isKilled = false;
    onFirst = async () => {
      await stack.kill('worker-runs');
      isKilled = true;
    };

    const run = await startRun(
      stack,
      agent.id,
      scripted({ steps: [{ tool_calls: [{ name: slug, arguments: args }] }, { text: 'I see.' }] }),
    );
    await until(() => isKilled);
    onFirst = null;
    await stack.start('worker-runs');
    await until(async () => (await stack.request('GET', `/runs/${run.id}`)).body['status'] === 'succeeded');

    const [call] = await sweep(stack.db, (em) =>
      rows<{ state: string; attempt: number; output: unknown }>(em, 'select state, attempt, output from tool_calls where run_id = ?', [
        run.id,
      ]),
    );
    expect(call).toMatchObject({ state: 'succeeded', attempt: 2 });
    expect(JSON.stringify(call?.output)).toContain(output);
    expect(asked.filter((other) => other === path)).toHaveLength(2);
  },
);
