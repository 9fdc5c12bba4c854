import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { partLimits } from '../../../ports/channels/limits.ts';
import { renderMarkdown, slackForm, telegramForm } from '../../../ports/channels/render.ts';
import { cutPlain, splitMarkdown } from '../../../ports/channels/split.ts';

const kinds = ['slack', 'telegram', 'discord'] as const;
const plain = (limit: number) => ({ limit, render: (text: string) => text });

test('what fits is one part, nothing is none', () => {
  expect(splitMarkdown('Hello', plain(10))).toEqual(['Hello']);
  expect(splitMarkdown(' \n ', plain(10))).toEqual([]);
});

test('blocks stay together as long as they fit', () => {
  expect(splitMarkdown('One\n\nTwo\n\nThree four', plain(10))).toEqual(['One\n\nTwo', 'Three four']);
});

test('a fence that is cut is closed and opened again with its language', () => {
  const parts = splitMarkdown('```js\naaaa\nbbbb\ncccc\n```', plain(22));

  expect(parts.length).toBeGreaterThan(1);
  for (const part of parts) expect(part).toMatch(/^```js\n[^]+\n```$/);
  expect(parts.map((part) => part.split('\n').slice(1, -1).join('\n')).join('\n')).toBe('aaaa\nbbbb\ncccc');
});

test('a fence of tildes, one that nobody closed, and one with a language as long as a part', () => {
  for (const text of [`~~~\n${'x\n'.repeat(40)}~~~`, `\`\`\`\n${'y\n'.repeat(40)}`, `\`\`\`${'l'.repeat(60)}\n${'z\n'.repeat(40)}\`\`\``])
    for (const part of splitMarkdown(text, plain(40))) expect(part.length).toBeLessThanOrEqual(40);
});

test.each(kinds)('%s: parts of any text fit as they are and as they are sent, cut no pair, and lose no letter', (kind) => {
  const fit = { ...partLimits[kind], limit: 60 };
  const word = fc.constantFrom(
    'a',
    'bc',
    '😀',
    '<&>',
    '**b**',
    '`c`',
    '[l](https://a.test)',
    '\n',
    '\n\n',
    '```\n',
    '- ',
    '# ',
    '> ',
    ' ',
    '_',
    '|',
  );

  fc.assert(
    fc.property(fc.array(word, { maxLength: 120 }), (words) => {
      const text = words.join('');
      const parts = splitMarkdown(text, fit);
      for (const part of parts) {
        expect(part.length).toBeLessThanOrEqual(60);
        expect(fit.render(part).length).toBeLessThanOrEqual(60);
        expect(part.isWellFormed()).toBe(true);
      }
      const letters = (value: string) => value.replaceAll(/[^a-z😀]/gu, '');
      expect(letters(parts.join(''))).toBe(letters(text));
    }),
    { numRuns: 300 },
  );
});

test('plain text is cut without a look at what it says', () => {
  expect(cutPlain('```aaaa bbbb', 8)).toEqual(['```aaaa ', 'bbbb']);
  expect(cutPlain('😀'.repeat(10), 5).every((part) => part.isWellFormed())).toBe(true);
});

test('Slack’s form makes no mention of what somebody wrote, and no link of other schemes', () => {
  expect(renderMarkdown('Hi <!channel> <@U1> [x](javascript:alert(1)) [y](https://a.test/?a=1&b=2)', slackForm)).toBe(
    'Hi &lt;!channel&gt; &lt;@U1&gt; x <https://a.test/?a=1&amp;b=2|y>',
  );
});

test('Telegram’s form closes what it opens and escapes the rest', () => {
  expect(renderMarkdown('# A & B\n\n*i* `<c>`\n\n```js"x\n1<2\n```\n\n> q', telegramForm)).toBe(
    '<b>A &amp; B</b>\n\n<i>i</i> <code>&lt;c&gt;</code>\n\n<pre>1&lt;2</pre>\n\n<blockquote>q</blockquote>',
  );
});
