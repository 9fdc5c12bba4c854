import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { lexLanguages } from '../../ports/chunking/lex-languages.ts';
import { lex, lexQuery } from '../../ports/chunking/lex.ts';
import { humanRights } from './human-rights.ts';

const languages = fc.constantFrom(...lexLanguages, 'xx');
const words = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 20 }),
  fc.string({ unit: 'binary', maxLength: 10 }),
  fc.constantFrom(
    'node.js',
    'snake_case',
    'C++',
    '東京都',
    'สวัสดี',
    'ΟΔΟΣ',
    'ΣΑΣ.',
    'l’eau',
    'İstanbul',
    'ﬁne',
    '한국어',
    'က',
    'don’t',
    '２０２４年',
    'x'.repeat(90),
  ),
);

test('a document has all tokens of a query of each of its words, in every language', () => {
  fc.assert(
    fc.property(fc.array(words, { maxLength: 12 }), languages, (parts, language) => {
      const text = parts.join(' ');
      const tokens = new Set(lex(text, language));

      for (const word of text.split(/\s+/v)) for (const token of lexQuery(word, language)) expect(tokens).toContain(token);
      for (const token of lexQuery(text, language)) expect(tokens).toContain(token);
      for (const token of tokens) {
        expect([...token].length).toBeLessThanOrEqual(64);
        expect(token).not.toMatch(/^$|[\s\0]/v);
      }
    }),
    { numRuns: 1_000 },
  );
});

test.each(Object.entries(humanRights))('each word of a text in %s, and each pair of its characters, is found', (language, article) => {
  const tokens = lex(article, language);

  expect(tokens.length).toBeGreaterThan(5);
  for (const { segment, isWordLike } of new Intl.Segmenter(language, { granularity: 'word' }).segment(article)) {
    if (isWordLike) for (const token of lexQuery(segment, language)) expect(tokens).toContain(token);
  }
  expect(lexQuery(article, language).length).toBeGreaterThan(5);
});

test.each<[string, string, string[]]>([
  ['en', 'The users are searching for Embeddings', ['user', 'search', 'embed']],
  ['en', 'It doesn’t, we can’t and they’re not', []],
  [
    'en',
    'node.js, snake_case, C++ and C#; me@example.org 2.4.0',
    [
      'node.js',
      'node',
      'js',
      'snake_case',
      'snake',
      'case',
      'c++',
      'c',
      'c#',
      'c',
      'me@example.org',
      'exampl',
      'org',
      '2.4.0',
      '2',
      '4',
      '0',
    ],
  ],
  ['none', 'The Users', ['the', 'users']],
  ['de', 'die Häuser und Gärten', ['haus', 'gart']],
  ['fr', 'l’eau des rivières', ['eau', 'rivi']],
  ['uk', 'п’ять', ["п'ят"]],
  ['tr', 'IŞIK ışık', ['ışık', 'ışık']],
  ['el', 'ΟΔΟΣ οδος', ['οδ', 'οδ']],
  ['none', 'Ｆｕｌｌ ｗｉｄｔｈ ﬁt', ['full', 'width', 'fit']],
  ['none', 'so\u00ADft', ['soft']],
  ['none', '東京都 年', ['東', '東京', '京', '京都', '都', '年']],
  ['none', 'ｶﾅ', ['カ', 'カナ', 'ナ']],
  ['none', 'iPhone手机', ['iphone', '手', '手机', '机']],
])('%s: %s', (language, text, expected) => {
  expect(lex(text, language)).toEqual(expected);
});

test.each<[string, string[]]>([
  ['東京都', ['東京', '京都']],
  ['年', ['年']],
  ['สวัสดี', ['สวั', 'วัส', 'สดี']],
  ['node.js', ['node.js', 'node', 'js']],
])('a query %s asks for pairs where there are any', (text, expected) => {
  expect(lexQuery(text, 'none')).toEqual(expected);
});

test('a compound over 64 characters is known by its parts, a longer word by its beginning', () => {
  expect(lex(`${'a'.repeat(40)}.${'b'.repeat(40)}`, 'none')).toEqual(['a'.repeat(40), 'b'.repeat(40)]);
  expect(lex('𝒳'.normalize('NFKC') + '𐐷'.repeat(80), 'none')[0]).toHaveLength(1 + 63 * 2);
});

test('a code that names a member of every object is no language', () => {
  expect(lex('The users', 'constructor')).toEqual(['the', 'users']);
});
