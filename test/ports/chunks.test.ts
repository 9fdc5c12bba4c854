import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { cutChunks, type Chunk, type ChunkOptions } from '../../ports/chunking/chunks.ts';
import { contentHash } from '../../ports/content-hash.ts';
import { countTokens } from '../../ports/models/token-count.ts';
import { humanRights } from './human-rights.ts';

const small: ChunkOptions = { sizeTokens: 64, overlapTokens: 0, countTokens };
const cut = (content: string, options: Partial<ChunkOptions> = {}) => cutChunks({ content, title: null }, { ...small, ...options });
const sentence = 'The tenants of a house pay their rent on the first day of each month. ';

/** What no passage holds, in code points. */
function uncovered(content: string, chunks: readonly Chunk[]): string {
  const left = [...content];
  for (const { charStart, charEnd } of chunks) left.fill('', charStart, charEnd);
  return left.join('');
}

const prose = fc.array(
  fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 40 }),
    fc.constantFrom(
      '\n',
      '\n\n',
      '# Heading\n',
      '## Below\n',
      '| a | b |\n|---|---|\n',
      '| 1 | 2 |\n',
      '```\n',
      sentence,
      '漢字かな交じり文。',
      '👩‍👩‍👧',
      '\r\n',
      'é'.normalize('NFD'),
    ),
  ),
  { maxLength: 60 },
);
const settings = fc.record({ sizeTokens: fc.integer({ min: 64, max: 120 }), overlapTokens: fc.integer({ min: 0, max: 200 }) });

test('passages are slices, cover all but white space, keep the size and go on', () => {
  fc.assert(
    fc.property(prose, settings, (parts, options) => {
      const content = parts.join('').replaceAll('\u0000', '');
      const points = [...content];
      const chunks = cut(content, options);

      for (const { text, charStart, charEnd, tokenCount } of chunks) {
        expect(points.slice(charStart, charEnd).join('')).toBe(text);
        expect(text).toBe(text.trim());
        expect(tokenCount).toBe(countTokens(text));
        expect(tokenCount).toBeLessThanOrEqual(options.sizeTokens);
      }
      expect(uncovered(content, chunks).trim()).toBe('');
      expect(chunks.map(({ ord }) => ord)).toEqual(chunks.map((_, at) => at));
      for (const [at, { charStart, charEnd }] of chunks.slice(1).entries()) {
        expect(charStart).toBeGreaterThan(chunks[at]?.charStart ?? 0);
        expect(charEnd).toBeGreaterThan(chunks[at]?.charEnd ?? 0);
      }
    }),
    { numRuns: 300 },
  );
});

test.each(Object.entries(humanRights))('a text in %s is cut between its sentences', (_language, article) => {
  const content = Array.from({ length: 12 }, () => article).join('\n\n');
  const chunks = cut(content, { sizeTokens: 200 });

  expect(chunks.length).toBeGreaterThan(1);
  expect(uncovered(content, chunks).trim()).toBe('');
  for (const { text } of chunks) expect(text).toMatch(/[.。।၊။។]$|[\p{Script=Thai}\p{Script=Lao}]$/v);
});

test('a cut prefers a heading to a paragraph, and a paragraph to a sentence', () => {
  const content = `${sentence.repeat(2)}\n\n${sentence}\n\n# Next\n\n${sentence.repeat(3)}\n\n${sentence.repeat(3)}`;
  const chunks = cut(content);

  expect(chunks.map(({ text }) => text.split('\n')[0]?.trim())).toEqual([sentence.repeat(2).trim(), '# Next', sentence.repeat(3).trim()]);
});

test('the context of a passage is title, headings above it and the header of its table', () => {
  const rows = Array.from({ length: 30 }, (_, at) => `| ${at} | value of row ${at} |`).join('\n');
  const content = `# Prices\n\n## Europe ##\n\n| no | text |\n|---|:--|\n${rows}\n\n## Asia\n\n${sentence.repeat(6)}`;
  const chunks = cutChunks({ content, title: 'List' }, small);
  const contextOf = (words: string) => chunks.find(({ text }) => text.includes(words))?.context;

  expect(contextOf('# Prices')).toBe('List');
  expect(contextOf('row 20 ')).toBe('List\nPrices > Europe\n| no | text |');
  expect(chunks.at(-1)?.context).toBe('List\nPrices > Asia');
  expect(cut('No title, no heading.')[0]?.context).toBeNull();
});

