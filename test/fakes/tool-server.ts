import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';

/** One request that a tool made: it has happened from now on, whatever becomes of the answer. */
export interface Effect {
  readonly path: string;
  readonly body: string;
  /** Its Idempotency-Key. */
  readonly key: string | null;
  /** Unix time in milliseconds. */
  readonly at: number;
  /** Port from which the client came. */
  readonly clientPort: number;
}

/** A server outside the deployment that counts what is done to it. */
export interface ToolServer {
  readonly origin: string;
  readonly port: number;
  readonly effects: readonly Effect[];
  /** Runs after the effect and before the answer. */
  onEffect: ((effect: Effect) => Promise<void> | void) | null;
  /** While it is true no request is answered, not even later. */
  isSilent: boolean;
  close(): void;
}

const hugeBytes = 100 * 1024 * 1024;

/** Answers POST with JSON; `/hang…` never, `/huge…` with 100 MB of text. */
export async function startToolServer(): Promise<ToolServer> {
  const effects: Effect[] = [];
  const server = createServer((request, response) => void take(request, response).catch(() => response.destroy()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // listening on TCP
  const tools: ToolServer = {
    origin: `http://127.0.0.1:${port}`,
    port,
    effects,
    onEffect: null,
    isSilent: false,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => undefined);
    const path = request.url ?? '';
    const key = request.headers['idempotency-key'];
    let body = '';
    for await (const part of request) body += String(part);
    const effect: Effect = {
      path,
      body,
      key: typeof key === 'string' ? key : null,
      at: Date.now(),
      clientPort: request.socket.remotePort ?? 0,
    };
    effects.push(effect);
    await tools.onEffect?.(effect);
    if (tools.isSilent || path.startsWith('/hang')) return;
    if (path.startsWith('/huge')) return sendHuge(response);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ done: effects.length }));
  }

  return tools;
}

/** As fast as the other side reads, until it has enough. */
async function sendHuge(response: ServerResponse): Promise<void> {
  const piece = `${'All work and no play makes a long answer. '.repeat(1_600)}\n`;
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' });
  for (let sent = 0; sent < hugeBytes && !response.destroyed; sent += piece.length) {
    if (!response.write(piece)) await once(response, 'drain', { signal: gone.signal }).catch(() => undefined);
  }
  response.end();
}
