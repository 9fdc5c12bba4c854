import { expect, test } from '@jest/globals';
import { exactText, findInexact, isInexact, tagInexact, rounded } from '../../workflows/contracts/tools/exact-json.ts';

const restored = (text: string) => exactText(JSON.parse(tagInexact(text, 'all')));

test.each([
  ['1234567890123456789', true, true],
  ['-9007199254740993', true, true],
  ['18446744073709551615', true, true],
  ['12345678901234567.5', true, true],
  ['1234567890123456789e-2', true, true],
  ['1e400', true, true],
  ['-1e400', true, true],
  ['9007199254740991', false, false],
  ['9007199254740992', false, false],
  ['1234567890123456800', false, false],
  ['1e22', false, false],
  ['1e23', false, false],
  ['1.7976931348623157e308', false, false],
  ['100000000000000000000000', false, false],
  ['-0', false, false],
  ['0e5', false, false],
  ['0.1', false, false],
  ['5.0', false, false],
  ['0.30000000000000004', false, false],
  ['5e-324', false, false],
  ['0.10000000000000001', false, false],
  ['52.520006599999997', false, false],
  ['0.123456789012345678', false, true],
  ['3.14159265358979323846', false, true],
  ['1e-400', true, true],
  ['-0.0e-400', false, false],
])('%s: inexact from 2^53 on, and below all doubles, %s, at all %s', (literal, large, all) => {
  expect([isInexact(literal, 'large'), isInexact(literal, 'all')]).toEqual([large, all]);
});

test('a number is found outside texts only, whatever stands in them', () => {
  const texts = String.raw`{"a":"1234567890123456789","b":"\"1234567890123456789","c\\":"\\","d":[1,"x"]}`;

  expect(findInexact(texts, 'large')).toBeNull();
  expect(findInexact(texts.replace('[1,', '[1234567890123456788,'), 'large')).toBe('1234567890123456788');
  expect(findInexact('1234567890123456787', 'large')).toBe('1234567890123456787');
});

test('JSON with marks is restored number by number; what is no JSON stays none', () => {
  const json = '{"id":1234567890123456789,"list":[1e400,-0.5,"1234567890123456789"],"pi":3.14159265358979323846}';

  expect(restored(json)).toBe(json);
  expect(tagInexact('{"id":01234567890123456789}', 'all')).toBe('{"id":01234567890123456789}');
  expect(tagInexact('[1-1234567890123456789]', 'all')).toBe('[1-1234567890123456789]');
  expect(rounded(JSON.parse(tagInexact(json, 'all')))).toEqual(JSON.parse(json));
  expect(tagInexact('[9007199254740993,9007199254740993]', 'large', 1)).toBe(
    String.raw`["\u0000number:9007199254740993",9007199254740993]`,
  );
});

test('what only looks like a mark stays what it is, and JSON stays JSON', () => {
  const foreign = { 'a': 'x"\u0000number:5', '\u0000number:6': '\u0000number:7..8', 'id': 'y' };
  const json = JSON.stringify(foreign).replace('"y"', '9007199254740993');

  expect(restored(json)).toBe(json);
});

test('texts made for it take time by their length', () => {
  const length = 1_000_000;
  const hostile = [
    `["${String.raw`\"`.repeat(length)}`,
    `"${'\\'.repeat(length)}" 1`,
    `[1${'0'.repeat(length)}]`,
    `[1${'0'.repeat(length)}1]`,
    `[0.${'0'.repeat(length)}1]`,
    `[${'1e22,'.repeat(length / 5)}1]`,
    `[1e${'9'.repeat(length)}]`,
    '-'.repeat(length),
    '1-'.repeat(length),
  ];

  const startedAt = process.cpuUsage().user;
  for (const text of hostile) tagInexact(text, 'all');

  expect((process.cpuUsage().user - startedAt) / 1_000_000).toBeLessThan(20);
});
