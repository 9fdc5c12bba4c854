import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { bm25 } from '../../domain/knowledge/search/bm25.ts';
import { decayFactor } from '../../domain/knowledge/search/search.ts';
import { fuse, fuseBases, type RankedChunk } from '../../domain/knowledge/search/fusion.ts';

const statistics = { chunkCount: 4, totalLexemes: 40, documentFrequencies: [1, 4] };

describe('BM25, against values worked by hand', () => {
  test('a rare lexeme weighs more, and one in every chunk still a little', () => {
    // Average length 10. idf(1 of 4) = ln(1 + 3.5/1.5) = 1.203973; idf(4 of 4) = ln(1 + 0.5/4.5) = 0.105361; tf part 1 x 2.2/(1 + 1.2) = 1.
    expect(bm25({ lexemeCount: 10, frequencies: [1, 0] }, statistics)).toBeCloseTo(1.203973, 5);
    expect(bm25({ lexemeCount: 10, frequencies: [0, 1] }, statistics)).toBeCloseTo(0.105361, 5);
    expect(bm25({ lexemeCount: 10, frequencies: [1, 1] }, statistics)).toBeCloseTo(1.309333, 5);
  });

  test('repeats saturate and length counts against a chunk', () => {
    // tf 3: 3 x 2.2 / (3 + 1.2) = 1.571429. Length 20: norm 1.2 x (0.25 + 1.5) = 2.1, 2.2 / 3.1 = 0.709677.
    expect(bm25({ lexemeCount: 10, frequencies: [3, 0] }, statistics)).toBeCloseTo(1.203973 * 1.571429, 5);
    expect(bm25({ lexemeCount: 20, frequencies: [1, 0] }, statistics)).toBeCloseTo(1.203973 * 0.709677, 5);
  });

  test('counters that lag behind give a score all the same', () => {
    const lagging = { chunkCount: 2, totalLexemes: 0, documentFrequencies: [9] };
    const score = bm25({ lexemeCount: 5, frequencies: [1] }, lagging);
    expect(score).toBeGreaterThan(0);
    expect(Number.isFinite(score)).toBe(true);
  });
});

describe('fusion', () => {
  const lexical = [chunk('a', 12), chunk('b', 8), chunk('c', 1)];
  const vector = [chunk('b', 0.9), chunk('d', 0.4)];

  test('a chunk that both legs rank first has the score 1', () => {
    const [first] = fuse({ mode: 'hybrid', lexical: [chunk('a', 3)], vector: [chunk('a', 0.2)], vectorWeight: 0.7 });
    expect(first?.score).toBeCloseTo(1, 10);
  });

  test('ranks add up by weight', () => {
    const fused = fuse({ mode: 'hybrid', lexical, vector, vectorWeight: 0.5 });

    expect(fused.map(({ chunkId }) => chunkId)).toEqual(['b', 'a', 'c', 'd']);
    expect(fused[0]?.score).toBeCloseTo((1 / 62 + 0.5 / 61) / (1.5 / 61), 10);
    expect(fused[0]).toMatchObject({ lexical: { score: 8, rank: 2 }, vector: { score: 0.9, rank: 1 } });
    expect(fused[3]).toMatchObject({ lexical: null, vector: { score: 0.4, rank: 2 } });
  });

  test('a mode of one leg shows that leg: s / (s + 8), and the cosine cut at 0', () => {
    const alone = { lexical, vector: [chunk('a', 0.5), chunk('b', -0.2)], vectorWeight: 1 };
    expect(fuse({ ...alone, mode: 'lexical', vector: null }).map(({ score }) => score)).toEqual([12 / 20, 8 / 16, 1 / 9]);
    expect(fuse({ ...alone, mode: 'vector', lexical: null }).map(({ score }) => score)).toEqual([0.5, 0]);
  });

  test('a vector leg of weight 0 decides where the lexical leg found nothing', () => {
    const fused = fuse({ mode: 'hybrid', lexical: [], vector, vectorWeight: 0 });
    expect(fused.map(({ chunkId }) => chunkId)).toEqual(['b', 'd']);
    expect(fused[0]?.score).toBeCloseTo(1, 10);
    expect(fused[1]?.score).toBeCloseTo(61 / 62, 10);
  });

  test('equal scores are ordered by chunk id', () => {
    const equal = [chunk('b', 1), chunk('a', 1)].toSorted((left, right) => (left.chunkId < right.chunkId ? -1 : 1));
    const fused = fuse({ mode: 'vector', lexical: null, vector: equal, vectorWeight: 1 });
    expect(fused.map(({ chunkId }) => chunkId)).toEqual(['a', 'b']);
  });

  test('several bases take turns by rank, and scores decide between equal ranks', () => {
    const one = fuse({ mode: 'lexical', lexical: [chunk('a', 1), chunk('b', 0.5)], vector: null, vectorWeight: 1 });
    const two = fuse({ mode: 'lexical', lexical: [chunk('c', 9), chunk('d', 8)], vector: null, vectorWeight: 1 });
    expect(fuseBases([one, two]).map(({ chunkId }) => chunkId)).toEqual(['c', 'a', 'd', 'b']);
  });

  test('scores lie between 0 and 1, sink along the ranking, and no chunk is lost or doubled', () => {
    const ranking = fc
      .uniqueArray(fc.integer({ min: 0, max: 30 }), { maxLength: 20 })
      .map((ids) => ids.map((id, at) => chunk(`c${id}`, 20 - at)));
    fc.assert(
      fc.property(ranking, ranking, fc.double({ min: 0, max: 2, noNaN: true }), (left, right, vectorWeight) => {
        const fused = fuse({ mode: 'hybrid', lexical: left, vector: right, vectorWeight });
        const ids = new Set([...left, ...right].map(({ chunkId }) => chunkId));
        expect(new Set(fused.map(({ chunkId }) => chunkId))).toEqual(ids);
        expect(fused).toHaveLength(ids.size);
        for (const [at, { score }] of fused.entries()) {
          expect(score).toBeGreaterThanOrEqual(0);
          expect(score).toBeLessThanOrEqual(1);
          expect(score).toBeLessThanOrEqual(fused[at - 1]?.score ?? 1);
        }
      }),
    );
  });
});

describe('decay', () => {
  const now = new Date('2026-06-01T00:00:00Z');
  const ago = (days: number) => new Date(now.getTime() - days * 86_400_000);

  test('halves what lies above the floor once a half-life, and never goes below it', () => {
    const decay = { halfLifeDays: 90, floor: 0.5 };
    expect(decayFactor(decay, { usedAt: now, now })).toBe(1);
    expect(decayFactor(decay, { usedAt: ago(90), now })).toBeCloseTo(0.75, 10);
    expect(decayFactor(decay, { usedAt: ago(100_000), now })).toBeCloseTo(0.5, 10);
    expect(decayFactor(decay, { usedAt: new Date(now.getTime() + 5_000), now })).toBe(1);
  });
});

function chunk(chunkId: string, score: number): RankedChunk {
  return { chunkId, score };
}
