// Floor of the bench of hooks: bare Fastify that verifies a signature of Standard Webhooks over the bytes and inserts them, one row in one commit.
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import Fastify from 'fastify';
import pg from 'pg';
import { newId } from '../../db/ids.ts';
import { given } from '../env.ts';

export interface HookFloor {
  readonly adminUrl: string;
  readonly poolMax: number;
  /** As the sender has it: `whsec_` and base64. */
  readonly secret: string;
}

const floor = JSON.parse(given('BENCH_FLOOR')) as HookFloor; // made by the bench
const key = Buffer.from(floor.secret.slice('whsec_'.length), 'base64');
const pool = new pg.Pool({ connectionString: floor.adminUrl, max: floor.poolMax });
const app = Fastify({ logger: false });

app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
await pool.query(
  'create table if not exists bench_deliveries (id uuid primary key, body jsonb not null, created_at timestamptz not null default now())',
);
app.post<{ Body: Buffer }>('/hook', async (request, reply) => {
  const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature } = request.headers;
  const text = request.body.toString();
  const expected = Buffer.from(
    `v1,${createHmac('sha256', key)
      .update(`${String(id)}.${String(at)}.${text}`)
      .digest('base64')}`,
  );
  const told = Buffer.from(String(signature));
  const isRecent = Math.abs(Date.now() / 1_000 - Number(at)) < 300;
  if (!isRecent || told.length !== expected.length || !timingSafeEqual(told, expected)) return reply.code(401).send({});
  const deliveryId = newId();
  await pool.query('insert into bench_deliveries (id, body) values ($1, $2)', [deliveryId, JSON.stringify(JSON.parse(text))]);
  return reply.code(202).send({ delivery_id: deliveryId });
});

await app.listen({ host: '127.0.0.1', port: 0 });
const { port } = app.server.address() as AddressInfo; // listening on TCP
process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`);
