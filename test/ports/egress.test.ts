import { createServer, type Server } from 'node:http';
import type { lookup } from 'node:dns';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { checkUrlForm, createEgress, EgressRefused, EgressUnreachable, type EgressPolicy } from '../../ports/egress/egress.ts';

const strict: EgressPolicy = { allowHttp: false, exceptions: [] };
const http: EgressPolicy = { allowHttp: true, exceptions: [] };

let server: Server;
let port = 0;
let hits: { url: string; headers: Record<string, unknown> }[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    hits.push({ url: request.url ?? '', headers: request.headers });
    if (request.url === '/to-metadata') return response.writeHead(302, { location: 'http://169.254.169.254/latest' }).end();
    if (request.url === '/to-other') return response.writeHead(302, { location: `http://localhost:${port}/end` }).end();
    if (request.url?.startsWith('/hop')) return response.writeHead(302, { location: `/hop${Number(request.url.slice(4)) + 1}` }).end();
    if (request.url === '/nowhere') return response.writeHead(302, { location: 'http://[' }).end();
    if (request.url === '/big') return response.end(Buffer.alloc(300_000, 'a'));
    return response.writeHead(200, { 'content-type': 'text/plain' }).end('hello');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

function opened(host: string): EgressPolicy {
  return { allowHttp: false, exceptions: [{ host, port, allow_http: true }] };
}

function asked(url: string, policy: EgressPolicy, more: { redirects?: number; headers?: Record<string, string>; maxBytes?: number } = {}) {
  return {
    method: 'GET',
    url,
    headers: more.headers ?? {},
    policy,
    redirects: more.redirects ?? 0,
    maxBytes: more.maxBytes ?? 1_000_000,
    signal: AbortSignal.timeout(5_000),
  };
}

test.each([
  ['http://example.com/', 'scheme'],
  ['ftp://example.com/', 'scheme'],
  ['https://user:pw@example.com/', 'user'],
  ['https://example.com:8443/', 'port'],
  ['https://127.0.0.1/', 'loopback'],
  ['https://[::1]/', 'loopback 6'],
  ['https://[::ffff:10.0.0.1]/', 'mapped private'],
  ['https://0x7f000001/', 'loopback in hexadecimal'],
  ['https://2130706433/', 'loopback as a number'],
  ['https://169.254.169.254/', 'link-local'],
  ['https://100.64.0.1/', 'carrier-grade'],
  ['https://[fd00::1]/', 'unique local'],
  ['https://[::ffff:127.0.0.1]/', 'mapped loopback'],
  ['https://[::ffff:a9fe:a9fe]/', 'mapped metadata in hexadecimal'],
  ['https://[::127.0.0.1]/', 'IPv4-compatible loopback'],
  ['https://[64:ff9b::7f00:1]/', 'loopback behind NAT64'],
  ['https://[2002:7f00:1::]/', 'loopback behind 6to4'],
  ['https://[2001::1]/', 'teredo'],
  ['https://[fec0::1]/', 'site-local'],
  ['https://[fe80::1]/', 'link-local 6'],
  ['https://[4000::1]/', 'given to nobody'],
  ['https://[ff02::1]/', 'multicast 6'],
  ['https://127.1/', 'loopback in short'],
  ['https://0177.0.0.1/', 'loopback in octal'],
  ['https://127.0.0.1./', 'loopback with a dot'],
  ['https://１２７.0.0.1/', 'loopback in full width'],
  ['https://10.0.0.1/', 'private'],
  ['https://172.16.0.1/', 'private'],
  ['https://192.168.0.1/', 'private'],
  ['https://192.0.2.1/', 'documentation'],
  ['https://198.18.0.1/', 'benchmark'],
  ['https://224.0.0.1/', 'multicast'],
  ['https://255.255.255.255/', 'broadcast'],
  ['file:///etc/passwd', 'file'],
  ['gopher://example.com/', 'gopher'],
  ['https://0.0.0.0/', 'unspecified'],
  ['not a url', 'form'],
])('%s is refused before anything is sent (%s)', (url) => {
  expect(() => checkUrlForm(url, strict)).toThrow(EgressRefused);
});

test.each([
  ['http://example.com/', ['https', 'EGRESS_ALLOW_HTTP', 'egress_allowlist', 'allow_http']],
  ['https://example.com:8443/', ['port', 'egress_allowlist']],
  ['https://10.0.0.1/', ['not public', 'egress_allowlist']],
])('the refusal of %s says what an operator can open, and where', (url, words) => {
  for (const word of words) expect(() => checkUrlForm(url, strict)).toThrow(word);
});

test('a public https address passes the check of form', () => {
  expect(checkUrlForm('https://example.com/a?b=c', strict).hostname).toBe('example.com');
});

test('a name that resolves to a private address is refused, and the message names no address', async () => {
  const egress = createEgress();

  const refusal = egress.fetch(asked(`http://localhost/`, http));

  await expect(refusal).rejects.toThrow(EgressRefused);
  await expect(refusal).rejects.not.toThrow(/127\.0|::1/);
  await egress.close();
});

test('an exception of one organization opens nothing for another, not even over a pooled connection', async () => {
  const egress = createEgress();

  const allowed = await egress.fetch(asked(`http://127.0.0.1:${port}/`, opened('127.0.0.1')));
  const refused = egress.fetch(asked(`http://127.0.0.1:${port}/`, http));

  expect(allowed.body.toString()).toBe('hello');
  await expect(refused).rejects.toThrow(EgressRefused);
  await egress.close();
});

test('a redirect goes through the guard again', async () => {
  const egress = createEgress();
  hits = [];

  const refused = egress.fetch(asked(`http://127.0.0.1:${port}/to-metadata`, opened('127.0.0.1'), { redirects: 3 }));

  await expect(refused).rejects.toThrow(EgressRefused);
  expect(hits.map((hit) => hit.url)).toEqual(['/to-metadata']);
  await egress.close();
});

test('own headers are dropped on another origin', async () => {
  const egress = createEgress();
  const policy: EgressPolicy = { allowHttp: false, exceptions: [...opened('127.0.0.1').exceptions, ...opened('localhost').exceptions] };
  hits = [];

  await egress.fetch(
    asked(`http://127.0.0.1:${port}/to-other`, policy, { redirects: 1, headers: { 'x-key': 'secret', 'accept': 'text/plain' } }),
  );

  expect(hits[0]?.headers['x-key']).toBe('secret');
  expect(hits[1]?.headers['x-key']).toBeUndefined();
  expect(hits[1]?.headers['accept']).toBe('text/plain');
  await egress.close();
});

test('a resolver that flips after the check gains nothing: the checked address is the one connected to', async () => {
  let asks = 0;
  const flipping = ((_name: string, _options: unknown, callback: (error: null, found: { address: string; family: number }[]) => void) => {
    asks += 1;
    callback(null, [{ address: asks === 1 ? '203.0.113.1' : '127.0.0.1', family: 4 }]);
  }) as unknown as typeof lookup; // the guard calls it in this one form
  const egress = createEgress({ resolve: flipping });
  hits = [];

  const first = egress.fetch({ ...asked('http://rebind.example/', http), signal: AbortSignal.timeout(300) });
  await expect(first).rejects.toThrow();
  const second = egress.fetch(asked('http://rebind.example/', http));
  await expect(second).rejects.toThrow(EgressRefused);

  expect(hits).toEqual([]);
  await egress.close();
});

test('a body is read up to its limit only', async () => {
  const egress = createEgress();

  const answer = await egress.fetch(asked(`http://127.0.0.1:${port}/big`, opened('127.0.0.1'), { maxBytes: 1_000 }));

  expect(answer.body.length).toBe(1_000);
  expect(answer.isTruncated).toBe(true);
  await egress.close();
});

test('a closed port is unreachable, without its address in the message', async () => {
  const egress = createEgress();
  const policy: EgressPolicy = { allowHttp: false, exceptions: [{ host: '127.0.0.1', port: 9, allow_http: true }] };

  await expect(egress.fetch(asked('http://127.0.0.1:9/', policy))).rejects.toThrow(EgressUnreachable);

  await egress.close();
});

function resolving(...addresses: string[]): typeof lookup {
  return ((_name: string, _options: unknown, callback: (error: null, found: { address: string; family: number }[]) => void) => {
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  }) as unknown as typeof lookup; // the guard calls it in this one form
}

test.each([
  ['a private address beside a public one', ['203.0.114.1', '10.0.0.1']],
  ['a mapped loopback', ['::ffff:127.0.0.1']],
  ['an IPv4-compatible loopback', ['::7f00:1']],
  ['the metadata service', ['169.254.169.254']],
  ['nothing', []],
])('a name with %s is refused', async (_title, addresses) => {
  const egress = createEgress({ resolve: resolving(...addresses) });

  await expect(egress.fetch(asked('http://names.example/', http))).rejects.toThrow(EgressRefused);

  await egress.close();
});

test('an exception is for its port and scheme alone', async () => {
  const egress = createEgress();
  const other: EgressPolicy = { allowHttp: true, exceptions: [{ host: '127.0.0.1', port: port + 1, allow_http: true }] };
  const secure: EgressPolicy = { allowHttp: true, exceptions: [{ host: '127.0.0.1', port, allow_http: false }] };
  hits = [];

  await expect(egress.fetch(asked(`http://127.0.0.1:${port}/`, other))).rejects.toThrow(EgressRefused);
  await expect(egress.fetch(asked(`http://127.0.0.1:${port}/`, secure))).rejects.toThrow(EgressRefused);
  await expect(egress.fetch(asked(`http://localhost:${port}/`, opened('127.0.0.1')))).rejects.toThrow(EgressRefused);

  expect(hits).toEqual([]);
  await egress.close();
});

test('an exception names an IPv6 address with or without its brackets', () => {
  const url = 'http://[::1]:8080/';

  expect(checkUrlForm(url, { allowHttp: false, exceptions: [{ host: '::1', port: 8080, allow_http: true }] }).port).toBe('8080');
  expect(checkUrlForm(url, { allowHttp: false, exceptions: [{ host: '[::1]', port: 8080, allow_http: true }] }).port).toBe('8080');
});

test('only so many redirects are followed as were asked for; the next answer is given as it is', async () => {
  const egress = createEgress();
  hits = [];

  const answer = await egress.fetch(asked(`http://127.0.0.1:${port}/hop0`, opened('127.0.0.1'), { redirects: 2 }));

  expect(answer.status).toBe(302);
  expect(hits.map((hit) => hit.url)).toEqual(['/hop0', '/hop1', '/hop2']);
  await egress.close();
});

test('a redirect that the caller does not allow is never requested; one that is no URL is refused', async () => {
  const egress = createEgress();
  const policy: EgressPolicy = { allowHttp: false, exceptions: [...opened('127.0.0.1').exceptions, ...opened('localhost').exceptions] };
  hits = [];

  const led = egress.fetch({
    ...asked(`http://127.0.0.1:${port}/to-other`, policy, { redirects: 3 }),
    mayFollow: (next) => next.hostname !== 'localhost',
  });

  await expect(led).rejects.toThrow(EgressRefused);
  await expect(egress.fetch(asked(`http://127.0.0.1:${port}/nowhere`, policy, { redirects: 3 }))).rejects.toThrow(EgressRefused);
  expect(hits.map((hit) => hit.url)).toEqual(['/to-other', '/nowhere']);
  await egress.close();
});
