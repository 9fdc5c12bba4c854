import { createServer, request as send, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as it came, and what became of it. */
export interface Passed {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  /** Of the deployment's reply; 0 without one. */
  status: number;
  /** When its connection to the client was gone. */
  closedAt: number | null;
}

/** What becomes of a request. `lose`: it reaches the deployment, its reply is dropped. A number: the connection is cut after so many bytes of the reply. */
export type Fate =
  | 'pass'
  | 'lose'
  | 'hang'
  | number
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string };

/** Something between client and deployment, which cuts connections or answers itself, as gateways do. */
export interface CuttingProxy {
  readonly url: string;
  readonly passed: Passed[];
  /** Decides about each request; `nth` counts those with the same method and path. */
  decide: (request: Passed, nth: number) => Fate;
  /** Changes the text of a stream, one block at a time; null drops the block. */
  block: ((block: string) => string | null) | null;
  /** Extra headers of every reply. */
  headers: Record<string, string>;
  reset(): void;
  close(): Promise<void>;
}

export async function startCuttingProxy(target: () => string): Promise<CuttingProxy> {
  const counts = new Map<string, number>();
  const server = createServer((request, response) => {
    const passed: Passed = { method: request.method ?? '', path: request.url ?? '', headers: request.headers, status: 0, closedAt: null };
    proxy.passed.push(passed);
    const key = `${passed.method} ${passed.path.split('?')[0] ?? ''}`;
    const nth = (counts.get(key) ?? 0) + 1;
    counts.set(key, nth);
    response.on('close', () => (passed.closedAt = performance.now()));
    response.on('error', () => undefined);
    pass(request, response, { passed, fate: proxy.decide(passed, nth) });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  const proxy: CuttingProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, // listening on TCP
    passed: [],
    decide: () => 'pass',
    block: null,
    headers: {},
    reset() {
      proxy.passed.length = 0;
      counts.clear();
      proxy.decide = () => 'pass';
      proxy.block = null;
      proxy.headers = {};
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };

  function pass(request: IncomingMessage, response: ServerResponse, { passed, fate }: { passed: Passed; fate: Fate }): void {
    if (fate === 'hang') return;
    if (typeof fate === 'object') return void response.writeHead(fate.status, fate.headers).end(fate.body ?? '');
    const far = send(target() + passed.path, { method: passed.method, headers: request.headers, agent: false }, (reply) => {
      passed.status = reply.statusCode ?? 0;
      if (fate === 'lose') return void reply.resume().on('close', () => response.destroy());
      response.writeHead(passed.status, { ...reply.headers, ...proxy.headers });
      forward(reply, response, typeof fate === 'number' ? fate : Infinity);
    });
    // A reply that has come stands, although the rest of its request was not read.
    far.on('error', () => passed.status === 0 && response.destroy());
    response.on('close', () => far.destroy());
    request.on('error', () => far.destroy());
    request.pipe(far);
  }

  function forward(reply: IncomingMessage, response: ServerResponse, most: number): void {
    let left = most;
    let text = '';
    reply.on('data', (bytes: Buffer) => {
      if (proxy.block === null || !String(reply.headers['content-type']).startsWith('text/event-stream')) return write(bytes);
      text += bytes.toString();
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const changed = proxy.block(text.slice(0, end));
        text = text.slice(end + 2);
        if (changed !== null) write(Buffer.from(`${changed}\n\n`));
      }
      return undefined;
    });
    reply.on('close', () => (reply.complete ? response.end() : response.destroy()));
    reply.on('error', () => response.destroy());

    function write(bytes: Buffer): void {
      if (left <= 0) return;
      response.write(bytes.subarray(0, left));
      left -= bytes.length;
      // What was written before reaches the client.
      if (left <= 0) response.socket?.end(() => response.destroy());
    }
  }

  return proxy;
}
