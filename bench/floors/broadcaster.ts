// Floor of the delivery bench: a bare Fastify server that reads one Redis stream and writes each entry to every open response.
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Fastify from 'fastify';
import { Redis } from 'ioredis';
import { given } from '../env.ts';

const redis = new Redis(given('REDIS_URL'));
const key = given('BENCH_STREAM');
const app = Fastify({ logger: false, forceCloseConnections: true });
const readers = new Set<ServerResponse>();

app.get('/stream', (_request, reply) => {
  reply.hijack();
  reply.raw.writeHead(200, { 'content-type': 'text/event-stream' });
  reply.raw.write('retry: 2000\n\n');
  readers.add(reply.raw);
  reply.raw.on('close', () => readers.delete(reply.raw));
});

async function broadcast(): Promise<never> {
  for (let last = '0'; ;) {
    const found = await redis.xread('BLOCK', 5_000, 'STREAMS', key, last);
    for (const [id, [, frame]] of found?.[0]?.[1] ?? []) {
      last = id;
      const text = `id: ${id}\nevent: frame\ndata: ${frame}\n\n`;
      for (const reader of readers) reader.write(text);
    }
  }
}

await app.listen({ host: '127.0.0.1', port: 0 });
const { port } = app.server.address() as AddressInfo; // listening on TCP
process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`);
await broadcast();