test('headings and tables inside of code are code', () => {
  const content = `\`\`\`sh\n# a comment\na | b\n--|--\n\`\`\`\n\n${sentence.repeat(8)}`;

  expect(cut(content).every(({ context }) => context === null)).toBe(true);
});

test('passages overlap by whole sentences, but not behind a heading', () => {
  const content = Array.from({ length: 12 }, (_, at) => `This is sentence number ${at} of a longer text. `).join('');
  const [first, second] = cut(content, { overlapTokens: 24 });
  const cutAtHeading = cut(`${sentence.repeat(4)}\n\n# Next\n\n${sentence.repeat(2)}`, { overlapTokens: 24 });

  const shared = content.slice(second?.charStart, first?.charEnd);
  expect(shared).toMatch(/^This is sentence number \d+ of a longer text\.( This|$)/);
  expect(countTokens(shared)).toBeLessThanOrEqual(24);
  expect(cutAtHeading.at(-1)?.text).toMatch(/^# Next/);
});

test('no passage goes over the end of a page, and none repeats words of the page before', () => {
  const texts = ['The seal lasts two years.', 'The valve is closed first.', 'Spare parts are ordered by phone.'];
  const starts = texts.map((_, at) => texts.slice(0, at).join('\n\n').length + (at === 0 ? 0 : 2));

  const chunks = cutChunks(
    { content: texts.join('\n\n'), title: null, pages: starts.map((start, at) => ({ page: at + 1, start })) },
    { sizeTokens: 400, overlapTokens: 40, countTokens: (text) => text.split(/\s+/).length },
  );

  expect(chunks.map(({ page, text }) => ({ page, text }))).toEqual(texts.map((text, at) => ({ page: at + 1, text })));
});

test('offsets count code points, and pages are those where a passage starts', () => {
  const page = `${'😀'.repeat(10)} ${sentence.repeat(4)}`;
  const start = [...page].length;
  const chunks = cutChunks(
    {
      content: page + page,
      title: null,
      pages: [
        { page: 1, start: 0 },
        { page: 2, start },
      ],
    },
    small,
  );

  expect(chunks[0]?.page).toBe(1);
  expect(chunks.at(-1)?.page).toBe(2);
  for (const { charStart, page: shown } of chunks) expect(shown).toBe(charStart < start ? 1 : 2);
});

test.each<[string, string]>([
  ['one letter', 'a'.repeat(200_000)],
  ['one Han character', '漢'.repeat(100_000)],
  ['white space and a letter', `${' '.repeat(199_999)}x`],
  ['headings', '# a\n'.repeat(50_000)],
  ['an unfinished delimiter row', `a|b\n|${'- |'.repeat(60_000)}x`],
  ['a heading of white space', `# ${' '.repeat(199_990)}x`],
  ['marks', `a${'\u0301'.repeat(100_000)}`],
  ['names of special tokens', '<|endoftext|>'.repeat(1_000)],
])('%s takes time in proportion', (_name, content) => {
  const start = process.cpuUsage();
  const chunks = cut(content, { sizeTokens: 400, overlapTokens: 40 });

  expect(Math.max(...chunks.map(({ tokenCount }) => tokenCount))).toBeLessThanOrEqual(400);
  // Quadratic ones take minutes.
  expect(process.cpuUsage(start).user / 1_000).toBeLessThan(8_000);
});

test('equal contents have one hash, however they are composed and their lines end', () => {
  expect(contentHash('Café\r\nb\rc')).toBe(contentHash('Cafe\u0301\nb\nc'));
  expect(contentHash('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  expect(contentHash('a b')).not.toBe(contentHash('a  b'));
});

test('a chunk keeps to what a citation holds, also where a tokenizer counts a word of any length as one token', () => {
  const content = 'x'.repeat(70_000);

  const chunks = cut(content, { sizeTokens: 400, countTokens: (text) => text.split(/\s+/).length });

  expect(Math.max(...chunks.map(({ text }) => text.length))).toBeLessThanOrEqual(10_000);
  expect(uncovered(content, chunks)).toBe('');
});
