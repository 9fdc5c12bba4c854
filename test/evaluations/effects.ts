import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server that tools ask, and what it was asked. */
export interface EffectServer {
  readonly url: string;
  readonly port: number;
  readonly paths: string[];
  close(): Promise<void>;
}

export async function startEffects(): Promise<EffectServer> {
  const paths: string[] = [];
  const server = createServer((request, response) => {
    paths.push(`${request.method} ${request.url}`);
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // listening on TCP
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    paths,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
