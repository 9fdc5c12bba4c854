import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { hashDim, hashVector } from '../../../ports/embeddings/hash.ts';

const cosine = (left: string, right: string) => {
  const [a, b] = [hashVector(left), hashVector(right)];
  return a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0);
};

test('any text has one vector of 1,024 numbers and length 1, the same each time', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
      const vector = hashVector(text);

      expect(vector).toHaveLength(hashDim);
      expect(vector.reduce((sum, value) => sum + value * value, 0)).toBeCloseTo(1, 4);
      expect(hashVector(text)).toEqual(vector);
    }),
  );
});

test('the vector of a text never changes: bases hold those of former releases', () => {
  const strongest = (text: string) =>
    [...hashVector(text).entries()]
      .toSorted(([, a], [, b]) => Math.abs(b) - Math.abs(a) || 0)
      .slice(0, 3)
      .map(([at, value]) => [at, Math.round(value * 1e4)]);

  expect(strongest('to be or not to be, that is the question')).toEqual([
    [92, -2265],
    [272, -2265],
    [443, 2265],
  ]);
  expect(strongest('東京の天気')).toEqual([
    [78, 3333],
    [398, 3333],
    [438, -3333],
  ]);
});

test('texts are near where they share words, pairs of words, or parts of words', () => {
  expect(cosine('cancel a run', 'how do I cancel a run?')).toBeGreaterThan(0.5);
  expect(cosine('reconcile the ledger', 'Reconciliation of ledgers')).toBeGreaterThan(0.4);
  expect(cosine('東京の天気', '天気 東京')).toBeGreaterThan(0.4);
  expect(cosine('ÉCOLE', 'école')).toBeCloseTo(1);
  expect(Math.abs(cosine('cancel a run', 'boil two eggs'))).toBeLessThan(0.2);
  expect(cosine('dog bites man', 'man bites dog')).toBeLessThan(0.99);
});

test('signs alone have a vector as well', () => {
  expect(cosine('!?', '!?')).toBeCloseTo(1);
  expect(cosine('', '')).toBeCloseTo(1);
});
