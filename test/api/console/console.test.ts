import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { serveConsole } from '../../../api/console/serve.ts';
import { Failure } from '../../../workflows/contracts/failure.ts';

let dir: string;
let app: FastifyInstance;
let made = 0;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'longhaul-console-'));
  app = Fastify();
  // Refusals become envelopes elsewhere.
  app.setErrorHandler((error, _request, reply) =>
    reply.code(error instanceof Failure ? error.status : 500).send({ code: error instanceof Failure ? error.code : 'bug' }),
  );
  serveConsole(app, { publicUrl: 'http://longhaul.test', dir });
  await app.ready();
});

afterEach(async () => {
  await app.close();
  rmSync(dir, { recursive: true, force: true });
});

/** A build with one script, later than those before. */
function build(name: string, script = `${name}.js`): void {
  const folder = join(dir, name);
  mkdirSync(join(folder, 'assets'), { recursive: true });
  const text = `console.log('${name}');`.repeat(50);
  writeFileSync(join(folder, 'assets', script), text);
  writeFileSync(join(folder, 'assets', `${script}.br`), brotliCompressSync(text));
  writeFileSync(join(folder, 'assets', `${script}.gz`), gzipSync(text));
  writeFileSync(join(folder, 'index.html'), `<!doctype html>${name}`);
  made += 10;
  utimesSync(join(folder, 'index.html'), 1_700_000_000 + made, 1_700_000_000 + made);
}

test('without a build the console is 503, and there as soon as one is', async () => {
  const before = await app.inject('/console');
  build('one');
  const after = await app.inject('/console');

  expect([before.statusCode, before.json()]).toEqual([503, { code: 'service_unavailable' }]);
  expect([after.statusCode, after.body]).toEqual([200, '<!doctype html>one']);
});

test('any path without a dot gets the page, under a policy that lets nothing in from elsewhere', async () => {
  build('one');
  const replies = await Promise.all(
    ['/console', '/console/', '/console/w/x/runs', '/console/password-reset'].map((url) => app.inject(url)),
  );

  for (const reply of replies) {
    expect([reply.statusCode, reply.headers['cache-control'], reply.headers['cross-origin-opener-policy']]).toEqual([
      200,
      'no-cache',
      'same-origin',
    ]);
    const policy = String(reply.headers['content-security-policy']);
    for (const part of [
      `default-src 'none'`,
      `script-src 'self'`,
      `style-src 'self'`,
      `frame-ancestors 'none'`,
      `require-trusted-types-for 'script'`,
    ])
      expect(policy).toContain(part);
    expect(policy).not.toContain('unsafe');
  }
  const again = await app.inject({ url: '/console', headers: { 'if-none-match': String(replies[0]?.headers['etag']) } });
  expect([again.statusCode, again.body]).toEqual([304, '']);
});

test('files go out in the encoding that the browser takes, and are kept for good', async () => {
  build('one');
  const get = (encoding: string) => app.inject({ url: '/console/assets/one.js', headers: { 'accept-encoding': encoding } });
  const [br, gzip, refused, plain] = [await get('gzip, br'), await get('gzip'), await get('br;q=0'), await get('identity')];

  expect(brotliDecompressSync(br.rawPayload).toString()).toBe(plain.body);
  expect(gunzipSync(gzip.rawPayload).toString()).toBe(plain.body);
  expect([br, gzip, refused, plain].map(({ headers }) => headers['content-encoding'])).toEqual(['br', 'gzip', undefined, undefined]);
  expect(plain.headers).toMatchObject({
    'content-type': 'text/javascript; charset=utf-8',
    'cache-control': 'public, max-age=31536000, immutable',
  });
  const head = await app.inject({ method: 'HEAD', url: '/console/assets/one.js' });
  expect([head.statusCode, head.body, head.headers['content-length']]).toEqual([200, '', plain.headers['content-length']]);
});

test('the newest two builds are served: open tabs still find the files of theirs, those of older ones are gone', async () => {
  build('one');
  build('two');
  build('three');

  const page = await app.inject('/console');
  const statuses = await Promise.all(
    ['one', 'two', 'three'].map(async (name) => (await app.inject(`/console/assets/${name}.js`)).statusCode),
  );
  expect(page.body).toContain('three');
  expect(statuses).toEqual([404, 200, 200]);
});

test('nothing outside of a build can be read', async () => {
  build('one');
  writeFileSync(join(dir, 'secret.js'), 'secret');
  const paths = [
    '/console/../secret.js',
    '/console/..%2fsecret.js',
    '/console/%2e%2e/secret.js',
    '/console/assets/../../secret.js',
    '/console/index.html',
  ];

  for (const url of paths) expect([url, (await app.inject(url)).statusCode]).toEqual([url, 404]);
});

test('a browser at the root is led to the console, a program is told where the documents are', async () => {
  const browser = await app.inject({ url: '/', headers: { accept: 'text/html,*/*' } });
  const program = await app.inject('/');

  expect([browser.statusCode, browser.headers['location']]).toEqual([302, '/console']);
  expect([program.statusCode, program.json()]).toEqual([404, { code: 'not_found' }]);
});
