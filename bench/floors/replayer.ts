// Floor of the storm bench: a bare Fastify server that answers each reader with what a Redis stream holds after the number it names.
import type { AddressInfo } from 'node:net';
import Fastify from 'fastify';
import { Redis } from 'ioredis';
import { given } from '../env.ts';

const redis = new Redis(given('REDIS_URL'));
const key = given('BENCH_STREAM');
const app = Fastify({ logger: false, forceCloseConnections: true });
const page = 500;

app.get('/stream', async (request, reply) => {
  reply.hijack();
  reply.raw.writeHead(200, { 'content-type': 'text/event-stream' });
  reply.raw.write('retry: 2000\n\n');
  let last = Number(request.headers['last-event-id'] ?? 0);
  for (;;) {
    const entries = await redis.xrange(key, `(${last}-0`, '+', 'COUNT', page);
    if (entries.length === 0) break;
    reply.raw.write(entries.map(([id, [, frame]]) => `id: ${Number.parseInt(id, 10)}\nevent: frame\ndata: ${frame}\n\n`).join(''));
    last = Number.parseInt(entries.at(-1)?.[0] ?? '0', 10);
  }
});

await app.listen({ host: '127.0.0.1', port: 0 });
const { port } = app.server.address() as AddressInfo; // listening on TCP
process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`);
