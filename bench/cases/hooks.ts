import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';
import { Webhook } from 'standardwebhooks';
import { created, makeAgent } from '../../test/support/scenario.ts';
import type { Stack } from '../../test/support/stack.ts';
import { sqlOn } from '../../test/workflows/hook-world.ts';
import { hookDeliveries } from '../env.ts';
import type { HookFloor } from '../floors/hook.ts';
import { most, type Bench, type BenchOptions, type Check, type Outcome, type Sample } from '../harness/bench.ts';
import { startChild } from '../harness/child.ts';
import { compare, finding, median } from '../harness/compare.ts';
import { databaseUrls, startProduct, using } from '../harness/deployment.ts';
import { cpuMs, record, untilAnswer } from '../probe/client.ts';
import type { ProbeEvent } from '../probe/protocol.ts';

const bodyBytes = 10_240;
const warmUpRequests = 400;
const requests = 60;
/** What a request leaves to do is done before the next one comes. */
const pauseMs = 20;
const settleMs = 300;
const poolMax = 10;
const lanes = 16;

/** Deliveries of webhooks against a bare handler, and how many of very many count. */
export const hooks: Bench = {
  name: 'hooks',
  about:
    'A signed delivery of 10 KB to an async endpoint against a bare Fastify handler that verifies the same signature and inserts the body (one row, one commit), one request at a time with 20 ms between them, after 400 to warm up, no worker running. ' +
    'The product’s processor time holds what follows the answer: frames to Redis, the outbox row, the start in Temporal. Then deliveries by 16 senders to an endpoint of events, each sent twice over two API processes: the counts are of rows.',
  run: (options) => using((keep) => measure(options, keep)),
};

type Keep = Parameters<Parameters<typeof using>[0]>[0];

interface Endpoint {
  readonly id: string;
  readonly secret: string;
  readonly path: string;
}

async function measure({ rounds, log }: BenchOptions, keep: Keep): Promise<Outcome> {
  const stack = keep(await startProduct(['api', 'api-2'], { env: { DATABASE_POOL_MAX: String(poolMax) } }));
  const { id: agentId } = await makeAgent(stack, []);
  const make = async (slug: string, more: object = {}): Promise<Endpoint> => {
    const body = { agent_id: agentId, slug, rate_limit_per_minute: 10_000, prompt_template: '{{ body.text }}', ...more };
    const { id, secret } = (await created(stack, '/webhook-endpoints', body)) as { id: string; secret: string }; // shown once
    return { id, secret, path: `/hooks/${stack.tenant.workspaceId}/${slug}` };
  };
  const endpoint = await make('async');
  const floor: HookFloor = { adminUrl: databaseUrls(stack).adminUrl, poolMax, secret: endpoint.secret };
  const bare = keep(await startChild({ entry: 'bench/floors/hook.ts', env: { BENCH_FLOOR: JSON.stringify(floor) } }));
  const toFloor = { origin: String(bare.ready['url']), pid: bare.pid, endpoint: { ...endpoint, path: '/hook' } };
  const toProduct = { origin: stack.url(), pid: stack.pid('api'), endpoint };
  for (const side of [toFloor, toProduct]) await post(side, { count: warmUpRequests, restMs: 0 });

  const measured = await compare({ rounds, warmUps: 1, sides: { bare: () => sample(toFloor), product: () => sample(toProduct) } });
  const compared = { unit: 'ms', floor: 'bare', product: 'product' } as const;
  const checks = await checksOf(stack, endpoint);
  log('single deliveries measured');
  return {
    findings: [
      finding(measured, { ...compared, what: 'a delivery, processor with what follows it', metric: 'cpuMs', budget: most(8) }),
      finding(measured, { ...compared, what: 'a delivery, median time to the answer', metric: 'medianMs', budget: null }),
    ],
    checks: [...checks, ...(await countsOf(stack, await make('events', { response_mode: 'ack', event_kind: 'bench.happened' }), log))],
  };
}

interface Side {
  readonly origin: string;
  readonly pid: number;
  readonly endpoint: Endpoint;
}

/** Sends new deliveries one after the other; gives the milliseconds that each took. */
async function post({ origin, endpoint }: Side, { count, restMs }: { readonly count: number; readonly restMs: number }): Promise<number[]> {
  const pool = new Pool(origin, { connections: 1 });
  const times: number[] = [];
  try {
    for (let n = 0; n < count; n += 1) {
      const { body, headers } = signed(endpoint, crypto.randomUUID());
      const startedAt = performance.now();
      const answer = await pool.request({ method: 'POST', path: endpoint.path, headers, body });
      if (answer.statusCode !== 202) throw new Error(`a delivery was answered ${answer.statusCode}: ${await answer.body.text()}`);
      await answer.body.dump();
      times.push(performance.now() - startedAt);
      if (restMs > 0) await delay(restMs);
    }
    return times;
  } finally {
    await pool.close();
  }
}

