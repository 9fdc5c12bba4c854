import { expect, test } from '@jest/globals';
import { isRelevant } from '../../domain/knowledge/search/relevance.ts';
import type { SearchHit } from '../../domain/knowledge/search/search.ts';

const hit = (text: string, scores: { readonly lexical?: number; readonly vector?: number } = {}): Pick<SearchHit, 'row' | 'ranks'> => {
  const leg = (score: number | undefined) => (score === undefined ? null : { score, rank: 1 });
  // What is looked at of a hit: its words and its scores.
  const row = { text, title: null } as SearchHit['row'];
  return { row, ranks: { chunkId: 'c', score: 1, fullScore: 1, lexical: leg(scores.lexical), vector: leg(scores.vector) } };
};

test('a passage is relevant by its cosine, by BM25, or by half of the words of the question; its rank alone says nothing', () => {
  const about = 'Otters hold hands while they sleep.';

  expect(isRelevant(hit('Something else.', { vector: 0.4 }), about, 'en')).toBe(true);
  expect(isRelevant(hit('Something else.', { lexical: 9 }), about, 'en')).toBe(true);
  expect(isRelevant(hit('Sleeping otters held hands.', { lexical: 0.3 }), about, 'en')).toBe(true);
  expect(isRelevant(hit('A hand on the valve.', { lexical: 2, vector: 0.2 }), about, 'en')).toBe(false);
  expect(isRelevant(hit('Something else.'), 'And then?', 'en')).toBe(false);
});

test('languages without spaces are compared by their pairs of characters', () => {
  expect(isRelevant(hit('東京の天気は晴れです。'), '東京の天気', 'ja')).toBe(true);
  expect(isRelevant(hit('大阪の電車は速い。'), '東京の天気', 'ja')).toBe(false);
});
