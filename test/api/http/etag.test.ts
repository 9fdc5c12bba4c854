import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parseIfMatch } from '../../../api/http/reply/etag.ts';
import { startApi, type TestApi } from '../../support/api.ts';
import { bearer, makeTenant } from '../../support/tenant.ts';

let api: TestApi;
let headers: Record<string, string>;
beforeAll(async () => {
  api = await startApi();
  headers = bearer((await makeTenant(api.db, api.keys)).tokens.admin);
});
afterAll(() => api.close());

async function makeAgent(): Promise<{ path: string; etag: string }> {
  const made = await api.app.inject({
    method: 'POST',
    url: '/agents',
    headers,
    payload: { slug: `a-${crypto.randomUUID()}`, name: 'Agent' },
  });
  const path = String(made.headers['location']);
  return { path, etag: String((await api.app.inject({ url: path, headers })).headers['etag']) };
}

const patch = (path: string, body: object, ifMatch?: string) =>
  api.app.inject({
    method: 'PATCH',
    url: path,
    headers: { ...headers, ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }) },
    payload: body,
  });

test('of 20 parallel PATCHes with one If-Match one wins', async () => {
  const { path, etag } = await makeAgent();

  const replies = await Promise.all(Array.from({ length: 20 }, (_, index) => patch(path, { name: `Name ${index}` }, etag)));

  const statuses = replies.map((reply) => reply.statusCode).toSorted();
  expect(statuses).toEqual([200, ...Array<number>(19).fill(412)]);
  const current = (await api.app.inject({ url: path, headers })).headers['etag'];
  for (const reply of replies)
    if (reply.statusCode === 412) expect(reply.json()).toMatchObject({ code: 'precondition_failed', context: { etag: current } });
});

test('without If-Match the last write wins; an empty PATCH changes nothing, not even the version', async () => {
  const { path, etag } = await makeAgent();

  const empty = await patch(path, {});
  const changed = await patch(path, { name: 'Other' });

  expect([empty.statusCode, empty.headers['etag']]).toEqual([200, etag]);
  expect(changed.headers['etag']).not.toBe(etag);
});

const ofProxies = ['-gzip', '--gzip', '-br', '-zstd', '-deflate', '-dcb', ';gz', ';br', ':br', '-x-gzip', '-next_coding2'];
test.each(['*', 'W/"%"', '"%", "x"', '"x","%"', ...ofProxies.flatMap((suffix) => [`"%${suffix}"`, `"x", W/"%${suffix}"`])])(
  'If-Match %s fits the current version',
  async (form) => {
    const { path, etag } = await makeAgent();
    const header = form.replace('%', etag.slice(1, -1));

    expect((await patch(path, { name: 'Other' }, header)).statusCode).toBe(200);
  },
);

test.each(['"%0-gzip"', '"%-"', '"%.br"', '"x%-br"', '"%-1"', '"gzip-%"'])('If-Match %s is another version: 412', async (form) => {
  const { path, etag } = await makeAgent();
  const header = form.replace('%', etag.slice(1, -1));

  expect((await patch(path, { name: 'Other' }, header)).statusCode).toBe(412);
});

test.each(['1', '"1', '"1" "2"', ',', ''])('If-Match %j is no list of tags: 422', async (header) => {
  const { path } = await makeAgent();

  expect((await patch(path, { name: 'Other' }, header)).json()).toMatchObject({
    code: 'validation_failed',
    errors: [{ in: 'header', name: 'if-match' }],
  });
});

test('a stale tag on a missing row is 404, and where a tag is demanded its absence is 428', async () => {
  const { path } = await makeAgent();
  const absent = await patch(`/agents/${crypto.randomUUID()}`, { name: 'x' }, '"1"');
  const revision = await api.app.inject({
    method: 'POST',
    url: `${path}/revisions`,
    headers,
    payload: { document: { model: 'builtin/extractive', instructions: 'Answer.' } },
  });
  const activation = await api.app.inject({ method: 'POST', url: `${path}/revisions/${revision.json().id}/activate`, headers });

  expect(absent.statusCode).toBe(404);
  expect([activation.statusCode, activation.json().code]).toEqual([428, 'precondition_required']);
});

test('GET with the tag that the client holds is 304 without a body', async () => {
  const made = await api.app.inject({
    method: 'POST',
    url: '/tools',
    headers,
    payload: { slug: `t${Date.now()}`, kind: 'builtin', description: 'Tells the time.', config: { name: 'current_time' } },
  });
  const path = String(made.headers['location']);
  const etag = String((await api.app.inject({ url: path, headers })).headers['etag']);

  const same = await api.app.inject({ url: path, headers: { ...headers, 'if-none-match': `"x", W/${etag}` } });
  const other = await api.app.inject({ url: path, headers: { ...headers, 'if-none-match': '"x"' } });

  expect([same.statusCode, same.body, same.headers['etag']]).toEqual([304, '', etag]);
  expect(other.statusCode).toBe(200);
});

test.each(ofProxies)('GET with the tag to which a proxy has added %s is 304, with the plain tag', async (suffix) => {
  const made = await api.app.inject({
    method: 'POST',
    url: '/tools',
    headers,
    payload: { slug: `t${crypto.randomUUID()}`, kind: 'builtin', description: 'Tells the time.', config: { name: 'current_time' } },
  });
  const path = String(made.headers['location']);
  const etag = String((await api.app.inject({ url: path, headers })).headers['etag']);

  const same = await api.app.inject({ url: path, headers: { ...headers, 'if-none-match': `W/"${etag.slice(1, -1)}${suffix}"` } });

  expect([same.statusCode, same.headers['etag']]).toEqual([304, etag]);
});

test('the view of oneself is never 304, since the session changes beside its version', async () => {
  const { headers: got } = await api.app.inject({ url: '/auth/me', headers });

  expect((await api.app.inject({ url: '/auth/me', headers: { ...headers, 'if-none-match': String(got['etag']) } })).statusCode).toBe(200);
});

test('a list of tags is read as RFC 9110 writes it', () => {
  expect(parseIfMatch(undefined)).toBeNull();
  expect(parseIfMatch(' * ')).toBe('*');
  expect(parseIfMatch('"a", W/"b" ,"c-gzip",""')).toEqual(['a', 'b', 'c-gzip', 'c', '']);
  expect(parseIfMatch('"c-gzip", "c"')).toEqual(['c-gzip', 'c']);
});
