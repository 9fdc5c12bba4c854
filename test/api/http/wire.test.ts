import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { Client } from 'undici';
import { areas } from '../../../api/operations.ts';
import { createLog } from '../../../api/dependencies.ts';
import { startApi, type TestApi } from '../../support/api.ts';
import { newProbeState, probeArea } from '../../support/probes.ts';
import { until } from '../../support/temporal.ts';
import { bearer, makeTenant, type TestTenant } from '../../support/tenant.ts';

const run = promisify(execFile);
const lines: string[] = [];
const log = createLog('trace', { write: (line) => void lines.push(line) });
const answered: number[] = [];
let bodiesBegun = 0;
const state = newProbeState();
let api: TestApi;
let tenant: TestTenant;
beforeAll(async () => {
  api = await startApi({
    log,
    areas: [...areas, probeArea(state)],
    env: { OAUTH_DYNAMIC_REGISTRATION: 'true' },
    extend: (app) => {
      app.addHook('preParsing', (_request, _reply, _payload, done) => {
        bodiesBegun += 1;
        done();
      });
      // Whoever has left reads no answer, so it is looked at here.
      app.addHook('onSend', (_request, reply, payload, done) => {
        answered.push(reply.statusCode);
        done(null, payload);
      });
    },
  });
  tenant = await makeTenant(api.db, api.keys);
});
afterAll(() => api.close());
beforeEach(() => {
  lines.length = 0;
  answered.length = 0;
  bodiesBegun = 0;
  state.calls = 0;
  state.onWait = async () => undefined;
});

const opened: Socket[] = [];
afterEach(() => {
  for (const socket of opened.splice(0)) socket.destroy();
});

const authorization = () => `Authorization: Bearer ${tenant.tokens.member}\r\n`;
const withBody = (path: string, body: string, more = '') =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\n${authorization()}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n${more}\r\n${body}`;
const probe = (more = '') => withBody('/probes', '{"name":"a"}', more);
const catalogue = (more = '') => `GET /error-codes HTTP/1.1\r\nHost: x\r\n${more}\r\n`;
/** Answered when `state.onWait` ends. */
const waiting = () => `POST /probes/waits HTTP/1.1\r\nHost: x\r\n${authorization()}Content-Length: 0\r\n\r\n`;

const behind = {
  'a line': 'GARBAGE\r\n\r\n',
  'bytes': '\u0000\u0001\u0002',
  'a head without a colon': 'GET /version HTTP/1.1\r\nHost\r\n\r\n',
  'the rest of a longer body': '"more":1}',
  'a head that is too large': `GET /version HTTP/1.1\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`,
  'a method that does not exist': 'FOO /version HTTP/1.1\r\nHost: x\r\n\r\n',
};

test.each(Object.entries(behind))(
  'a valid request with %s behind it is carried out once and gets its own answer alone',
  async (_what, garbage) => {
    const complaint = complained();
    state.onWait = () => complaint;
    const answers = await exchange(waiting() + garbage);

    expect(answers.map(({ status }) => status)).toEqual([200]);
    expect(answers[0]?.head).toMatch(/\r\nconnection: close/i);
    expect(state.calls).toBe(1);
  },
);

test.each(['\r\n\r\n\r\n', 'GARBAGE\r\n\r\n', '{"name":"a"}'])('what follows a request that closes is nothing: %j', async (garbage) => {
  expect((await exchange(catalogue('Connection: close\r\n') + garbage)).map(({ status }) => status)).toEqual([200]);
});

test('all that came whole before the garbage is answered, in its order, and the last answer closes', async () => {
  const complaint = complained();
  state.onWait = () => complaint;
  const answers = await exchange(catalogue() + probe() + probe() + waiting() + 'GARBAGE\r\n\r\n');

  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(answers.map(({ head }) => /\r\nconnection: close/i.test(head))).toEqual([false, false, false, true]);
  expect(answers.map(({ body }) => body.slice(0, 8))).toEqual(['{"contra', '{"name":', '{"name":', '{"done":']);
});

test('garbage that comes while the answer is under way costs it nothing, and is no second request', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  state.onWait = () => promise;
  const complaint = complained();
  const socket = open();
  const received = readAll(socket);
  socket.write(waiting());
  await until(async () => state.calls === 1);
  for (let part = 0; part < 20; part += 1) await new Promise<unknown>((done) => socket.write('GARBAGE\r\n\r\n'.repeat(100), done));
  await complaint;
  resolve();

  expect(answersIn(await received).map(({ status }) => status)).toEqual([200]);
  expect(state.calls).toBe(1);
});

test.each(['zz\r\n', '5\r\nab\r\nGARBAGE', '-1\r\n\r\n'])(
  'a body that garbage breaks (%j) is refused in its turn, behind the answers before it',
  async (chunk) => {
    state.onWait = () => new Promise((resolve) => setTimeout(resolve, 200));
    const broken = `POST /probes HTTP/1.1\r\nHost: x\r\n${authorization()}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}`;
    const answers = await exchange(waiting() + probe() + broken);

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 400]);
    expect(JSON.parse(answers[2]?.body ?? '')).toMatchObject({ code: 'malformed_request' });
    expect(state.calls).toBe(2);
  },
);

test('CONNECT waits for its turn too', async () => {
  state.onWait = () => new Promise((resolve) => setTimeout(resolve, 200));

  expect((await exchange(`${waiting()}CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n`)).map(({ status }) => status)).toEqual([200, 400]);
});

test('garbage on a connection that owes nothing is refused', async () => {
  const socket = open();
  const received = readAll(socket);
  socket.write(catalogue());
  await until(async () => lines.some((line) => line.includes('request served')));
  socket.write('GARBAGE\r\n\r\n');

  expect(answersIn(await received).map(({ status }) => status)).toEqual([200, 400]);
});

test('undici, ten requests deep in one connection, gets ten answers in order', async () => {
  const client = new Client(api.url, { pipelining: 10 });
  const names = Array.from({ length: 30 }, (_, index) => `name ${index}`);
  const answers = await Promise.all(
    names.map(async (name) => {
      // Marked as repeatable, so that POSTs are pipelined too.
      const { body } = await client.request({
        method: 'POST',
        path: '/probes',
        idempotent: true,
        blocking: false,
        headers: { ...bearer(tenant.tokens.member), 'content-type': 'application/json' },
        body: JSON.stringify({ name }),
      });
      return ((await body.json()) as { name: string }).name;
    }),
  );
  await client.close();

  expect(answers).toEqual(names);
});

const python = `
import http.client, os, sys
host, path, token, how = sys.argv[1:]
link = http.client.HTTPConnection(host, timeout=60)
head = {'Authorization': 'Bearer ' + token, 'Content-Type': 'application/json'}
if how == 'leave':
    link.putrequest('POST', path)
    for name, value in {**head, 'Content-Length': '100'}.items(): link.putheader(name, value)
    link.endheaders(b'{"name":')
    link.close()
