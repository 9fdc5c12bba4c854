import { setTimeout as delay } from 'node:timers/promises';
import { rows } from '../../db/sql.ts';
import { sweep } from '../../db/transaction.ts';
import { startModelServer } from '../../test/fakes/model-server.ts';
import { makeAgent } from '../../test/support/scenario.ts';
import type { Stack } from '../../test/support/stack.ts';
import { most, type Bench, type BenchOptions, type Outcome, type Sample } from '../harness/bench.ts';
import { compare, finding } from '../harness/compare.ts';
import { startProduct, using } from '../harness/deployment.ts';
import { instantAnswer } from '../harness/product-runs.ts';
import { cpuMs } from '../probe/client.ts';

const count = 200;
const processes = ['api', 'worker-runs', 'worker-bulk'] as const;
const pollMs = 100;

/** What judging costs beside the runs that are judged. */
export const evaluations: Bench = {
  name: 'evaluations',
  about: `An evaluation of ${count} items with three plain evaluators on a model that answers at once, against the same ${count} runs started by POST /runs/batch; processor time of API and workers. Events are those of the evaluation's workflow, a result.`,
  run: (options) => using((keep) => measure(options, keep)),
};

type Keep = Parameters<Parameters<typeof using>[0]>[0];

async function measure({ rounds }: BenchOptions, keep: Keep): Promise<Outcome> {
  const models = await startModelServer();
  keep({ stop: () => models.close() });
  const stack = keep(await startProduct(processes, { modelBaseUrl: models.baseUrl }));
  const agent = await makeAgent(stack, []);
  const events: number[] = [];
  const measured = await compare({
    rounds: Math.min(rounds, 3),
    warmUps: 1,
    sides: {
      batch: () => timed(stack, () => playBatch(stack, agent.id)),
      evaluation: () => timed(stack, async () => void events.push(await playEvaluation(stack, agent.id))),
    },
  });
  const sides = { floor: 'batch', product: 'evaluation' } as const;
  return {
    findings: [
      finding(measured, { ...sides, what: `processor, ${count} items`, unit: 'ms', metric: 'cpuMs', budget: most(1.3) }),
      finding(measured, { ...sides, what: `by the clock, ${count} items`, unit: 'ms', metric: 'ms', budget: null }),
    ],
    checks: [{ what: 'history events a result, at most', value: Math.max(...events) / count, budget: most(8) }],
  };
}

async function timed(stack: Stack, work: () => Promise<void>): Promise<Sample> {
  const used = async () => (await Promise.all(processes.map((name) => cpuMs(stack.pid(name))))).reduce((sum, ms) => sum + ms, 0);
  const [before, startedAt] = [await used(), performance.now()];
  await work();
  return { cpuMs: (await used()) - before, ms: performance.now() - startedAt };
}

async function playBatch(stack: Stack, agentId: string): Promise<void> {
  const items = Array.from({ length: 100 }, () => ({ agent_id: agentId, input: { text: instantAnswer } }));
  const made: { items: { run: { id: string } | null }[] }[] = [];
  for (let batch = 0; batch < count / items.length; batch += 1)
    made.push((await stack.request('POST', '/runs/batch', { body: { items } })).body);
  const ids = made.flatMap(({ items: started }) => started.flatMap(({ run }) => run?.id ?? []));
  if (ids.length < count) throw new Error(`only ${ids.length} runs were started`);
  const open = 'select count(*)::int as n from runs where id = any (?::uuid[]) and finished_at is null';
  while ((await counted(stack, open, [ids])) > 0) await delay(pollMs);
}

/** Gives how many events the history of its workflow has. */
async function playEvaluation(stack: Stack, agentId: string): Promise<number> {
  const items = Array.from({ length: count }, () => ({ input: instantAnswer, expected: 'Hello' }));
  const evaluators = [
    { key: 'exact', type: 'exact_match' },
    { key: 'like', type: 'levenshtein' },
    { key: 'brief', type: 'turns', params: { max: 1 } },
  ];
  const body = { agent_id: agentId, dataset: { items }, evaluators, concurrency: 20 };
  const { id } = (await stack.request('POST', '/evaluations', { body })).body as { id: string };
  const open = 'select count(*)::int as n from evaluation_runs where id = ? and finished_at is null';
  while ((await counted(stack, open, [id])) > 0) await delay(pollMs);
  const { historyLength } = await stack.temporal.client.workflow.getHandle(`eval:${id}`).describe();
  return historyLength;
}

async function counted(stack: Stack, sql: string, params: readonly unknown[]): Promise<number> {
  const [found] = await sweep(stack.db, (em) => rows<{ n: number }>(em, sql, params));
  return found?.n ?? 0;
}
