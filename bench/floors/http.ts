// Floor of the HTTP benches: bare Fastify and pg. Reads run the statements they are given and send the rows; the write is one insert in
// one commit and one entry in a Redis stream.
import type { AddressInfo } from 'node:net';
import Fastify from 'fastify';
import { Redis } from 'ioredis';
import pg from 'pg';
import { newId } from '../../db/ids.ts';
import { given } from '../env.ts';
import { revive } from '../probe/protocol.ts';

export interface Statement {
  readonly text: string;
  readonly params: readonly unknown[];
}

/** What the floor serves: `all` runs every statement of the product's request, as its role; `one` the last select alone, past the policies. */
export interface HttpFloor {
  readonly appUrl: string;
  readonly adminUrl: string;
  readonly redisUrl: string;
  readonly queueKey: string;
  readonly poolMax: number;
  readonly row: readonly Statement[];
  readonly list: readonly Statement[];
}

const floor = JSON.parse(given('BENCH_FLOOR'), revive) as HttpFloor; // made by the bench
const app = Fastify({ logger: false });
const asApp = new pg.Pool({ connectionString: floor.appUrl, max: floor.poolMax });
const asAdmin = new pg.Pool({ connectionString: floor.adminUrl, max: floor.poolMax });
const redis = new Redis(floor.redisUrl);

async function all(statements: readonly Statement[], id: string | null): Promise<unknown[]> {
  const client = await asApp.connect();
  try {
    let found: unknown[] = [];
    for (const { text, params } of statements) {
      const isRead = text.startsWith('select') && text.includes('from "runs"');
      const { rows } = await client.query(text, isRead && id !== null ? [id, ...params.slice(1)] : [...params]);
      if (isRead) found = rows;
    }
    return found;
  } finally {
    client.release();
  }
}

async function one(statements: readonly Statement[], id: string | null): Promise<unknown[]> {
  const read = statements.find(({ text }) => text.startsWith('select') && text.includes('from "runs"'));
  if (!read) throw new Error('no read among the statements');
  return (await asAdmin.query(read.text, id === null ? [...read.params] : [id, ...read.params.slice(1)])).rows;
}

const first = (rows: unknown[]) => rows[0];
const toPage = (rows: unknown[]) => ({ items: rows.slice(0, 50), next_cursor: null, total: null });

app.get<{ Params: { id: string } }>('/all/runs/:id', (request) => all(floor.row, request.params.id).then(first));
app.get<{ Params: { id: string } }>('/one/runs/:id', (request) => one(floor.row, request.params.id).then(first));
app.get('/all/runs', () => all(floor.list, null).then(toPage));
app.get('/one/runs', () => one(floor.list, null).then(toPage));

await asAdmin.query(
  'create table if not exists bench_queue (id uuid primary key, body jsonb not null, created_at timestamptz not null default now())',
);
app.post('/runs', async (request, reply) => {
  const id = newId();
  await asAdmin.query('insert into bench_queue (id, body) values ($1, $2)', [id, JSON.stringify(request.body)]);
  await redis.xadd(floor.queueKey, 'MAXLEN', '~', '1000', '*', 'id', id);
  return reply.code(202).send({ id, status: 'queued' });
});

await app.listen({ host: '127.0.0.1', port: 0 });
const { port } = app.server.address() as AddressInfo; // listening on TCP
process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`);
