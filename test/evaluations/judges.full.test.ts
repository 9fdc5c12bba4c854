import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { newId } from '../../db/ids.ts';
import { matrixTest } from '../chaos/whole.ts';
import type { ScriptStep } from '../fakes/model-script.ts';
import { exact, fakeModels, judgement, makeEchoAgent, openEvaluations, said, type EvaluationWorld } from './evaluation-world.ts';

const folder = mkdtempSync(join(tmpdir(), 'longhaul-judges-'));
let world: EvaluationWorld;
let agentId: string;

beforeAll(async () => {
  world = await openEvaluations(undefined, { envOf: fakeModels(folder, ['hasty'], 1) });
  world.models.script('hasty', { steps: [], choose: (text) => world.judges?.(text) ?? {} });
  agentId = await makeEchoAgent(world, { model: 'compatible/m' });
});
beforeEach(() => {
  world.answers = said;
  world.judges = null;
});
afterAll(async () => {
  await world?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const fine = judgement({ reasoning: 'Fine.', score: 5 });
const hang: ScriptStep = { fault: { kind: 'hang' } };

/** Evaluates one item with a judge that has three votes and answers the questions in their order; gives the result, the evaluation and what was asked. */
async function judged(answers: readonly ScriptStep[], params: object = {}, maxMs?: number) {
  const word = newId();
  const questions: string[] = [];
  world.judges = (prompt) => {
    questions.push(prompt);
    return answers[questions.length - 1] ?? fine;
  };
  const judge = { key: 'judge', type: 'llm_judge', params: { rubric: 'Politeness', votes: 3, model: 'fake/hasty', ...params } };
  const dataset = { items: [{ input: `say ${word}`, expected: word }] };
  const done = await world.ended(await world.create(agentId, { dataset, evaluators: [exact, judge] }), maxMs);
  const [result] = done.results;
  return { done, result, score: result.scores.find(({ key }: { key: string }) => key === 'judge'), asked: questions.length };
}

const inError = (code: string) => ({ state: 'error', score: null, passed: null, error: { code, message: expect.any(String) } });

/** The evaluation and its one result, once the judge has failed with a code; the plain score stays. */
function expectFailed({ done, result, score }: Awaited<ReturnType<typeof judged>>, code: string): void {
  expect(done).toMatchObject({ status: 'failed', summary: { failure: { code: 'error_rate' }, errors: 1, pass_rate: null, pass_ci: null } });
  expect(result).toMatchObject({ status: 'error', reason: code, score: null });
  expect(score).toMatchObject(inError(code));
  expect(result.scores).toContainEqual(expect.objectContaining({ key: 'exact', state: 'done', score: 1, passed: true }));
  expect(done.summary.evaluators.judge).toMatchObject({ n: 0, mean: null, errors: 1 });
}

test('a judge that falls silent is asked three times for that vote, then judge_timeout; the vote before it is not asked for again, and each call is in the ledger', async () => {
  const found = await judged([fine, hang, hang, hang]);

  expectFailed(found, 'judge_timeout');
  expect(found.asked).toBe(4);
  expect(await world.ledger(found.done.id)).toMatchObject({ judgeRows: 4, judgeEstimates: 3 });
});

test('a judge that is silent once has its vote at the next try', async () => {
  const found = await judged([hang], { votes: 1 });

  expect(found.result).toMatchObject({ status: 'passed', score: 1 });
  expect(found.asked).toBe(2);
});

test('a judge that refuses is asked once: judge_refused, by its words or by the filter of its provider, and by what the provider bills', async () => {
  const byWords = await judged([{ refusal: 'I will not judge that.' }]);
  const byEnd = await judged([fine, { text: 'No.', refusal: 'No.', finish_reason: 'content_filter' }]);
  const byFilter = await judged([{ text: '', finish_reason: 'content_filter' }]);

  for (const found of [byWords, byEnd, byFilter]) expectFailed(found, 'judge_refused');
  expect([byWords.asked, byEnd.asked, byFilter.asked]).toEqual([1, 2, 1]);
  expect((await world.ledger(byWords.done.id)).judgeRows).toBe(1);
  expect((await world.ledger(byEnd.done.id)).judgeRows).toBe(2);
});

test('an answer of another form is asked for again, twice: then it counts, or is judge_off_schema; all three are billed', async () => {
  const broken = [judgement({ score: 'many', reasoning: 'x' }), { text: 'Very good!' }, judgement({ reasoning: 'x', score: 6 })];

  const mended = await judged(broken.slice(0, 2), { votes: 1 });
  const never = await judged(broken, { votes: 1 });

  expect(mended.result).toMatchObject({ status: 'passed', score: 1 });
  expect(mended.asked).toBe(3);
  expectFailed(never, 'judge_off_schema');
  expect(never.asked).toBe(3);
  expect(await world.ledger(never.done.id)).toMatchObject({ judgeRows: 3, judgeEstimates: 0 });
});

test('a provider that is away for all tries is judge_unavailable, and costs nothing', async () => {
  const away: ScriptStep = { fault: { kind: 'status', status: 503 } };
  const found = await judged([fine, away, away, away]);

  expectFailed(found, 'judge_unavailable');
  expect(await world.ledger(found.done.id)).toMatchObject({ judgeRows: 1 });
});

test('votes that tie: the median of 1, 5 and 3 is the middle of the scale', async () => {
  const votes = [1, 5, 3].map((score) => judgement({ reasoning: `As ${score}.`, score }));

  const { score } = await judged(votes, { votes: 3 });

  expect(score).toMatchObject({ state: 'done', score: 0.5, passed: false, reason: 'As 3.' });
});

// A judge that never falls silent and never ends either: it takes three times two minutes.
matrixTest(
  'a call has two minutes, however busy it looks: judge_timeout',
  async () => {
    const busy: ScriptStep = { tokens: 2_000, delay_ms: 500 };
    const found = await judged([busy, busy, busy], { votes: 1, model: 'compatible/m' }, 500_000);

    expectFailed(found, 'judge_timeout');
    expect(found.asked).toBe(3);
    expect(await world.ledger(found.done.id)).toMatchObject({ judgeRows: 3, judgeEstimates: 3 });
  },
  600_000,
);