/** A body of 10 KB under an id of the sender's. */
function signed({ secret }: Endpoint, id: string) {
  const rest = 'x'.repeat(bodyBytes - 40 - id.length);
  const body = JSON.stringify({ id, text: 'What is new?', rest });
  const at = new Date();
  const timestamp = String(Math.floor(at.getTime() / 1_000));
  const signature = new Webhook(secret).sign(id, at, body);
  const headers = { 'content-type': 'application/json', 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature };
  return { body, headers };
}

async function sample(side: Side): Promise<Sample> {
  const before = await cpuMs(side.pid);
  const times = await post(side, { count: requests, restMs: pauseMs });
  await delay(settleMs);
  return { medianMs: median(times), cpuMs: ((await cpuMs(side.pid)) - before) / requests };
}

/** Counts of single deliveries; the median leaves out what the process does beside them. */
async function checksOf(stack: Stack, endpoint: Endpoint): Promise<Check[]> {
  const side = { origin: stack.url(), pid: stack.pid('api'), endpoint };
  const recorded: ProbeEvent[][] = [];
  for (let n = 0; n < 7; n += 1) recorded.push(await record(side.pid, () => post(side, { count: 1, restMs: 0 }), settleMs));
  const count = (isMeant: (event: ProbeEvent) => boolean) => median(recorded.map((events) => untilAnswer(events).filter(isMeant).length));
  return [
    { what: 'transactions before the answer', value: count(isBegin), budget: most(1) },
    { what: 'statements before the answer, without begin, settings, commit', value: count(isStatement), budget: most(10) },
    { what: 'Temporal calls before the answer', value: count(({ kind }) => kind === 'temporal'), budget: most(0) },
  ];
}

const isBegin = (event: ProbeEvent) => event.kind === 'sql' && event.text.startsWith('begin');
const isStatement = (event: ProbeEvent) => event.kind === 'sql' && !/^(begin|commit)/.test(event.text);

/** Sends very many deliveries, each twice, to two processes; what is not 10,000 in the database is told as the difference. */
async function countsOf(stack: Stack, endpoint: Endpoint, log: BenchOptions['log']): Promise<Check[]> {
  const distinct = hookDeliveries();
  const ids = Array.from({ length: distinct }, () => crypto.randomUUID());
  const left = [...ids, ...ids].map((id, n) => ({ id, process: n < distinct === (n % 2 === 0) ? ('api' as const) : ('api-2' as const) }));
  const pools = {
    'api': new Pool(stack.url('api'), { connections: lanes }),
    'api-2': new Pool(stack.url('api-2'), { connections: lanes }),
  };
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      for (let next = left.pop(); next; next = left.pop()) await insist(pools[next.process], endpoint, next.id);
    }),
  );
  await Promise.all(Object.values(pools).map((pool) => pool.close()));
  log(`${2 * distinct} deliveries in ${((performance.now() - startedAt) / 1_000).toFixed(0)} s`);
  const sql = sqlOn(stack);
  const [found] = await sql<{ deliveries: number; events: number; repeats: number }>(
    `select count(*)::int as deliveries, count(distinct event_id)::int as events, sum(duplicate_count)::int as repeats from webhook_deliveries where endpoint_id = ?`,
    [endpoint.id],
  );
  const [stored] = await sql<{ n: number }>("select count(*)::int as n from events where event_kind = 'bench.happened'");
  const off = (value: number | undefined) => Math.abs((value ?? 0) - distinct);
  const budget = most(0);
  return [
    { what: `of ${distinct} distinct deliveries, each sent twice: deliveries too many or too few`, value: off(found?.deliveries), budget },
    { what: 'the same: events too many or too few', value: off(found?.events) + off(stored?.n), budget },
    { what: 'the same: repeats told otherwise', value: off(found?.repeats), budget },
  ];
}

/** As senders do: what is not taken (429, 503) is sent again. */
async function insist(pool: Pool, endpoint: Endpoint, id: string): Promise<void> {
  for (;;) {
    const { body, headers } = signed(endpoint, id);
    const answer = await pool.request({ method: 'POST', path: endpoint.path, headers, body });
    await answer.body.dump();
    if (answer.statusCode < 300) return;
    if (answer.statusCode !== 429 && answer.statusCode !== 503) throw new Error(`a delivery was answered ${answer.statusCode}`);
    await delay(200);
  }
}
