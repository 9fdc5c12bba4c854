import { expect, test } from '@jest/globals';
import { answerIn, askedInChat } from '../../../domain/channels/questions.ts';
import { filesOfPart, sortFiles } from '../../../domain/channels/answer-files.ts';
import { serviceOf } from '../../../ports/channels/services.ts';
import { channelKinds } from '../../../workflows/contracts/triggers/channels.ts';

const file = (name: string, bytes: number) => ({ attachment_id: `id-${name}-${bytes}`, name, media_type: 'text/csv', bytes });
const upload = { ...serviceOf('discord').files, maxBytes: 10 };
const withText = { kind: 'with_text', maxBytes: 10 } as const;

test('files that are uploaded are bounded each, those that come with a text together', () => {
  const files = [file('a', 6), file('b', 11), file('c', 6), file('d', 4)];

  expect(sortFiles(files, upload).sent.map(({ name }) => name)).toEqual(['a', 'c', 'd']);
  expect(sortFiles(files, withText).sent.map(({ name }) => name)).toEqual(['a', 'd']);
  expect(sortFiles(files, withText).tooLarge.map(({ name }) => name)).toEqual(['b', 'c']);
});

test('no two files of an answer have one name', () => {
  const names = sortFiles([file('a.csv', 1), file('a.csv', 2), file('a (2).csv', 3), file('a', 4), file('a', 5)], upload).sent;

  expect(names.map(({ name }) => name)).toEqual(['a.csv', 'a (2).csv', 'a (2) (2).csv', 'a', 'a (2)']);
});

test('a part is always the same file', () => {
  const files = [file('large', 11), file('a', 1), file('b', 2)];
  const named = (kind: string, part: number, rule: typeof upload | typeof withText) =>
    filesOfPart({ kind, part }, files, rule).map(({ name }) => name);

  expect([named('reply', 10_000, upload), named('reply', 10_001, upload), named('reply', 10_002, upload)]).toEqual([['a'], ['b'], []]);
  expect([named('reply', 0, upload), named('reply', 0, withText), named('reply', 1, withText), named('notice', 0, withText)]).toEqual([
    [],
    ['a', 'b'],
    [],
    [],
  ]);
});

test('each kind says how it takes files', () => {
  expect(channelKinds.map((kind) => [kind, serviceOf(kind).files.kind])).toEqual([
    ['slack', 'upload'],
    ['telegram', 'upload'],
    ['discord', 'upload'],
    ['email', 'with_text'],
    ['webhook', 'with_text'],
  ]);
});

const choice = { responseSchema: { type: 'string', enum: ['Red', 'Dark blue', '7'] } };

test.each([
  ['red', 'Red'],
  ['  DARK BLUE!\n', 'Dark blue'],
  ['2', 'Dark blue'],
  ['#1', 'Red'],
  ['1.', 'Red'],
  ['7', '7'],
  ['4', null],
  ['0', null],
  ['red and blue', null],
  ['', null],
])('of options %j is %j', (said, answer) => {
  expect(answerIn(choice, said)).toBe(answer);
});

test('without options any words are an answer, and nothing is none', () => {
  const open = { prompt: 'Which?', responseSchema: { type: 'string', minLength: 1 } };

  expect([answerIn(open, ' Blue. '), answerIn(open, ' \n '), askedInChat(open)]).toEqual(['Blue.', null, 'Which?']);
  expect(answerIn(open, 'x'.repeat(40_000))?.length).toBe(32_768);
});
