import { expect, test } from '@jest/globals';
import { createSecretMask } from '../../../activities/tools/secret-mask.ts';

const value = 'correct horse';

async function maskOf() {
  const made = createSecretMask((name) => Promise.resolve(name === 'key' ? value : null));
  await made.secret('key');
  return made;
}

test('a value goes wherever it stands in JSON: in texts, names and numbers', async () => {
  const mask = createSecretMask(() => Promise.resolve('123456789'));
  await mask.secret('pin');

  const value = { 'n': 123456789, 'list': ['a 123456789 b'], '123456789': true, 'other': 12 };
  expect(mask.maskOutcome({ status: 'succeeded', type: 'json', value })).toMatchObject({
    value: { 'n': '[secret:pin]', 'list': ['a [secret:pin] b'], '[secret:pin]': true, 'other': 12 },
  });
});

test('of two values the longer one goes first', async () => {
  const mask = createSecretMask((name) => Promise.resolve(name === 'a' ? 'abcdefgh' : 'abcdefgh-and-more'));
  await mask.secret('a');
  await mask.secret('b');

  expect(mask.mask('abcdefgh-and-more abcdefgh')).toBe('[secret:b] [secret:a]');
});

test('what was cut within a value does not keep its beginning', async () => {
  const { mask } = await maskOf();

  expect(mask('it ends with correct ho')).toBe('it ends with [secret:key]');
  expect(mask('it ends with correct')).toBe('it ends with correct');
});

test('bytes of a file hold no value, and files without one stay as they are', async () => {
  const { maskOutcome } = await maskOf();
  const clean = Buffer.from([0, 255, 128]);
  const files = [
    { name: 'a.bin', mediaType: 'application/octet-stream', bytes: Buffer.concat([clean, Buffer.from(value), clean]) },
    { name: 'b.bin', mediaType: 'application/octet-stream', bytes: clean },
  ];

  const outcome = maskOutcome({ status: 'succeeded', type: 'files', files, text: '' });

  expect(outcome).toMatchObject({ files: [{ bytes: Buffer.concat([clean, Buffer.from('[secret:key]'), clean]) }, { bytes: clean }] });
});

const hard = 'a/b"c&d<é>~0123';

test.each([
  ['percent-encoded in small letters', encodeURIComponent(hard).toLowerCase()],
  ['escaped for HTML', 'a/b&quot;c&amp;d&lt;é&gt;~0123'],
  ['in JSON with escaped slashes', JSON.stringify(hard).replaceAll('/', String.raw`\/`)],
  ['in JSON of ASCII alone', JSON.stringify(hard).replaceAll('é', String.raw`\u00e9`)],
  ['as hexadecimal digits', Buffer.from(hard).toString('hex')],
  ['within other text in Base64', Buffer.from(`x:${hard}:y`).toString('base64')],
  ['one byte later in Base64', Buffer.from(`xy:${hard}:y`).toString('base64')],
])('a value is found %s', async (_name, text) => {
  const made = createSecretMask(() => Promise.resolve(hard));
  await made.secret('key');

  expect(made.mask(`> ${text} <`)).toContain('[secret:key]');
});

test('what HTTP trims of a value is found without it', async () => {
  const made = createSecretMask(() => Promise.resolve(' spaced value '));
  await made.secret('key');

  expect(made.mask('"spaced value"')).toBe('"[secret:key]"');
});

test('a number that is longer than a number can be is found as it was read', async () => {
  const made = createSecretMask(() => Promise.resolve('12345678901234567890'));
  await made.secret('key');

  const value: unknown = JSON.parse('{"n": 12345678901234567890}');
  expect(made.maskOutcome({ status: 'succeeded', type: 'json', value })).toMatchObject({ value: { n: '[secret:key]' } });
});

test.each([
  ['in its middle', 'a'.repeat(8_000) + '7' + 'a'.repeat(8_000)],
  ['at its end', 'a'.repeat(16_000) + '7'],
])('a value that a text nearly holds everywhere, but for one character %s, hides the text and takes no minutes', async (_case, made) => {
  const mask = createSecretMask(() => Promise.resolve(made));
  await mask.secret('key');

  expect(mask.mask('a'.repeat(10_000_000))).toBe('[secret:key]');
});

test('a long value goes, others that begin alike stay, and so does what a cut has left of it', async () => {
  const [first, second] = [`${'x'.repeat(40)}-first-value`, `${'x'.repeat(40)}-second`];
  const mask = createSecretMask((name) => Promise.resolve(name === 'a' ? first : second));
  await mask.secret('a');
  await mask.secret('b');

  expect(mask.mask(`${first} ${second} ${'x'.repeat(40)}-third`)).toBe(`[secret:a] [secret:b] ${'x'.repeat(40)}-third`);
  expect(mask.mask(`cut: ${first.slice(0, -3)}`)).toBe('cut: [secret:a]');
});
