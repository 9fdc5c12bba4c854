import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { areas } from '../../../api/operations.ts';
import { errorCodeNames, errorCodes } from '../../../workflows/contracts/error-codes.ts';
import { startApi, type TestApi } from '../../support/api.ts';
import { newProbeState, probeArea } from '../../support/probes.ts';
import { bearer, makeTenant, type TestTenant } from '../../support/tenant.ts';

let api: TestApi;
let tenant: TestTenant;
beforeAll(async () => {
  api = await startApi({ areas: [...areas, probeArea(newProbeState())] });
  tenant = await makeTenant(api.db, api.keys);
});
afterAll(() => api.close());

test.each(errorCodeNames)('%s has its own status, retry flag and title on the wire', async (code) => {
  const reply = await api.app.inject(`/probes/failures/${code}`);

  expect(reply.statusCode).toBe(errorCodes[code].status);
  expect(reply.json()).toMatchObject({
    type: `http://longhaul.test/error-codes#${code}`,
    code,
    status: errorCodes[code].status,
    retryable: errorCodes[code].retryable,
    title: errorCodes[code].title,
    detail: 'x'.repeat(500),
    context: { reason: 'probed' },
    instance: `urn:uuid:${reply.headers['x-correlation-id']}`,
  });
});

test('a bug answers internal_error and tells nothing of itself', async () => {
  const reply = await api.app.inject('/probes/crash');

  expect(reply.statusCode).toBe(500);
  expect(reply.json()).toMatchObject({
    code: 'internal_error',
    detail: 'Internal error. Try again; report the correlation id if it persists.',
  });
  expect(reply.body).not.toContain('vault');
});

test('a view that can not be serialized fails before the first byte', async () => {
  const reply = await api.app.inject('/probes/unserializable');

  expect(reply.statusCode).toBe(500);
  expect(reply.json()).toMatchObject({ code: 'internal_error' });
});

test('an unknown path is 404, a trailing slash or another case too', async () => {
  for (const path of ['/nothing', '/version/', '/Version', '/agents/', '/probes/failures/']) {
    const reply = await api.app.inject(path);

    expect([path, reply.statusCode, reply.json().code]).toEqual([path, 404, 'not_found']);
  }
});

test('the root and every unknown path lead to the documents', async () => {
  for (const path of ['/', '/nothing', '/agents/'])
    for (const method of ['GET', 'POST'] as const) {
      const reply = await api.app.inject({ method, url: path });

      expect([path, reply.statusCode, reply.json().detail]).toEqual([path, 404, expect.stringContaining('http://longhaul.test/redoc')]);
      const links = String(reply.headers['link']).matchAll(/<http:\/\/longhaul\.test([^>]+)>; rel="([\w-]+)"/g);
      const found = Object.fromEntries([...links].map(([, target, relation]) => [relation, target]));
      expect(found).toEqual({ 'service-doc': '/redoc', 'service-desc': '/openapi.json' });
    }
  const unknownRow = await api.app.inject({ url: `/runs/${crypto.randomUUID()}`, headers: bearer(tenant.tokens.viewer) });
  expect([unknownRow.statusCode, unknownRow.headers['link']]).toEqual([404, undefined]);
});

