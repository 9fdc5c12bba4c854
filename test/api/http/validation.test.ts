import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sortViolations } from '../../../api/http/input/violations.ts';
import { startApi, type TestApi } from '../../support/api.ts';
import { newProbeState, probeArea } from '../../support/probes.ts';
import { bearer, makeTenant } from '../../support/tenant.ts';

let api: TestApi;
let headers: Record<string, string>;
beforeAll(async () => {
  api = await startApi({ areas: [probeArea(newProbeState())] });
  headers = bearer((await makeTenant(api.db, api.keys)).tokens.member);
});
afterAll(() => api.close());

const post = async (body: unknown) => {
  const reply = await api.app.inject({
    method: 'POST',
    url: '/probes',
    headers: { ...headers, 'content-type': 'application/json' },
    payload: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return { status: reply.statusCode, body: reply.json() };
};
const query = async (text: string) => {
  const reply = await api.app.inject({ url: `/probes/query?${text}`, headers });
  return { status: reply.statusCode, body: reply.json() };
};
const rulesOf = ({ body }: { body: { errors: { in: string; pointer: string | null; name: string | null; rule: string }[] } }) =>
  body.errors.map((error) => [error.pointer ?? error.name, error.rule]);

test('nothing is coerced: a number in quotes is no number, null fits nullable fields only', async () => {
  expect(rulesOf(await post({ name: 'a', count: '7' }))).toEqual([['/count', 'type']]);
  expect(rulesOf(await post({ name: null }))).toEqual([['/name', 'type']]);
  expect((await post({ name: 'a', at: null })).status).toBe(200);
});

test('a missing body counts as an empty object, and where a field is required the whole is missing', async () => {
  const reply = await api.app.inject({ method: 'POST', url: '/probes', headers: { ...headers, 'content-type': 'application/json' } });
  const bare = await api.app.inject({ method: 'POST', url: '/probes/faults', headers });

  expect(rulesOf({ body: reply.json() })).toEqual([['', 'required']]);
  expect(bare.statusCode).toBe(200);
});

test('null as a body is no object', async () => {
  expect(rulesOf(await post('null'))).toEqual([['', 'type']]);
});

test('defaults are filled, ids lower-cased, instants brought to UTC with three digits', async () => {
  const reply = await post({ name: 'a', id: 'ABCDEF00-0000-7000-8000-00000000000A', at: '2026-03-01T10:00:00.123456789+02:00' });

  expect(reply.body).toEqual({ name: 'a', count: 3, at: '2026-03-01T08:00:00.123Z', free: { id: 'abcdef00-0000-7000-8000-00000000000a' } });
});

test('all violations of a small body are listed, sorted by place', async () => {
  const reply = await post({ tags: ['a', 'b', 'c', 'd'], count: 11, mail: 'nobody', extra: 1, day: '2026-02-30' });

  expect(reply.status).toBe(422);
  expect(rulesOf(reply)).toEqual([
    ['/count', 'maximum'],
    ['/day', 'format'],
    ['/extra', 'unknown_field'],
    ['/mail', 'format'],
    ['/name', 'required'],
    ['/tags', 'maxItems'],
  ]);
});

test('of a large body the first violation is enough', async () => {
  const reply = await post({ count: 11, day: 'x', free: { filler: 'x'.repeat(70_000) } });

  expect(reply.body.errors).toHaveLength(1);
});

test('an error never repeats what was sent', async () => {
  const reply = await post({ name: 'canary-'.repeat(10), mail: 'canary', count: 5 });

  expect(JSON.stringify(reply.body)).not.toContain('canary');
});

test.each([
  ['at', '2026-02-30T00:00:00Z'],
  ['at', '2026-01-01T00:00:00'],
  ['at', '2026-01-01 00:00:00Z'],
  ['at', '2026-01-01t00:00:00Z'],
  ['at', '2026-01-01T24:00:00Z'],
  ['at', '2026-01-01T00:00:00.1234567890Z'],
  ['at', '9999-12-31T23:30:00-01:00'],
  ['at', '0001-01-01T00:00:00+01:00'],
  ['day', '2026-1-1'],
  ['mail', 'a@b@c'],
  ['mail', '.a@b.c'],
  ['link', 'http://a.test'],
  ['link', 'https://u:p@a.test'],
  ['amount', '1e3'],
  ['amount', '01'],
  ['id', 'not-an-id'],
])('%s refuses %s', async (field, value) => {
  expect(rulesOf(await post({ name: 'a', [field]: value }))).toEqual([[`/${field}`, 'format']]);
});

test('U+0000 and half a surrogate pair are found wherever they stand', async () => {
  const nul = await post('{"name":"a\\u0000b"}');
  const half = await post('{"name":"a","free":{"deep":[{"x":"\\ud800"}]}}');
  const whole = await post('{"name":"\\ud83d\\ude00"}');

  expect(rulesOf(nul)).toEqual([['/name', 'invalid_text']]);
  expect(rulesOf(half)).toEqual([['/free/deep/0/x', 'invalid_text']]);
  expect(whole.status).toBe(200);
});

test('the first and the last year hold in UTC', async () => {
  const last = await post({ name: 'a', at: '9999-12-31T23:30:00+01:00' });
  const first = await post({ name: 'a', at: '0001-01-01T00:00:00Z' });

  expect([last.body.at, first.body.at]).toEqual(['9999-12-31T22:30:00.000Z', '0001-01-01T00:00:00.000Z']);
});

test('a refusal is never longer than what it refuses: a long way is told by its last whole parent, once', async () => {
  const reply = await post(`{"name":"a","free":{"${'A'.repeat(60_000)}":[${Array(50).fill('"\\u0000"').join()}],"b":{"c":"\\u0000"}}}`);

  expect(rulesOf(reply)).toEqual([
    ['/free', 'invalid_text'],
    ['/free/b/c', 'invalid_text'],
  ]);
});

test('no pointer of a refusal is longer than the document says', () => {
  const pointers = [`/a/${'b'.repeat(3_000)}`, `/${'c'.repeat(3_000)}/d`, `/e${'/f'.repeat(2_000)}`];

  const sorted = sortViolations(pointers.map((pointer) => ({ in: 'body', pointer, name: null, rule: 'type', message: 'x' })));

  expect(sorted.map(({ pointer }) => pointer)).toEqual(['', '/a', `/e${'/f'.repeat(999)}`]);
});

test('a body nests at most 64 deep, brackets in texts do not count', async () => {
  const deep = await post(`{"name":"a","free":${'{"x":'.repeat(70)}1${'}'.repeat(70)}}`);
  const text = await post({ name: '[[[[[[[[[[[[[[[[[[[[', free: { brackets: '{['.repeat(100) } });

  expect(rulesOf(deep)).toEqual([['', 'max_depth']]);
  expect(text.status).toBe(200);
});

test.each([
  ['levels', `${'{"x":'.repeat(40)}1${'}'.repeat(40)}`, 'max_depth'],
  ['keys', JSON.stringify(Object.fromEntries(Array.from({ length: 1_001 }, (_, index) => [`k${index}`, 1]))), 'maxProperties'],
  ['bytes', JSON.stringify({ x: 'x'.repeat(66_000) }), 'maxLength'],
])('an open object has a bound of %s', async (_what, free, rule) => {
  expect(rulesOf(await post(`{"name":"a","free":${free}}`))).toEqual([['/free', rule]]);
});

test.each([
  ['size=7', { size: 7 }],
  ['size=-3', { size: -3 }],
  ['flag=true', { flag: true }],
  ['tag=a&tag=b', { tag: ['a', 'b'] }],
  ['kind=two', { kind: 'two' }],
  ['from=2026-01-01T01:00:00%2B01:00', { from: '2026-01-01T00:00:00.000Z' }],
  ['', {}],
])('a query %s is read as its types say', async (text, free) => {
  const reply = await query(text);

  expect([reply.status, reply.body.free]).toEqual([200, free]);
});

test.each([
  ['size=07', 'size', 'type'],
  ['size=7.0', 'size', 'type'],
  ['size=%2B7', 'size', 'type'],
  ['size=1e1', 'size', 'type'],
  ['flag=1', 'flag', 'type'],
  ['flag=TRUE', 'flag', 'type'],
  ['size=1&size=2', 'size', 'duplicate_parameter'],
  ['kind=', 'kind', 'minLength'],
  ['kind', 'kind', 'minLength'],
  ['other=1', 'other', 'unknown_parameter'],
  ['kind=null', 'kind', 'enum'],
  ['tag=a%00', 'tag', 'invalid_text'],
  ['limit=1', 'limit', 'unknown_parameter'],
  ['size=99999999999999999999', 'size', 'type'],
  ['from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z', 'from', 'range'],
  ['__proto__=1', '__proto__', 'unknown_parameter'],
])('a query %s is refused', async (text, name, rule) => {
  const reply = await query(text);

  expect(reply.status).toBe(422);
  expect(reply.body.errors).toEqual([expect.objectContaining({ in: 'query', name, rule })]);
});

test('a query with a bad escape or bad UTF-8 is malformed', async () => {
  for (const text of ['kind=%', 'kind=%zz', 'kind=%ff']) expect((await query(text)).body.code).toBe('malformed_request');
});

test('a path parameter that fails its type is 422, however long it is', async () => {
  const wrong = await api.app.inject('/probes/failures/nonsense');
  const long = await api.app.inject(`/probes/failures/${'x'.repeat(1_100)}`);

  expect([wrong.statusCode, wrong.json().errors[0]]).toEqual([422, expect.objectContaining({ in: 'path', name: 'code', rule: 'enum' })]);
  expect(long.statusCode).toBe(422);
});
