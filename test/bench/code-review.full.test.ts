import { expect, test } from '@jest/globals';
import { cleanPulls } from '../../bench/code-review/clean.ts';
import { changedText, sourceText } from '../../bench/code-review/corpus.ts';
import { faultLine, playPull } from '../../bench/code-review/play.ts';
import { plantedPulls } from '../../bench/code-review/planted.ts';
import { scoreOf } from '../../bench/code-review/score.ts';
import { answerByScript } from '../../bench/code-review/scripted-answers.ts';

const corpus = [...plantedPulls, ...cleanPulls];

test('the corpus has forty planted faults and twenty clean changes, each of which changes its source where it says', () => {
  expect([plantedPulls.length, cleanPulls.length]).toEqual([40, 20]);
  expect(new Set(corpus.map(({ source }) => source)).size).toBe(20);
  for (const pull of corpus) {
    expect(changedText(pull)).not.toBe(sourceText(pull.source));
    expect({ id: pull.id, line: faultLine(pull) }).toEqual({ id: pull.id, line: pull.fault === null ? null : expect.any(Number) });
  }
});

test('scripted answers, false ones among them: nothing is told of clean changes, and what is told of the others is right and nearly all', async () => {
  const played = [];
  for (const pull of corpus) played.push(await playPull(pull, answerByScript));

  const score = scoreOf(played);

  const noisy = played.filter(({ pull, conclusion }) => pull.fault === null && conclusion.findings.length > 0);
  expect(noisy.map(({ pull }) => pull.id)).toEqual([]);
  // Of forty faults the script misses two and refutes two; of its false findings it confirms two.
  expect(score).toMatchObject({ planted: 40, clean: 20, recall: 36 / 40, precision: 36 / 38, perClean: 0 });
  // Of three the code stands elsewhere in the file as well: they are outdated when they leave the change.
  expect(score.addressed).toBe(33 / 36);
  // Each fault is told once, however often it was found.
  for (const { conclusion } of played) expect(conclusion.findings.length).toBeLessThanOrEqual(2);
});
