import { setTimeout as delay } from 'node:timers/promises';
import { makeAgent, startRun } from '../../test/support/scenario.ts';
import type { Stack } from '../../test/support/stack.ts';
import { testServices } from '../../test/support/services.ts';
import { most, type Bench, type BenchOptions, type Finding, type Check, type Outcome, type Sample } from '../harness/bench.ts';
import type { HttpFloor, Statement } from '../floors/http.ts';
import { startChild } from '../harness/child.ts';
import { compare, finding } from '../harness/compare.ts';
import { authorization, databaseUrls, startProduct, using } from '../harness/deployment.ts';
import { load } from '../harness/load.ts';
import { cpuMs, record, untilAnswer } from '../probe/client.ts';
import type { ProbeEvent } from '../probe/protocol.ts';

const poolMax = 10;
const concurrency = 8;
const runs = 60;

/** GET of one run and a list of 50 against bare handlers. */
export const reads: Bench = {
  name: 'reads',
  about:
    'GET /runs/{id} and GET /runs?limit=50 against a bare Fastify + pg handler in a process of its own, 8 requests at a time, pools of 10. ' +
    '“Same statements” runs every statement that the product’s request runs (credential, begin with settings, select, commit), recorded from it and sent one by one, where the product sends settings and select in one batch; “one select” runs the select alone, past the policies. Processor time is that of the serving process.',
  run: (options) => using((keep) => measure(options, keep)),
};

type Keep = Parameters<Parameters<typeof using>[0]>[0];

async function measure({ rounds, log }: BenchOptions, keep: Keep): Promise<Outcome> {
  const stack = keep(await startProduct(['api'], { env: { DATABASE_POOL_MAX: String(poolMax) } }));
  const agent = await makeAgent(stack, []);
  const ids: string[] = [];
  for (let at = 0; at < runs; at++) ids.push((await startRun(stack, agent.id, `What is new in week ${at}?`)).id);

  const paths = { row: `/runs/${ids[0]}`, list: '/runs?limit=50' };
  const plan = { row: await statementsOf(stack, paths.row), list: await statementsOf(stack, paths.list) };
  const floor: HttpFloor = { ...databaseUrls(stack), redisUrl: testServices().redisUrl, queueKey: 'unused', poolMax, ...plan };
  const bare = keep(await startChild({ entry: 'bench/floors/http.ts', env: { BENCH_FLOOR: JSON.stringify(floor) } }));
  const origin = String(bare.ready['url']);

  const findings: Finding[] = [];
  for (const [name, path, requests] of [
    ['GET one', paths.row, 600],
    ['list of 50', paths.list, 200],
  ] as const) {
    const at = (prefix: string) => () => sample({ origin, path: prefix + path, requests, pid: bare.pid, headers: {} });
    const measured = await compare({
      rounds,
      warmUps: 2,
      sides: {
        all: at('/all'),
        product: () => sample({ origin: stack.url(), path, requests, pid: stack.pid('api'), headers: authorization(stack) }),
        one: at('/one'),
      },
    });
    findings.push(
      finding(measured, {
        what: `${name}, processor a request, same statements`,
        unit: 'ms',
        metric: 'cpuMs',
        floor: 'all',
        product: 'product',
        budget: most(1.35),
      }),
      finding(measured, {
        what: `${name}, requests a second, same statements`,
        unit: '/s',
        metric: 'perSecond',
        floor: 'all',
        product: 'product',
        budget: null,
      }),
      finding(measured, {
        what: `${name}, processor a request, one select`,
        unit: 'ms',
        metric: 'cpuMs',
        floor: 'one',
        product: 'product',
        budget: null,
      }),
    );
    log(`${name} measured`);
  }
  return { findings, checks: [...(await checksOf(stack, 'GET one', paths.row)), ...(await checksOf(stack, 'list of 50', paths.list))] };
}

async function sample(of: {
  origin: string;
  path: string;
  requests: number;
  pid: number;
  headers: Record<string, string>;
}): Promise<Sample> {
  const before = await cpuMs(of.pid);
  const { perSecond } = await load({
    origin: of.origin,
    path: of.path,
    requests: of.requests,
    concurrency,
    headers: of.headers,
    status: 200,
  });
  return { perSecond, cpuMs: ((await cpuMs(of.pid)) - before) / of.requests };
}

/** What one request of the product sends to PostgreSQL. */
async function statementsOf(stack: Stack, path: string): Promise<Statement[]> {
  return (await eventsOf(stack, path)).filter((event) => event.kind === 'sql').map(({ text, params }) => ({ text, params }));
}

/** What the API does for one request, up to its answer. Of several tries the shortest: others hold what the process does beside them. */
async function eventsOf(stack: Stack, path: string): Promise<readonly ProbeEvent[]> {
  const tries: (readonly ProbeEvent[])[] = [];
  for (let n = 0; n < 5; n++) {
    await delay(100);
    tries.push(untilAnswer(await record(stack.pid('api'), () => stack.request('GET', path))));
  }
  return tries.toSorted((left, right) => left.length - right.length)[0] ?? [];
}

async function checksOf(stack: Stack, name: string, path: string): Promise<Check[]> {
  const events = await eventsOf(stack, path);
  const statements = events.filter((event) => event.kind === 'sql' && !/^(begin|commit)/.test(event.text));
  return [
    { what: `${name}: statements with authentication, without begin, settings, commit`, value: statements.length, budget: most(3) },
    {
      what: `${name}: Redis round trips`,
      value: events.filter((event) => event.kind === 'redis' && event.isRoundTrip).length,
      budget: most(1),
    },
  ];
}
