import { setTimeout as delay } from 'node:timers/promises';
import { makeAgent } from '../../test/support/scenario.ts';
import { testServices } from '../../test/support/services.ts';
import type { Stack } from '../../test/support/stack.ts';
import type { HttpFloor } from '../floors/http.ts';
import { most, type Bench, type BenchOptions, type Check, type Outcome, type Sample } from '../harness/bench.ts';
import { startChild } from '../harness/child.ts';
import { compare, finding, median } from '../harness/compare.ts';
import { authorization, databaseUrls, startProduct, using } from '../harness/deployment.ts';
import { load } from '../harness/load.ts';
import { cpuMs, record, untilAnswer } from '../probe/client.ts';
import type { ProbeEvent } from '../probe/protocol.ts';

/** As long as it takes the compilers of both. */
const warmUpRequests = 400;
const requests = 30;
/** What a request leaves to do is done before the next one comes. */
const pauseMs = 50;
const settleMs = 150;

/** POST /runs against a bare handler. */
export const creation: Bench = {
  name: 'creation',
  about:
    'POST /runs against a bare Fastify handler that inserts one row (one commit) and adds one entry to a Redis stream, one request at a time with 50 ms between them, after 400 to warm up, no worker running. ' +
    'The product’s processor time holds what follows the answer: frames to Redis, the outbox row, the start in Temporal.',
  run: (options) => using((keep) => measure(options, keep)),
};

type Keep = Parameters<Parameters<typeof using>[0]>[0];

async function measure({ rounds }: BenchOptions, keep: Keep): Promise<Outcome> {
  const stack = keep(await startProduct(['api']));
  const agent = await makeAgent(stack, []);
  const floor: HttpFloor = {
    ...databaseUrls(stack),
    redisUrl: testServices().redisUrl,
    queueKey: `${stack.redisPrefix}bench-queue`,
    poolMax: 10,
    row: [],
    list: [],
  };
  const bare = keep(await startChild({ entry: 'bench/floors/http.ts', env: { BENCH_FLOOR: JSON.stringify(floor) } }));
  const body = () => ({ agent_id: agent.id, input: { text: 'What is new?' } });

  const toFloor = { origin: String(bare.ready['url']), pid: bare.pid, headers: {}, body };
  const toProduct = { origin: stack.url(), pid: stack.pid('api'), headers: authorization(stack), body };
  for (const side of [toFloor, toProduct]) await post(side, { requests: warmUpRequests, concurrency: 4 });

  const measured = await compare({ rounds, warmUps: 1, sides: { bare: () => sample(toFloor), product: () => sample(toProduct) } });
  const compared = { floor: 'bare', product: 'product' } as const;
  return {
    findings: [
      finding(measured, { ...compared, what: 'POST /runs, median time to the answer', unit: 'ms', metric: 'medianMs', budget: most(2.5) }),
      finding(measured, {
        ...compared,
        what: 'POST /runs, processor a request with what follows it',
        unit: 'ms',
        metric: 'cpuMs',
        budget: null,
      }),
    ],
    checks: await checksOf(stack, body),
  };
}

interface Side {
  readonly origin: string;
  readonly pid: number;
  readonly headers: Record<string, string>;
  readonly body: () => unknown;
}

function post({ origin, headers, body }: Side, how: { requests: number; concurrency: number; pauseMs?: number }) {
  return load({ origin, method: 'POST', path: '/runs', headers, body, status: 202, ...how });
}

async function sample(side: Side): Promise<Sample> {
  const before = await cpuMs(side.pid);
  const { times } = await post(side, { requests, concurrency: 1, pauseMs });
  await delay(settleMs);
  return { medianMs: median(times), cpuMs: ((await cpuMs(side.pid)) - before) / requests };
}

/** Counts of single requests; the median leaves out what the process does beside them. */
async function checksOf(stack: Stack, body: () => unknown): Promise<Check[]> {
  const recorded: ProbeEvent[][] = [];
  for (let n = 0; n < 7; n++)
    recorded.push(await record(stack.pid('api'), () => stack.request('POST', '/runs', { body: body() }), settleMs));
  const count = (pick: (events: readonly ProbeEvent[]) => number) => median(recorded.map(pick));

  return [
    { what: 'transactions before the answer', value: count((events) => untilAnswer(events).filter(isBegin).length), budget: most(1) },
    {
      what: 'statements before the answer, without credential, begin, settings, commit',
      value: count((events) => untilAnswer(events).filter(isStatement).length),
      budget: most(9),
    },
    {
      what: 'Temporal calls before the answer',
      value: count((events) => untilAnswer(events).filter((event) => event.kind === 'temporal').length),
      budget: most(0),
    },
    {
      what: 'Temporal calls in all',
      value: count((events) => events.filter((event) => event.kind === 'temporal').length),
      budget: most(1),
    },
    {
      what: 'Redis commands beside the rate limit',
      value: count((events) => events.filter((event) => event.kind === 'redis' && !event.text.includes('rl:')).length),
      budget: most(1),
    },
  ];
}

const isBegin = (event: ProbeEvent) => event.kind === 'sql' && event.text.startsWith('begin');
const isStatement = (event: ProbeEvent) => event.kind === 'sql' && !/^(begin|commit|select gate_)/.test(event.text);
