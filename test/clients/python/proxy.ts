import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Transform } from 'node:stream';

/** What the proxy saw of one request. */
export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
}

export interface FaultProxy {
  /** Address of the API behind a fault, see `startFaultProxy`. */
  url(...fault: (string | number)[]): string;
  readonly origin: string;
  readonly seen: Seen[];
  close(): Promise<void>;
}

/**
 * A way to the API on which things go wrong, as the address says:
 * `lose/<name>`: the first reply to each method and path is lost after the API has given it;
 * `cut/<bytes>`: each reply breaks off within so many bytes, at another place every time;
 * `mute/<name>/<bytes>`: the first reply falls silent after so many bytes, and its connection stays;
 * `drop/<name>/<seq>/<times>`: so many streams lack this frame; `twice`: every frame comes twice;
 * `answer/<status>/<name>/<times>`: so many requests get a page of a proxy's own;
 * `move`: every request is sent on to another origin, which is `thief` of this proxy.
 */
export async function startFaultProxy(target: () => string): Promise<FaultProxy> {
  const seen: Seen[] = [];
  const counts = new Map<string, number>();
  const next = (key: string) => {
    counts.set(key, (counts.get(key) ?? 0) + 1);
    return counts.get(key) ?? 1;
  };

  const server = createServer((near, reply) => {
    near.on('error', () => undefined);
    reply.on('error', () => undefined);
    const { fault, path } = faultOf(near.url ?? '/');
    seen.push({ method: near.method ?? '', path, headers: near.headers });
    const [kind = '', first = '', second = '', third = ''] = fault;
    if (kind === 'move')
      return void reply.writeHead(307, { location: `${proxy.origin.replace('127.0.0.1', 'localhost')}/thief${path}` }).end();
    if (kind === 'thief') return void reply.writeHead(200, { 'content-type': 'application/json' }).end('{"items":[]}');
    if (kind === 'answer' && next(fault.join('/')) <= Number(third)) {
      return void reply.writeHead(Number(first), { 'content-type': 'text/html', 'retry-after': '0' }).end('<h1>a proxy</h1>');
    }
    const { host: _, ...headers } = near.headers;
    const far = request(target() + path, { method: near.method, headers });
    far.on('error', () => reply.destroy());
    reply.on('close', () => far.destroy());
    far.on('response', (answer) => {
      answer.on('error', () => reply.destroy());
      if (kind === 'lose' && next(`${first} ${near.method} ${path}`) === 1) return void answer.resume().on('end', () => reply.destroy());
      reply.writeHead(answer.statusCode ?? 502, answer.headers);
      reply.flushHeaders();
      if (kind === 'cut') return cutWithin(answer, reply, pseudoRandom(next('cut')) * Number(first));
      if (kind === 'mute' && next(`${first} mute`) === 1) return mute(answer, reply, Number(second));
      if (kind === 'drop' && next(`${first} drop`) <= Number(third))
        return void answer.pipe(byBlock((block) => (hasId(block, second) ? '' : block))).pipe(reply);
      if (kind === 'twice') return void answer.pipe(byBlock((block) => block + block)).pipe(reply);
      return void answer.pipe(reply);
    });
    return void near.pipe(far);
  });
  await new Promise<void>((resolve) => server.listen(0, resolve));
  const proxy: FaultProxy = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, // listening on TCP
    url: (...fault) => `${proxy.origin}/${fault.join('/')}/~`,
    seen,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  return proxy;
}

function faultOf(url: string): { readonly fault: string[]; readonly path: string } {
  if (url.startsWith('/thief')) return { fault: ['thief'], path: url.slice('/thief'.length) };
  const [fault = '', ...path] = url.slice(1).split('/~');
  return { fault: fault.split('/'), path: path.join('/~') };
}

function cutWithin(answer: IncomingMessage, reply: ServerResponse, bytes: number): void {
  let left = Math.ceil(bytes);
  answer.on('data', (piece: Buffer) => {
    const part = piece.subarray(0, left);
    left -= part.length;
    reply.write(part, () => (left <= 0 ? reply.destroy() : undefined));
  });
  answer.on('end', () => reply.end());
}

function mute(answer: IncomingMessage, reply: ServerResponse, bytes: number): void {
  let left = bytes;
  answer.on('data', (piece: Buffer) => {
    reply.write(piece.subarray(0, left));
    left = Math.max(0, left - piece.length);
  });
}

/** Passes on what becomes of each block of an event stream. */
function byBlock(become: (block: string) => string): Transform {
  let rest = '';
  return new Transform({
    transform(piece: Buffer, _encoding, done) {
      const blocks = (rest + piece.toString('utf8')).split('\n\n');
      rest = blocks.pop() ?? '';
      done(null, blocks.map((block) => become(`${block}\n\n`)).join(''));
    },
    flush(done) {
      done(null, rest);
    },
  });
}

function hasId(block: string, id: string): boolean {
  return block.startsWith(`id: ${id}\n`);
}

/** The same places in every run of the tests. */
function pseudoRandom(n: number): number {
  const x = Math.sin(n * 12.9898) * 43_758.5453;
  return x - Math.floor(x);
}
