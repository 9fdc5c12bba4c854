import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { isWholeMatrix } from '../chaos/whole.ts';
import type { ScriptStep } from '../fakes/model-script.ts';
import { ownServices, type OwnServices } from '../support/own-services.ts';
import { until } from '../support/temporal.ts';
import { exact, judgement, makeEchoAgent, openEvaluations, said, type EvaluationWorld } from './evaluation-world.ts';

const count = isWholeMatrix ? 5_000 : 60;
const maxMs = isWholeMatrix ? 3_000_000 : 240_000;
/** One of so many questions to the judge is refused at its first try. */
const refusedEach = 10;
let own: OwnServices;
let world: EvaluationWorld;

beforeAll(async () => {
  own = await ownServices('evaluations');
  world = await openEvaluations();
}, 300_000);
afterAll(async () => {
  await world?.stop().catch(() => undefined); // a failed test may have left PostgreSQL away
  await own?.stop();
});

const judge = { key: 'judge', type: 'llm_judge', params: { rubric: 'Politeness' } };
const numberOf = (text: string): number => Number(/word-(\d+)-/.exec(text)?.[1]);
const unavailable = { kind: 'status', status: 503 } as const;

/** How often the judge has answered about each item. */
function countingJudge(): ReadonlyMap<number, number> {
  const answered = new Map<number, number>();
  const refused = new Set<number>();
  world.judges = (prompt): ScriptStep => {
    const item = numberOf(prompt);
    if (item % refusedEach === 0 && !refused.has(item)) {
      refused.add(item);
      return { fault: unavailable };
    }
    answered.set(item, (answered.get(item) ?? 0) + 1);
    return judgement({ reasoning: 'Fine.', score: 5 });
  };
  return answered;
}

/** How many results of an evaluation have ended; none while PostgreSQL is away. */
async function endedResults(id: string): Promise<number> {
  const sql =
    "select count(*)::int as n from evaluation_results where evaluation_run_id = ? and status in ('passed', 'failed', 'error', 'skipped')";
  const [found] = await world.sql<{ n: number }>(sql, [id]).catch(() => []);
  return found?.n ?? 0;
}

test(
  `PostgreSQL, the API and both workers killed one after the other under ${count} items, and a judge that is away now and then: each item ends once`,
  async () => {
    const answered = countingJudge();
    world.answers = said;
    const items = Array.from({ length: count }, (_, at) => ({
      id: `i${at}`,
      input: `say word-${at}-`,
      expected: at % 4 === 0 ? 'else' : `word-${at}-`,
    }));
    const id = await world.create(await makeEchoAgent(world), { dataset: { items }, evaluators: [exact, judge], concurrency: 20 });
    const blows = [
      () => own.kill('postgres').then(() => own.up('postgres')),
      ...(['api', 'worker-bulk', 'worker-runs'] as const).map((name) => () => world.stack.kill(name).then(() => world.stack.start(name))),
    ];
    for (const [at, blow] of blows.entries()) {
      await until(async () => (await endedResults(id)) >= ((at + 1) * count) / (blows.length + 2), maxMs);
      await blow();
    }
    await until(async () => (await endedResults(id)) === count, maxMs);

    const done = await world.ended(id);
    expect(done).toMatchObject({
      status: 'succeeded',
      summary: { results: count, completed: count, errors: 0, skipped: 0, pass_rate: 0.75 },
    });
    const rows = await world.sql<{ results: number; scores: number; runs: number }>(
      `select (select count(*)::int from evaluation_results where evaluation_run_id = e.id) as results,
              (select count(*)::int from evaluation_scores s join evaluation_results r on r.id = s.result_id where r.evaluation_run_id = e.id) as scores,
              (select count(*)::int from runs where evaluation_run_id = e.id) as runs
         from evaluation_runs e where e.id = ?`,
      [id],
    );
    expect(rows).toEqual([{ results: count, scores: 2 * count, runs: count }]);
    expect(await world.exported(done.summary.results_attachment_id)).toHaveLength(count);
    // What was asked when a worker or PostgreSQL died may be asked once more; what was stored is not.
    expect(answered.size).toBe(count);
    const again = [...answered.values()].reduce((sum, n) => sum + n - 1, 0);
    expect(again).toBeLessThanOrEqual(3 * 20);
  },
  maxMs + 300_000,
);
