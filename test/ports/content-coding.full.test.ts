import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { brotliCompressSync, createBrotliCompress, createDeflate, createGzip, createZstdCompress } from 'node:zlib';
import { constants, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createEgress, EgressUndecodable, type EgressPolicy } from '../../ports/egress/egress.ts';

const egress = createEgress();
const text = '{"greeting":"grüße","list":[1,2,3],"filler":"' + 'lorem ipsum '.repeat(2_000) + '"}';
const plain = Buffer.from(text);
const encode = {
  gzip: (bytes: Buffer) => gzipSync(bytes),
  deflate: (bytes: Buffer) => deflateSync(bytes),
  br: (bytes: Buffer) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  zstd: (bytes: Buffer) => zstdCompressSync(bytes),
} as const;
type Coding = keyof typeof encode;
const codings = Object.keys(encode) as Coding[];

/** A reply by path; what it does beside its body is its own affair. */
const replies = new Map<string, (response: ServerResponse) => void>();
let server: Server;
let origin = '';
let policy: EgressPolicy;
let asked: string[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push(String(request.headers['accept-encoding']));
    replies.get(request.url ?? '')?.(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  origin = `http://127.0.0.1:${port}`;
  policy = { allowHttp: false, exceptions: [{ host: '127.0.0.1', port, allow_http: true }] };
});

afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await egress.close();
});

/** Serves bytes under a label at an address of their own. */
function served(label: string, body: Buffer | ((response: ServerResponse) => void), status = 200): string {
  const path = `/${crypto.randomUUID()}`;
  replies.set(path, (response) => {
    response.writeHead(status, { 'content-type': 'application/json', 'content-encoding': label });
    if (typeof body === 'function') body(response);
    else response.end(body);
  });
  return origin + path;
}

const request = (url: string, more: { method?: string; maxBytes?: number; open?: EgressPolicy } = {}) => ({
  method: more.method ?? 'GET',
  url,
  headers: {},
  policy: more.open ?? policy,
  redirects: 0,
  maxBytes: more.maxBytes ?? 1_000_000,
  signal: AbortSignal.timeout(60_000),
});
const get = (url: string, more: Parameters<typeof request>[1] = {}) => egress.fetch(request(url, more));

test('what is understood is asked for', async () => {
  asked = [];
  await get(served('identity', plain));

  expect(asked).toEqual(['gzip, deflate, br, zstd']);
});

test.each([
  ...codings.map((coding): [string, Buffer] => [coding, encode[coding](plain)]),
  ['GZip', gzipSync(plain)],
  ['x-gzip', gzipSync(plain)],
  ['identity', plain],
  ['gzip, br', encode.br(gzipSync(plain))],
  ['gzip, identity, gzip', gzipSync(gzipSync(plain))],
  ['zstd, deflate, br, gzip', gzipSync(encode.br(deflateSync(zstdCompressSync(plain))))],
] as const)('a body in %s is decoded, and its headers tell of it as it is handed on', async (label, body) => {
  const answer = await get(served(label, body));

  expect(answer.body.toString()).toBe(text);
  expect(answer).toMatchObject({ isTruncated: false });
  expect(answer.headers['content-encoding'] ?? 'identity').toBe('identity');
});

test('deflate without its zlib header is read as browsers do, members of gzip one after the other', async () => {
  expect((await get(served('deflate', deflateRawSync(plain)))).body.toString()).toBe(text);
  expect((await get(served('gzip', Buffer.concat([gzipSync('one '), gzipSync('two')])))).body.toString()).toBe('one two');
});

test.each(codings)('an answer without a body is empty in %s', async (coding) => {
  expect((await get(served(coding, Buffer.alloc(0)))).body).toHaveLength(0);
  expect((await get(served(coding, Buffer.alloc(0)), { method: 'HEAD' })).body).toHaveLength(0);
});

test.each(codings)('a bomb in %s costs what is read of it', async (coding) => {
  const bomb = encode[coding](Buffer.alloc(200 * 1024 * 1024));
  const before = process.memoryUsage.rss();

  const answer = await get(served(coding, bomb), { maxBytes: 1_000_000 });

  expect(bomb.length).toBeLessThan(1_000_000);
  expect(answer).toMatchObject({ isTruncated: true });
  expect(answer.body).toHaveLength(1_000_000);
  expect(process.memoryUsage.rss() - before).toBeLessThan(100 * 1024 * 1024);
});

test('a bomb within a bomb ends at the same limit, and one that gives nothing ends, too', async () => {
  const nested = gzipSync(gzipSync(gzipSync(Buffer.alloc(200 * 1024 * 1024))));
  const empty = gzipSync(Buffer.alloc(0));
  const silent = gzipSync(Buffer.concat(Array.from({ length: 200_000 }, () => empty)));

  expect(await get(served('gzip, gzip, gzip', nested), { maxBytes: 1_000_000 })).toMatchObject({ isTruncated: true });
  expect(nested.length).toBeLessThan(10_000);
  await expect(get(served('gzip, gzip', silent))).rejects.toBeInstanceOf(EgressUndecodable);
});

test('an endless body that decodes to nothing ends by itself', async () => {
  const empty = gzipSync(Buffer.alloc(0));
  const block = Buffer.concat(Array.from({ length: 1_000 }, () => empty));
  let isOpen = true;
  const url = served('gzip', (response) => {
    response.once('close', () => (isOpen = false));
    const more = () => void (isOpen && (response.write(block) ? setImmediate(more) : response.once('drain', more)));
    more();
  });

  await expect(get(url)).rejects.toBeInstanceOf(EgressUndecodable);
});

