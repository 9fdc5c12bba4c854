import { expect, test } from '@jest/globals';
import { ExactMatch, Levenshtein, NumericDiff, ValidJSON } from 'autoevals';
import { exactMatch, levenshtein, numericDiff } from '../../domain/evaluations/score-output.ts';
import { validateValue } from '../../ports/json/schema-rules.ts';
import type { ScoredAnswer, Scoring } from '../../domain/evaluations/scored.ts';

const answer = (text: string, expected: unknown): ScoredAnswer => ({
  text,
  json: undefined,
  expected,
  toolsExpected: null,
  calls: [],
  citedItemIds: [],
  foundItemIds: [],
  latencyMs: 0,
  cost: '0',
  tokens: { input: 0, output: 0 },
  turns: 1,
});
const scoreOf = (scoring: Scoring): number => (scoring.kind === 'scored' ? scoring.score : Number.NaN);
const texts = [
  '',
  'a',
  'Paris',
  'paris',
  'Paris.',
  'kitten',
  'sitting',
  'the quick brown fox',
  'the quack brawn fix',
  'ümläut',
  '日本語',
  '日本',
];

test('exact_match is ExactMatch of autoevals, and levenshtein its Levenshtein', async () => {
  const exact = { trim: false, case_sensitive: true, unicode: 'none' as const };
  for (const output of texts)
    for (const expected of texts) {
      const theirs = await ExactMatch({ output, expected });
      expect({ output, expected, score: scoreOf(exactMatch(exact, answer(output, expected))) }).toEqual({
        output,
        expected,
        score: theirs.score,
      });
      const distance = await Levenshtein({ output, expected });
      expect(scoreOf(levenshtein(answer(output, expected)))).toBeCloseTo(distance.score ?? Number.NaN, 12);
    }
});

test('json_schema takes what ValidJSON of autoevals takes', async () => {
  const schema = { type: 'object', properties: { n: { type: 'integer', minimum: 3 } }, required: ['n'] };
  for (const output of ['{"n": 3}', '{"n": 2}', '{"n": "3"}', '{}', '[]', '{"n": 3, "m": null}']) {
    const theirs = await ValidJSON({ output, schema });
    expect({ output, score: validateValue(schema, JSON.parse(output)).length === 0 ? 1 : 0 }).toEqual({ output, score: theirs.score });
  }
});

test('where the two go apart, ours does what the documents say: numeric_diff divides by the larger number', async () => {
  // autoevals divides by the sum of both: 90 of 100 is 0.947368 there.
  expect((await NumericDiff({ output: 90, expected: 100 })).score).toBeCloseTo(1 - 10 / 190, 12);
  expect(scoreOf(numericDiff(null, answer('90', 100)))).toBeCloseTo(0.9, 12);
  for (const [output, expected] of [
    [0, 0],
    [5, 5],
    [0, 7],
  ] as const) {
    const theirs = await NumericDiff({ output, expected });
    expect(scoreOf(numericDiff(null, answer(String(output), expected)))).toBeCloseTo(theirs.score ?? Number.NaN, 12);
  }
});
