import { expect, test } from '@jest/globals';
import { createSecretMask } from '../../../activities/tools/http/secret-mask.ts';

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

const asJson = (text: string) => JSON.stringify(text).slice(1, -1);
const asUrl = (text: string) => encodeURIComponent(text);
const asForm = (text: string) => new URLSearchParams({ v: text }).toString().slice(2);
const asHtml = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;').replaceAll("'", '&#39;');
const asBase64 = (text: string) => Buffer.from(text).toString('base64');
const asUnits = (text: string) =>
  text.replaceAll(/[^]/g, (tx) => String.raw`\u` + tx.charCodeAt(0).toString(16).padStart(4, '0').toUpperCase());
const asNumbers = (text: string) => Array.from(text, (point) => `&#x${(point.codePointAt(0) ?? 0).toString(16)};`).join('');
const asMime = (text: string) => Array.from(Buffer.from(text), (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
const inUtf16 = (text: string) => Buffer.from(text, 'utf16le').toString('latin1');
const misread = (text: string) => new TextDecoder('windows-1252').decode(Buffer.from(text));

test.each([
  ['JSON in JSON', (text: string) => asJson(asJson(text))],
  ['JSON in JSON in JSON in JSON', (text: string) => asJson(asJson(asJson(asJson(text))))],
  ['JSON of ASCII in JSON', (text: string) => asJson(asJson(text).replaceAll(/[^ -~]/g, (tx) => asUnits(tx)))],
  ['JSON that escapes what it need not, in capital digits', (text: string) => text.replaceAll(/[^a-z]/g, (tx) => asUnits(tx))],
  ['every unit escaped', asUnits],
  ['every unit escaped, in JSON', (text: string) => asJson(asUnits(text))],
  ['a URL in a URL', (text: string) => asUrl(asUrl(text))],
  ['every byte of a URL escaped', asMime],
  ['a form', asForm],
  ['a form in a URL', (text: string) => asUrl(asForm(text))],
  ['a URL in JSON in JSON', (text: string) => asJson(asJson(asUrl(text)))],
  ['JSON in a URL', (text: string) => asUrl(asJson(text))],
  ['HTML', asHtml],
  ['HTML in HTML', (text: string) => asHtml(asHtml(text))],
  ['JSON in HTML', (text: string) => asHtml(asJson(text))],
  ['HTML in JSON', (text: string) => asJson(asHtml(text))],
  ['every character of HTML by its number', asNumbers],
  ['Basic auth', (text: string) => asBase64(`user:${text}`)],
  ['Basic auth in a URL', (text: string) => asUrl(asBase64(`a user:${text}`))],
  ['Base64 in JSON with escaped slashes', (text: string) => asBase64(text).replaceAll('/', String.raw`\/`)],
  ['Base64 in JSON with escaped signs', (text: string) => asBase64(text).replaceAll(/[+=/]/g, (tx) => asUnits(tx))],
  ['JSON in Base64', (text: string) => asBase64(JSON.stringify({ key: text }))],
  ['UTF-16 taken for Latin-1', inUtf16],
  ['UTF-8 taken for windows-1252', misread],
])('a value in %s is masked, and all around it stays', async (_name, encoded) => {
  for (const hidden of [
    hard,
    'a "quoted" back\\slash % & é',
    String.raw`{"pem":"-----BEGIN\nMII/E\u00e9+\"=="}`,
    '100%25 &amp; %41 more of it',
    '密码 🔑 "geheim"',
    value,
  ]) {
    const made = createSecretMask(() => Promise.resolve(hidden));
    await made.secret('key');

    expect(made.mask(`before ${encoded(hidden)} after`)).toMatch(/^before [\w+/=%.\\]*\[secret:key\][\w+/=%.\\]* after$/);
    expect(made.mask(encoded(hidden).slice(0, -1))).not.toContain(encoded(hidden).slice(0, 24));
  }
});

test('a text that holds no value stays as it is, whatever escapes it has', async () => {
  const { mask } = await maskOf();
  const text = String.raw`{"a":"\"x\\n %41%zz &amp;&#0;&#x110000; é \u00e9 \ud83d"}`;

  expect(mask(text)).toBe(text);
});

test('a cut within an escape does not keep what stands before it', async () => {
  const made = createSecretMask(() => Promise.resolve('a-secret-é-value'));
  await made.secret('key');

  for (const cut of [String.raw`it is a-secret-\u00`, 'it is a-secret-%c3', 'it is a-secret-&#xe', String.raw`it is a-secret-\\\\\u00e`])
    expect(made.mask(cut)).toMatch(/^it is \[secret:key\]/);
});

test.each([
  ['backslashes', '\\'],
  ['escaped letters', String.raw`\u0061`],
  ['percent signs', '%25'],
  ['entities', '&amp;'],
])('ten million characters of %s take seconds', async (_name, part) => {
  const made = createSecretMask(() => Promise.resolve(`${part.repeat(40)} and more`));
  await made.secret('key');
  const text = part.repeat(Math.floor(10_000_000 / part.length));

  const began = process.cpuUsage().user;
  made.mask(text);
  expect((process.cpuUsage().user - began) / 1e6).toBeLessThan(30);
});

test('bytes in UTF-16 hold no value', async () => {
  const { maskOutcome } = await maskOf();
  const files = [{ name: 'a.bin', mediaType: 'application/octet-stream', bytes: Buffer.from(`x${value}`, 'utf16le').swap16() }];

  expect(JSON.stringify(maskOutcome({ status: 'succeeded', type: 'files', files, text: '' }))).toContain(
    JSON.stringify([...Buffer.from('\0x[secret:key]')]),
  );
});
