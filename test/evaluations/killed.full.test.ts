import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { until } from '../support/temporal.ts';
import { exact, judgement, makeEchoAgent, openEvaluations, said, type EvaluationWorld } from './evaluation-world.ts';
import { runUpkeep } from '../support/upkeep.ts';
import { matrixTest } from '../chaos/whole.ts';

let world: EvaluationWorld;
let agentId: string;

beforeAll(async () => {
  world = await openEvaluations();
  agentId = await makeEchoAgent(world);
});
beforeEach(() => {
  world.answers = said;
  world.judges = null;
});
afterAll(() => world?.stop());

const judge = { key: 'judge', type: 'llm_judge', params: { rubric: 'Politeness', votes: 3 } };
const list = Array.from({ length: 12 }, (_, at) => ({
  id: `i${at + 1}`,
  input: `say word-${at + 1}-`,
  expected: at < 9 ? `word-${at + 1}-` : 'else',
}));
const itemOf = (prompt: string): string => `i${/word-(\d+)-/.exec(prompt)?.[1]}`;

interface StoredResult {
  readonly item_key: string;
  readonly repetition: number;
  readonly status: string;
  readonly scores: number;
  /** Given, or still asked for. */
  readonly votes: Record<string, { readonly value?: unknown; readonly asked?: unknown }>;
}

const resultsOf = (id: string) =>
  world.sql<StoredResult>(
    `select i.item_key, r.repetition, r.status, r.votes, (select count(*)::int from evaluation_scores s where s.result_id = r.id) as scores
       from evaluation_results r join evaluation_items i on i.id = r.item_id where r.evaluation_run_id = ? order by i.position, r.repetition`,
    [id],
  );

/** A judge that answers so many questions and none after them, until it is let go on. */
function heldJudge(answered: number) {
  const asked: string[] = [];
  let isHeld = true;
  world.judges = (prompt) => {
    asked.push(itemOf(prompt));
    return isHeld && asked.length > answered ? { fault: { kind: 'hang' } } : judgement({ reasoning: 'Fine.', score: 5 });
  };
  return { asked, letGo: () => void (isHeld = false) };
}

async function expectWhole(id: string): Promise<void> {
  const done = await world.ended(id);
  const results = await resultsOf(id);
  expect(done).toMatchObject({ status: 'succeeded', summary: { results: 24, completed: 24, errors: 0, skipped: 0, pass_rate: 0.75 } });
  expect(results).toHaveLength(24);
  expect(results.filter(({ scores }) => scores !== 2)).toEqual([]);
  const runs = await world.sql<{ n: number }>('select count(*)::int as n from runs where evaluation_run_id = ?', [id]);
  expect(runs).toEqual([{ n: 24 }]);
  expect(await world.exported(done.summary.results_attachment_id)).toHaveLength(24);
  expect(await world.sql("select payload ->> 'status' as status from events where payload ->> 'evaluation_run_id' = ?", [id])).toEqual([
    { status: 'succeeded' },
  ]);
}

test('a worker killed while judges vote: every repetition ends once with one score per evaluator, and no stored vote is asked for again', async () => {
  const { asked, letGo } = heldJudge(13);
  const id = await world.create(agentId, { dataset: { items: list }, evaluators: [exact, judge], repetitions: 2 });
  await until(() => asked.length >= 13 + 5);

  await world.stack.kill('worker-bulk');
  const stored = (await resultsOf(id)).flatMap(({ item_key: key, status, votes }) => [
    ...Array.from(
      { length: status === 'passed' || status === 'failed' ? 3 : Object.values(votes).filter((vote) => 'value' in vote).length },
      () => key,
    ),
  ]);
  const before = asked.length;
  letGo();
  await world.stack.start('worker-bulk');
  await expectWhole(id);

  const after = Map.groupBy(asked.slice(before), (key) => key);
  for (const { id: key } of list)
    expect({ key, asked: after.get(key)?.length ?? 0 }).toEqual({ key, asked: 6 - stored.filter((one) => one === key).length });
  expect(stored.length).toBeGreaterThan(5);
  // The five questions that the lost worker had asked are billed too, by estimate.
  const { judgeRows, judgeEstimates } = await world.ledger(id);
  expect(judgeRows).toBeGreaterThanOrEqual(asked.length);
  expect(judgeEstimates).toBeGreaterThanOrEqual(5);
});

matrixTest('the worker of the runs killed in the middle changes nothing either', async () => {
  let count = 0;
  world.judges = () => judgement({ reasoning: 'Fine.', score: 5 });
  world.answers = (text) => (++count > 6 && count < 12 ? { ...said(text), first_token_ms: 60_000 } : said(text));
  const id = await world.create(agentId, { dataset: { items: list }, evaluators: [exact, judge], repetitions: 2 });
  await until(() => count >= 9);

  await world.stack.kill('worker-runs');
  await world.stack.start('worker-runs');

  await expectWhole(id);
});

matrixTest('a worker that is frozen until its pass is given to another try, and then goes on, scores nothing twice', async () => {
  const { asked, letGo } = heldJudge(10);
  const id = await world.create(agentId, { dataset: { items: list }, evaluators: [exact, judge], repetitions: 2 });
  await until(() => asked.length >= 10 + 5);
  const attempt = async () => {
    const { raw } = await world.stack.temporal.client.workflow.getHandle(`eval:${id}`).describe();
    return Math.max(0, ...(raw.pendingActivities ?? []).map((pending) => pending.attempt ?? 0));
  };

  await world.stack.kill('worker-bulk', 'SIGSTOP');
  await until(async () => (await attempt()) >= 2);
  letGo();
  await world.stack.kill('worker-bulk', 'SIGCONT');

  await expectWhole(id);
});

test('an evaluation whose workflow is lost is started again from its rows', async () => {
  world.answers = (text) => ({ ...said(text), first_token_ms: 500 });
  world.judges = () => judgement({ reasoning: 'Fine.', score: 5 });
  const id = await world.create(agentId, { dataset: { items: list }, evaluators: [exact, judge], repetitions: 2, concurrency: 2 });
  await until(async () => (await resultsOf(id)).some(({ status }) => status === 'passed'));

  await world.stack.temporal.client.workflow.getHandle(`eval:${id}`).terminate('lost');
  await world.sql("update evaluation_runs set created_at = now() - interval '1 hour' where id = ?", [id]);
  await runUpkeep(world.stack.temporal, 'reembeds');

  await expectWhole(id);
});