test('a wrong method is 405 with a true Allow, also one that HTTP hardly knows', async () => {
  const reply = await api.app.inject({ method: 'DELETE', url: '/agents' });
  const odd = await fetch(`${api.url}/version`, { method: 'PROPFIND' });

  expect([reply.statusCode, reply.headers['allow']]).toEqual([405, 'GET, HEAD, POST, OPTIONS']);
  expect([odd.status, odd.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
  expect(await odd.json()).toMatchObject({ code: 'method_not_allowed' });
});

test('the eight specified operations are 404, even where another method lives', async () => {
  const id = crypto.randomUUID();
  const specified = [
    ['GET', `/organizations/${id}/sso-connections`],
    ['GET', '/scim/v2/Users'],
    ['POST', '/audit-log/exports'],
    ['GET', '/invoices'],
    ['PUT', `/hooks/${id}/x`],
  ] as const;

  for (const [method, url] of specified) expect((await api.app.inject({ method, url })).statusCode).toBe(404);
});

test('a specified operation stays 404 on a path whose other methods live', async () => {
  const statusOf = async (method: 'GET' | 'PUT' | 'DELETE') => (await api.app.inject({ method, url: '/hooks/a/b' })).statusCode;

  expect([await statusOf('GET'), await statusOf('PUT'), await statusOf('DELETE')]).toEqual([422, 404, 405]);
});

test('HEAD answers like GET without a body; an event stream refuses it', async () => {
  const head = await fetch(`${api.url}/error-codes`, { method: 'HEAD' });
  const get = await fetch(`${api.url}/error-codes`);
  const stream = await fetch(`${api.url}/probes/stream`, { method: 'HEAD' });

  expect([head.status, await head.text(), head.headers.get('content-type')]).toEqual([200, '', get.headers.get('content-type')]);
  expect([stream.status, stream.headers.get('allow')]).toEqual([405, 'GET, OPTIONS']);
});

test('OPTIONS tells the methods of a known path and needs no credential', async () => {
  const known = await api.app.inject({ method: 'OPTIONS', url: '/agents' });
  const unknown = await api.app.inject({ method: 'OPTIONS', url: '/nothing' });

  expect([known.statusCode, known.headers['allow'], unknown.statusCode]).toEqual([204, 'GET, HEAD, POST, OPTIONS', 404]);
});

test.each([
  ['no JSON', '{"name":', 'application/json', 400, 'malformed_request'],
  ['bad UTF-8', Buffer.from([0x22, 0xff, 0x22]), 'application/json', 400, 'malformed_request'],
  ['a prototype key', '{"name":"a","free":{"__proto__":{"x":1}}}', 'application/json', 400, 'malformed_request'],
  ['an escaped prototype key', '{"name":"a","free":{"\\u005f_proto__":1}}', 'application/json', 400, 'malformed_request'],
  ['text', 'name=a', 'text/plain', 415, 'unsupported_media_type'],
  ['a form', 'name=a', 'application/x-www-form-urlencoded', 415, 'unsupported_media_type'],
  ['another charset', '{"name":"a"}', 'application/json; charset=latin1', 415, 'unsupported_media_type'],
  ['no type', '{"name":"a"}', '', 415, 'unsupported_media_type'],
] as const)('a body that is %s is refused', async (_what, payload, type, status, code) => {
  const reply = await api.app.inject({
    method: 'POST',
    url: '/probes',
    headers: { ...bearer(tenant.tokens.member), ...(type ? { 'content-type': type } : {}) },
    payload,
  });

  expect([reply.statusCode, reply.json().code]).toEqual([status, code]);
  if (status === 415) expect(reply.headers['accept-post']).toBe('application/json');
});

test('an encoded body is 415, a byte order mark is skipped', async () => {
  const headers = { ...bearer(tenant.tokens.member), 'content-type': 'application/json' };
  const zipped = await api.app.inject({
    method: 'POST',
    url: '/probes',
    headers: { ...headers, 'content-encoding': 'gzip' },
    payload: '{"name":"a"}',
  });
  const marked = await api.app.inject({ method: 'POST', url: '/probes', headers, payload: '\ufeff{"name":"a"}' });

  expect([zipped.statusCode, marked.statusCode]).toEqual([415, 200]);
});

test('a body over its limit is 413, told by its length or cut while it streams in', async () => {
  const headers = { ...bearer(tenant.tokens.member), 'content-type': 'application/json' };
  const told = await fetch(`${api.url}/probes`, { method: 'POST', headers, body: `"${'x'.repeat(1_048_577)}"` });
  const chunked = await fetch(`${api.url}/probes`, { method: 'POST', headers, body: chunks(1_100_000), duplex: 'half' } as RequestInit);

  for (const reply of [told, chunked]) {
    expect(reply.status).toBe(413);
    expect(await reply.json()).toMatchObject({ code: 'payload_too_large' });
  }
});

test('a body on GET or DELETE is not read', async () => {
  const reply = await api.app.inject({
    method: 'DELETE',
    url: `/service-keys/${crypto.randomUUID()}`,
    headers: { ...bearer(tenant.tokens.admin), 'content-type': 'application/json' },
    payload: '{"no json',
  });

  expect(reply.statusCode).toBe(404);
});

test.each([
  ['no HTTP', 'NONSENSE\r\n\r\n'],
  ['a method that does not exist', 'FOO /version HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['no Host', 'GET /version HTTP/1.1\r\nConnection: close\r\n\r\n'],
  ['a bad escape', 'GET /agents/%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
  ['headers without end', `GET /version HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`],
  ['CONNECT', 'CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['an expectation', 'GET /version HTTP/1.1\r\nHost: x\r\nExpect: wonders\r\nConnection: close\r\n\r\n'],
  ['two Hosts', 'GET /version HTTP/1.1\r\nHost: x\r\nhost: x\r\nConnection: close\r\n\r\n'],
  ['another transfer coding', 'POST /probes HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n'],
  ['two keys', 'GET /version HTTP/1.1\r\nHost: x\r\nIdempotency-Key: a\r\nIdempotency-Key: b\r\nConnection: close\r\n\r\n'],
  ['two tags', 'GET /version HTTP/1.1\r\nHost: x\r\nIf-Match: "a"\r\nIf-Match: "b"\r\nConnection: close\r\n\r\n'],
  ['two acting users', 'GET /version HTTP/1.1\r\nHost: x\r\nX-Acting-User: a\r\nX-Acting-User: b\r\nConnection: close\r\n\r\n'],
  ['two lengths', 'POST /probes HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n'],
])('%s gets the envelope too, and the connection ends', async (_what, text) => {
  const { head, body } = await rawRequest(api.url, text);

  expect(head).toMatch(/^HTTP\/1\.1 400 /);
  expect(head).toMatch(/content-type: application\/problem\+json/i);
  expect(head).toMatch(/x-correlation-id: [0-9a-f-]{36}/i);
  expect(head).toMatch(/x-request-duration-ms: [\d.]+/i);
  expect(JSON.parse(body)).toMatchObject({ code: 'malformed_request', status: 400 });
});

test('a connection lives on after a refusal', async () => {
  const refused = 'POST /probes HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nhi';
  const { head, body } = await rawRequest(api.url, `${refused}GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);

  expect(head).toMatch(/^HTTP\/1\.1 415 /);
  expect(body).toContain('HTTP/1.1 200 OK');
});

test('the same header twice with one value is one', async () => {
  const headers = `Authorization: Bearer ${tenant.tokens.admin}\r\nIf-Match: "a", "b"\r\nX-Acting-User: ${tenant.users.member.id}\r\nX-Acting-User: ${tenant.users.member.id}\r\n`;
  const { head } = await rawRequest(api.url, `GET /auth/me HTTP/1.1\r\nHost: x\r\n${headers}Connection: close\r\n\r\n`);

  expect(head).toMatch(/^HTTP\/1\.1 200 /);
});

test.each([
  [401, 'POST /agents', 'Transfer-Encoding: chunked', '10000\r\n'],
  [413, 'POST /agents', 'Content-Length: 9000000000', ''],
  [200, 'GET /error-codes', 'Content-Length: 9000000000', ''],
])('%i to %s with %s: the answer says that the connection ends, and little is read', async (status, target, framing, size) => {
  const { hostname, port } = new URL(api.url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  socket.write(`${target} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${framing}\r\n\r\n`);
  const chunk = Buffer.concat([Buffer.from(size), Buffer.alloc(65_536, 0x20), Buffer.from(size && '\r\n')]);
  const closed = once(socket, 'close');
  let sent = 0;
  let answer = '';
  socket.on('data', (part) => (answer += String(part)));
  while (!socket.destroyed && sent < 100_000_000) {
    sent += chunk.length;
    if (!socket.write(chunk)) await Promise.race([once(socket, 'drain'), closed]).catch(() => undefined);
  }

  expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  expect(answer).toMatch(/connection: close/i);
  expect(sent).toBeLessThan(32_000_000);
});

test.each([
  [401, 'Content-Type: application/json', 2],
  [413, 'Content-Type: application/json', 9_000_000],
  [415, 'Content-Type: text/plain', 2],
])('who asks before sending its body gets %i and no 100', async (status, type, length) => {
  const head = `POST /probes HTTP/1.1\r\nHost: x\r\n${type}\r\nContent-Length: ${length}\r\nExpect: 100-continue\r\n\r\n`;

  const answer = await rawRequest(api.url, head);

  expect(answer.head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  expect(answer.head).toMatch(/connection: close/i);
});

test('who asks before sending its body is told to go on once it is admitted', async () => {
  const head = `POST /probes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${tenant.tokens.member}\r\nContent-Type: application/json\r\n`;

  const answer = await rawRequest(api.url, `${head}Content-Length: 12\r\nConnection: close\r\nExpect: 100-continue\r\n\r\n{"name":"a"}`);

  expect(answer.head).toBe('HTTP/1.1 100 Continue');
  expect(answer.body).toMatch(/^HTTP\/1\.1 200 /);
});

async function* chunks(total: number): AsyncGenerator<Uint8Array> {
  for (let sent = 0; sent < total; sent += 50_000) yield new Uint8Array(50_000).fill(0x20);
}

/** Sends bytes as they are and reads until the server closes. */
async function rawRequest(url: string, text: string): Promise<{ head: string; body: string }> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(text);
  let received = '';
  for await (const part of socket) received += String(part);
  const end = received.indexOf('\r\n\r\n');
  return { head: received.slice(0, end), body: received.slice(end + 4) };
}
