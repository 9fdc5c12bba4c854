import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { expireHolds } from '../../db/billing/ledger/upkeep.ts';
import { newId } from '../../db/ids.ts';
import { sweep } from '../../db/transaction.ts';
import { priceCall } from '../support/budgets.ts';
import { until } from '../support/temporal.ts';
import { runUpkeep } from '../support/upkeep.ts';
import { exact, judgement, makeEchoAgent, openEvaluations, said, type EvaluationWorld } from './evaluation-world.ts';

let world: EvaluationWorld;
let agentId: string;

beforeAll(async () => {
  world = await openEvaluations();
  agentId = await makeEchoAgent(world, { model: 'compatible/m' });
  await priceCall(world.stack.db, 'compatible/m', '0.1');
});
beforeEach(() => {
  world.answers = said;
  world.judges = null;
});
afterAll(() => world?.stop());

const judge = { key: 'judge', type: 'llm_judge', params: { rubric: 'Politeness' } };
const fine = judgement({ reasoning: 'Fine.', score: 5 });

test.each([
  ['cancelled', false],
  ['cancelled while its worker is dead', true],
])('what an evaluation has spent stays in its summary, its results and its cap when it is %s', async (_how, isKilled) => {
  const word = newId();
  world.answers = (text) => (text.includes('slow') ? { tokens: 4_000, delay_ms: 100 } : said(text));
  world.judges = (prompt) => (prompt.includes(`${word} unjudged`) ? { fault: { kind: 'hang' } } : fine);
  const items = ['judged', 'unjudged', 'slow 1', 'slow 2', 'slow 3'].map((id) => ({ id, input: `say ${word} ${id}` }));
  const id = await world.create(agentId, { dataset: { items }, evaluators: [judge], max_cost: '5' });
  await until(() => world.callsAbout(word) === 7);
  await until(async () => (await world.read(id)).results.some(({ status }: { status: string }) => status === 'passed'));

  if (isKilled) await world.stack.kill('worker-bulk');
  await world.stack.request('POST', '/runs/cancel', { body: { filter: { evaluation_run_id: id } } });
  if (isKilled) await world.stack.start('worker-bulk');
  const done = await world.ended(id);

  const byItem = Object.fromEntries(done.results.map((result: { item_id: string }) => [result.item_id, result]));
  expect(done).toMatchObject({ status: 'cancelled', summary: { skipped: 4, cost: { total: '0.70', judges: '0.20', mean: '0.10' } } });
  expect(await world.ledger(id)).toEqual({ judgeRows: 2, judgeEstimates: 1, judges: '0.2', runs: '0.5', cap: '0.7' });
  for (const item of ['slow 1', 'slow 2', 'slow 3', 'unjudged'])
    expect(byItem[item]).toMatchObject({ status: 'skipped', reason: 'cancelled', cost: '0.10', score: null, scores: [] });
  expect(byItem['judged']).toMatchObject({ status: 'passed', cost: '0.10' });
  expect(done.summary.latency_ms.p95).toBe(byItem['judged'].latency_ms);
});

test('max_cost holds for all that providers were asked, though both workers are killed under it: at most one call beyond', async () => {
  const word = newId();
  world.answers = (text) => ({ ...said(text), first_token_ms: 300 });
  world.judges = () => ({ ...fine, first_token_ms: 300 });
  const items = Array.from({ length: 40 }, (_, at) => ({ id: `i${at}`, input: `say ${word}-${at}-`, expected: `${word}-${at}-` }));
  const body = { dataset: { items }, evaluators: [exact, judge], max_cost: '3', concurrency: 4 };
  const id = await world.create(agentId, body);

  for (const calls of [8, 18]) {
    await until(() => world.callsAbout(word) >= calls);
    await Promise.all((['worker-bulk', 'worker-runs'] as const).map((name) => world.stack.kill(name)));
    // As if nobody came for longer than a lease: calls that had left keep their room, since they will be billed.
    await world.sql("update budget_holds set lease_until = now() - interval '1 second' where state = 'held'");
    await sweep(world.stack.db, (em) => expireHolds(em, 500));
    await Promise.all((['worker-bulk', 'worker-runs'] as const).map((name) => world.stack.start(name)));
  }
  const done = await world.ended(id);
  // Calls that had left when their worker died, of runs that were cancelled before they were taken over, are settled by the upkeep, a while after the end.
  await world.sql("update runs set finished_at = finished_at - interval '2 minutes' where evaluation_run_id = ?", [id]);
  await until(async () => {
    await runUpkeep(world.stack.temporal, 'budget-holds');
    return (
      (
        await world.sql(
          'select 1 from run_steps s join runs r on r.id = s.run_id where r.evaluation_run_id = ? and s.in_flight is not null',
          [id],
        )
      ).length === 0
    );
  });

  const { runs, judges, cap } = await world.ledger(id);
  const spent = Number(runs) + Number(judges);
  expect(done).toMatchObject({ status: 'failed', summary: { failure: { code: 'budget_exceeded' }, errors: 0 } });
  expect(spent).toBeLessThanOrEqual(3.1 + 1e-9);
  expect(spent).toBeGreaterThanOrEqual(2.5);
  expect(0.1 * world.callsAbout(word)).toBeLessThanOrEqual(spent + 1e-9);
  expect(Number(cap)).toBeCloseTo(spent, 9);
  // The summary is written at the end: what is settled later is the ledger's alone.
  expect(Number(done.summary.cost.total)).toBeLessThanOrEqual(spent + 1e-9);
});