test('a window of zstd beyond 8 MiB is refused', async () => {
  const params = { [constants.ZSTD_c_windowLog]: 27, [constants.ZSTD_c_enableLongDistanceMatching]: 1 };
  const wide = createZstdCompress({ params });
  const parts: Buffer[] = [];
  wide.on('data', (part: Buffer) => parts.push(part));
  for (let at = 0; at < 32; at++) wide.write(Buffer.alloc(1024 * 1024, at));
  wide.end();
  await once(wide, 'end');

  await expect(get(served('zstd', Buffer.concat(parts)), { maxBytes: 64_000_000 })).rejects.toBeInstanceOf(EgressUndecodable);
});

test.each(
  codings.flatMap(
    (coding) =>
      [
        [`${coding} that is cut`, coding, encode[coding](plain).subarray(0, -12)],
        [`${coding} that is damaged`, coding, damaged(encode[coding](plain))],
        [`plain text that says ${coding}`, coding, Buffer.from('this is not it')],
        [`${coding} under the label of another`, coding === 'gzip' ? 'br' : 'gzip', encode[coding](plain)],
      ] as const,
  ),
)('%s is an error, not a shorter text', async (_case, label, body) => {
  const failed = get(served(label, body));

  await expect(failed).rejects.toBeInstanceOf(EgressUndecodable);
  await expect(failed).rejects.toMatchObject({ mayHaveArrived: true, message: `the answer can not be decoded (${label})` });
});

test('frames of zstd beyond the first are not dropped in silence', async () => {
  await expect(get(served('zstd', Buffer.concat([zstdCompressSync('one'), zstdCompressSync('two')])))).rejects.toBeInstanceOf(
    EgressUndecodable,
  );
});

test.each(['compress', 'gzip, aws-chunked', 'gzip, gzip, gzip, gzip, gzip, gzip'])(
  'a body in %s is handed on as it came, and said to be coded',
  async (label) => {
    const answer = await get(served(label, plain));

    expect(answer).toMatchObject({ isCoded: true, headers: { 'content-encoding': label } });
    expect(answer.body.equals(plain)).toBe(true);
  },
);

test('an error of the server is decoded like anything else', async () => {
  expect((await get(served('br', encode.br(plain), 500))).body.toString()).toBe(text);
});

const flushing = {
  gzip: () => createGzip({ flush: constants.Z_SYNC_FLUSH }),
  deflate: () => createDeflate({ flush: constants.Z_SYNC_FLUSH }),
  br: () => createBrotliCompress({ flush: constants.BROTLI_OPERATION_FLUSH }),
  zstd: () => createZstdCompress({ flush: constants.ZSTD_e_flush }),
} as const satisfies Record<Coding, unknown>;

test.each(codings)('events in %s come as they are sent, and leaving ends the connection', async (coding) => {
  let close = (): void => undefined;
  const closed = new Promise<void>((resolve) => (close = resolve));
  const events = flushing[coding]();
  const url = served(coding, (response) => {
    response.once('close', close);
    events.pipe(response);
    events.write('data: one\n\n');
  });

  // Nothing but the reader ends it.
  const { body } = await egress.open({ ...request(url), signal: new AbortController().signal });
  const parts = body[Symbol.asyncIterator]();
  const first: unknown = (await parts.next()).value;
  events.write('data: two\n\n');
  const second: unknown = (await parts.next()).value;
  const third = parts.next().catch(() => undefined);
  body.destroy();
  await third;

  expect([String(first), String(second)]).toEqual(['data: one\n\n', 'data: two\n\n']);
  await closed;
});

function damaged(bytes: Buffer): Buffer {
  const middle = Buffer.from(bytes);
  for (let at = Math.floor(bytes.length / 2); at < bytes.length; at++) middle[at] = (middle[at] ?? 0) ^ 0xff;
  return middle;
}

// Another implementation of HTTP and of deflate: Python's own.
const python = `
import gzip, zlib, json, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
body = json.dumps({"from": "python", "name": "gr\\u00fc\\u00dfe"}, ensure_ascii=False).encode()
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        label = self.path[1:]
        accepted = [name.strip() for name in self.headers.get("accept-encoding", "").split(",")]
        coded = {"gzip": gzip.compress(body), "deflate": zlib.compress(body)}[label] if label in accepted else body
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        if label in accepted: self.send_header("Content-Encoding", label)
        self.send_header("Content-Length", str(len(coded)))
        self.end_headers()
        self.wfile.write(coded)
    def log_message(self, *args): pass
server = HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
`;

test.each(['gzip', 'deflate'])("the %s of Python's http.server is read", async (label) => {
  const child: ChildProcess = spawn('python3', ['-c', python], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const [line]: unknown[] = await once(child.stdout ?? child, 'data');
    const port = Number(String(line));
    const open = { allowHttp: false, exceptions: [{ host: '127.0.0.1', port, allow_http: true }] };

    const answer = await get(`http://127.0.0.1:${port}/${label}`, { open });

    expect(answer.headers).not.toHaveProperty('content-encoding');
    expect(JSON.parse(answer.body.toString())).toEqual({ from: 'python', name: 'grüße' });
  } finally {
    child.kill();
  }
});

test('what the gzip of this machine packs is read', async () => {
  const packed = await promisify(execFile)('sh', ['-c', 'printf "%s" "$0" | gzip -9 -c', text], { encoding: 'buffer' });

  expect((await get(served('gzip', packed.stdout))).body.toString()).toBe(text);
});
