import { spawn } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { EventSource } from 'eventsource';
import WebSocket from 'ws';
import { frameTypes } from '../../workflows/contracts/runs/frames.ts';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { openProxy, type TcpProxy } from '../streams/tcp-proxy.ts';
import { checkRun, endOf, watchRun, within } from '../support/run-checks.ts';
import { archivedFrames, makeAgent, scripted, startRun, type CreatedAgent } from '../support/scenario.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';

let models: ModelServer;
let stack: Stack;
let proxy: TcpProxy;
let agent: CreatedAgent;

beforeAll(async () => {
  models = await startModelServer();
  stack = await startStack({ processes: ['api', 'worker-runs'], modelBaseUrl: models.baseUrl });
  proxy = await openProxy(Number(new URL(stack.url()).port));
  agent = await makeAgent(stack, []);
});

afterAll(async () => {
  await proxy?.close();
  await stack?.stop();
  await models?.close();
});

const words = (tokens: number, delayMs: number) => scripted({ steps: [{ tokens, delay_ms: delayMs }] }, `Words ${crypto.randomUUID()}.`);

interface Browser {
  readonly source: EventSource;
  readonly texts: string[];
  /** The Last-Event-ID of each connection, and its status. */
  readonly connections: { readonly lastEventId: string | null; status: number }[];
}

/** An EventSource as a page has it, but for the credential, which a page gets in with `fetch` too. */
function browse(url: string): Browser {
  const texts: string[] = [];
  const connections: Browser['connections'] = [];
  const source = new EventSource(url, {
    fetch: async (input, init) => {
      const headers = new Headers(init?.headers);
      const connection = { lastEventId: headers.get('last-event-id'), status: 0 };
      connections.push(connection);
      headers.set('authorization', `Bearer ${stack.tenant.serviceKey.plaintext}`);
      const answer = await fetch(input, { ...init, headers });
      connection.status = answer.status;
      return answer;
    },
  });
  for (const type of frameTypes)
    source.addEventListener(type === 'error' ? 'run.error' : type, (event) => void texts.push(String(event.data)));
  return { source, texts, connections };
}

test("a browser's EventSource comes back by itself after a cut line, misses nothing, and stops after the end", async () => {
  const run = await startRun(stack, agent.id, words(50, 40));
  const browser = browse(`http://127.0.0.1:${proxy.port}/runs/${run.id}/stream`);
  await until(() => browser.texts.length >= 8);

  proxy.cut();
  const before = browser.texts.length;
  proxy.restore();
  await until(() => browser.source.readyState === EventSource.CLOSED);

  expect(browser.texts).toEqual(await archivedFrames(stack, run.id));
  const [first, second, last] = browser.connections;
  expect(browser.connections).toHaveLength(3);
  expect(first).toEqual({ lastEventId: null, status: 200 });
  expect(Number(second?.lastEventId)).toBeGreaterThanOrEqual(before);
  expect(last).toEqual({ lastEventId: String(browser.texts.length), status: 204 });
});

/** `curl -N`, killed when enough has come; gives what it printed. */
async function curl(path: string, headers: readonly string[], isEnough: (printed: string) => boolean): Promise<string> {
  const args = [
    '-N',
    '-sS',
    ...['authorization: Bearer ' + stack.tenant.serviceKey.plaintext, ...headers].flatMap((header) => ['-H', header]),
  ];
  const child = spawn('curl', [...args, stack.url() + path], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => resolve());
  });
  let printed = '';
  child.stdout.on('data', (chunk: Buffer) => {
    printed += chunk.toString();
    if (isEnough(printed)) child.kill();
  });
  await within(30_000, () => 'curl', ended);
  return printed;
}

test('curl -N shows the frames as they come; a second one goes on behind the last id of the first', async () => {
  const run = await startRun(stack, agent.id, words(40, 40));
  const path = `/runs/${run.id}/stream`;

  const first = await curl(path, [], (printed) => printed.split('\n\n').length > 8);
  const whole = first.slice(0, first.lastIndexOf('\n\n'));
  const lastId = [...whole.matchAll(/^id: (\d+)$/gm)].at(-1)?.[1] ?? '';
  const second = await curl(path, [`last-event-id: ${lastId}`], () => false);

  const framesOf = (printed: string) => [...printed.matchAll(/^data: (.*)$/gm)].map(([, text]) => text);
  const archive = await archivedFrames(stack, run.id);
  expect(framesOf(whole)).toEqual(archive.slice(0, Number(lastId)));
  expect(framesOf(second)).toEqual(archive.slice(Number(lastId)));
  expect(second).toContain(`event: run.finished\n`);
});

test('a WebSocket opened with a stream token sees the same bytes as an event stream, and a second one goes on behind a number', async () => {
  const run = await startRun(stack, agent.id, words(40, 40));
  const reader = watchRun(stack, run.id);
  const first = await openSocket(run.id, 0);
  await until(() => first.texts.length >= 6);
  first.socket.close();
  const seen = first.texts.length;
  const second = await openSocket(run.id, seen);
  const frames = await endOf(reader);

  expect(await within(10_000, () => 'close', second.closed)).toBe(1000);
  expect([...first.texts.slice(0, seen), ...second.texts]).toEqual(frames.map((frame) => frame.text));
  expect((await checkRun(stack, run.id, { seen: [frames] })).faults).toEqual([]);
});

async function openSocket(runId: string, afterSeq: number) {
  const { body, status } = await stack.request('POST', `/runs/${runId}/stream-token`);
  if (status !== 201 && status !== 200) throw new Error(`no stream token: ${status}`);
  const socket = new WebSocket(`${stack.url().replace('http', 'ws')}/ws/runs/${runId}`);
  const texts: string[] = [];
  socket.on('open', () =>
    socket.send(JSON.stringify({ type: 'auth', token: (body as { token: string }).token, after_seq: afterSeq, replay: true })),
  );
  socket.on('message', (message: Buffer) => void texts.push(message.toString()));
  const closed = new Promise<number>((resolve) => socket.once('close', (code) => resolve(code)));
  return { socket, texts, closed };
}