else:
    link.request('POST', path, '{"name":"a"}', head)
    link.sock.sendall(b'GARBAGE\\r\\n\\r\\n')
    answer = link.getresponse()
    print(answer.status, answer.read().decode())
`;
const runPython = (how: string) => run('python3', ['-c', python, new URL(api.url).host, '/probes', tenant.tokens.member, how]);

test("Python's http.client reads its answer before the garbage it has sent on", async () => {
  const { stdout } = await runPython('garbage');

  expect(stdout).toMatch(/^200 \{"name":"a"/);
});

interface Kind {
  readonly path: string;
  readonly type: string;
  readonly start: string;
  /** Of an answer that needs no body. */
  readonly status?: number;
}

const kinds: Readonly<Record<string, Kind>> = {
  'JSON': { path: '/probes', type: 'application/json', start: '{"name":' },
  'an empty start of JSON': { path: '/probes', type: 'application/json', start: '' },
  'JSON without a credential': { path: '/auth/login', type: 'application/json', start: '{"email":' },
  'JSON that is refused at once': { path: '/agents', type: 'application/json', start: '{"slug":', status: 401 },
  'a form': { path: '/oauth/token', type: 'application/x-www-form-urlencoded', start: 'grant_type=auth' },
  'a registration': { path: '/oauth/register', type: 'application/json', start: '{"redirect_uris":' },
  'a message of MCP': { path: '/mcp', type: 'application/json', start: '{"jsonrpc":' },
  'text': { path: '/probes', type: 'text/plain', start: 'name=', status: 415 },
  'lines of JSON': { path: '/probes', type: 'application/x-ndjson', start: '{"name":"a"}\n{', status: 415 },
  'a form with a file': {
    path: '/attachments',
    type: 'multipart/form-data; boundary=cut',
    start: '--cut\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nhel',
  },
  'a form before its file': { path: '/attachments', type: 'multipart/form-data; boundary=cut', start: '--cut\r\nContent-Disp' },
};
const ways: Readonly<Record<string, (socket: Socket) => void>> = {
  'says goodbye': (socket) => socket.end(),
  'resets the connection': (socket) => socket.resetAndDestroy(),
};
const departures = Object.keys(kinds).flatMap((kind) =>
  Object.keys(ways).flatMap((way) =>
    ['Content-Length: 1000', 'Transfer-Encoding: chunked'].map((framing) => [kind, way, framing] as const),
  ),
);

/** Resolves when the server has met bytes that are no request. */
async function complained(): Promise<void> {
  await once(api.app.server, 'clientError');
}

function begin(kind: Kind | undefined, framing: string): Socket {
  if (!kind) throw new Error('no such kind');
  const socket = open();
  socket.on('error', () => undefined).resume();
  const start = framing.startsWith('T') ? `${(kind.start.length + 50).toString(16)}\r\n${kind.start}` : kind.start;
  const credential = kind.status === 401 ? '' : authorization();
  socket.write(`POST ${kind.path} HTTP/1.1\r\nHost: x\r\n${credential}Content-Type: ${kind.type}\r\n${framing}\r\n\r\n${start}`);
  return socket;
}

test.each(Object.keys(kinds))(
  'a client that leaves behind its first bytes of %s, before they are asked for, gets an end too',
  async (name) => {
    begin(kinds[name], 'Content-Length: 1000').end();
    await until(async () => answered.length > 0);

    expect(faults()).toEqual([]);
    expect(answered).toEqual([kinds[name]?.status ?? 400]);
  },
);

test.each(departures)('a client that leaves in the middle of %s and %s (%s) is no fault of ours', async (name, way, framing) => {
  const socket = begin(kinds[name], framing);
  await until(async () => bodiesBegun + answered.length > 0);
  ways[way]?.(socket);
  await until(async () => answered.length > 0);

  expect(faults()).toEqual([]);
  expect(answered).toEqual([kinds[name]?.status ?? 400]);
});

test('undici that breaks off its body and Python that closes in the middle are no fault of ours either', async () => {
  const client = new Client(api.url);
  const broken = new Readable({ read: () => undefined });
  broken.push('{"name":');
  const asked = client.request({
    method: 'POST',
    path: '/probes',
    headers: { ...bearer(tenant.tokens.member), 'content-type': 'application/json' },
    body: broken,
  });
  setTimeout(() => broken.destroy(new Error('broken off')), 200);
  await expect(asked).rejects.toThrow('broken off');
  await client.destroy();
  await runPython('leave');
  await until(async () => answered.length === 2);

  expect(faults()).toEqual([]);
  expect(answered).toEqual([400, 400]);
});

test('a client that leaves in the middle of its answer is no fault of ours', async () => {
  const socket = open();
  socket.on('error', () => undefined);
  socket.write('GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(20));
  await new Promise((resolve) => socket.once('data', resolve));
  socket.resetAndDestroy();
  await until(async () => answered.length === 20);

  expect(faults()).toEqual([]);
});

/** Lines about something that somebody should look at. */
function faults(): string[] {
  return lines.filter((line) => Number((JSON.parse(line) as { level: number }).level) >= 40);
}

function open(): Socket {
  const { hostname, port } = new URL(api.url);
  const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
  opened.push(socket);
  return socket;
}

async function exchange(text: string): Promise<Answer[]> {
  const socket = open();
  socket.write(text, 'latin1');
  return answersIn(await readAll(socket));
}

async function readAll(socket: Socket): Promise<string> {
  let received = '';
  for await (const part of socket) received += String(part);
  socket.destroy();
  return received;
}

interface Answer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** The answers on one connection, by their lengths; whatever else stands there fails. */
function answersIn(received: string): Answer[] {
  if (received === '') return [];
  const end = received.indexOf('\r\n\r\n');
  const head = received.slice(0, end);
  const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(head) ?? [];
  const [, length] = /\r\ncontent-length: (\d+)/i.exec(head) ?? [];
  if (end < 0 || status === undefined || length === undefined) throw new Error(`no answer: ${received.slice(0, 200)}`);
  const bodyEnd = end + 4 + Number(length);
  return [{ status: Number(status), head, body: received.slice(end + 4, bodyEnd) }, ...answersIn(received.slice(bodyEnd))];
}
