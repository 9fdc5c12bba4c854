import { expect, test } from '@jest/globals';
import { bodyOutcome, capOutput, truncateText } from '../../../activities/tools/calls/output.ts';

test('a long text is cut between code points and the whole is kept', () => {
  const text = `${'a'.repeat(99)}😀b`;

  const capped = capOutput({ status: 'succeeded', type: 'text', text }, 100);

  expect(capped).toMatchObject({ output: 'a'.repeat(99), type: 'text', truncated: true, totalChars: 102, rest: text });
});

test('JSON that fits stays JSON, JSON that does not becomes the text of its beginning', () => {
  expect(capOutput({ status: 'succeeded', type: 'json', value: { a: 1 } }, 100)).toMatchObject({
    output: { a: 1 },
    type: 'json',
    truncated: false,
  });
  expect(capOutput({ status: 'succeeded', type: 'json', value: { a: 'x'.repeat(200) } }, 100)).toMatchObject({
    type: 'text',
    truncated: true,
  });
});

test('5 MB are capped for the model and 2 MiB stay readable', () => {
  const capped = capOutput({ status: 'succeeded', type: 'text', text: 'é'.repeat(2_500_000) }, 20_000);

  expect(String(capped.output).length).toBe(20_000);
  expect(Buffer.byteLength(capped.rest ?? '')).toBe(2 * 1024 * 1024);
});

test('NUL and lone surrogates become replacement characters, in texts and anywhere in JSON', () => {
  const json = JSON.parse('{"a\\u0000":["x\\u0000y","\\ud800"]}');

  expect(capOutput({ status: 'succeeded', type: 'text', text: 'a\0b\uD800c' }, 100).output).toBe('a\uFFFDb\uFFFDc');
  expect(capOutput({ status: 'succeeded', type: 'json', value: json }, 100).output).toEqual({ 'a\uFFFD': ['x\uFFFDy', '\uFFFD'] });
  expect(truncateText('😀', 1)).toBe('');
});

test('a body that is neither text nor JSON is a file; a part of one is a failed result', () => {
  const answer = {
    url: 'https://x.test/a/chart.png',
    headers: { 'content-type': 'image/png' },
    body: Buffer.from([1, 2, 255]),
    isTruncated: false,
  };

  expect(bodyOutcome(answer)).toMatchObject({
    status: 'succeeded',
    type: 'files',
    files: [{ name: 'chart.png', mediaType: 'image/png', bytes: answer.body }],
  });
  expect(bodyOutcome({ ...answer, isTruncated: true })).toMatchObject({ status: 'failed', error: { reason: 'too_large' } });
});
