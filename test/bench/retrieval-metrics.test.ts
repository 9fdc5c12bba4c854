import { describe, expect, test } from '@jest/globals';
import { meanMetrics, ndcg, recall, reciprocalRank } from '../../bench/harness/retrieval-metrics.ts';

const judged = new Map([
  ['a', 3],
  ['b', 2],
  ['c', 1],
  ['d', 0],
]);

describe('metrics of retrieval, against values worked by hand', () => {
  test('nDCG discounts by rank and divides by the best order', () => {
    // Found b (2), x (0), a (3): 2/1 + 0 + 3/2 = 3.5. Best: 3/1 + 2/log2(3) + 1/2 = 4.761860.
    expect(ndcg(['b', 'x', 'a'], judged, 10)).toBeCloseTo(3.5 / 4.76186, 5);
    expect(ndcg(['a', 'b', 'c'], judged, 10)).toBe(1);
    expect(ndcg(['x', 'd'], judged, 10)).toBe(0);
  });

  test('nDCG at a depth sees no further, and its best order no further either', () => {
    // At 1: found b = 2, best a = 3.
    expect(ndcg(['b', 'a'], judged, 1)).toBeCloseTo(2 / 3, 10);
    expect(ndcg(['x', 'a'], judged, 1)).toBe(0);
  });

  test('recall counts relevant documents, whatever their gain', () => {
    expect(recall(['a', 'd', 'x', 'c'], judged, 10)).toBeCloseTo(2 / 3, 10);
    expect(recall(['x', 'a'], judged, 1)).toBe(0);
    expect(recall(['a'], new Map([['a', 0]]), 10)).toBe(0);
  });

  test('the reciprocal rank is that of the first relevant document', () => {
    expect(reciprocalRank(['d', 'x', 'c', 'a'], judged)).toBeCloseTo(1 / 3, 10);
    expect(reciprocalRank(['d', 'x'], judged)).toBe(0);
  });

  test('means pass over queries without a relevant document, and count those without a ranking as 0', () => {
    const queries = new Map([
      ['q1', new Map([['a', 1]])],
      ['q2', new Map([['b', 1]])],
      ['q3', new Map([['c', 0]])],
      ['q4', new Map([['d', 1]])],
    ]);
    const rankings = new Map([
      ['q1', ['a']],
      ['q2', ['x', 'b']],
    ]);

    const means = meanMetrics(queries, rankings);

    expect(means.queries).toBe(3);
    expect(means.mrr).toBeCloseTo((1 + 0.5 + 0) / 3, 10);
    expect(means.recall10).toBeCloseTo(2 / 3, 10);
    expect(means.ndcg10).toBeCloseTo((1 + 1 / Math.log2(3)) / 3, 10);
  });
});
