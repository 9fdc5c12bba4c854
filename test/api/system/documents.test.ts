import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { fullTest } from '../../chaos/whole.ts';
import { isForOperators, liveOperations } from '../../../api/http/operation/registry.ts';
import { get, area } from '../../../api/http/operation/operation.ts';
import { closed, integer } from '../../../api/http/input/schema.ts';
import { areas } from '../../../api/operations.ts';
import { errorCodeNames } from '../../../workflows/contracts/error-codes.ts';
import { frameTypes } from '../../../workflows/contracts/runs/frames.ts';
import { startApi, type TestApi } from '../../support/api.ts';

const operatorArea = area('Operator', {
  getOperatorThing: get(
    '/operator-things',
    {
      access: 'operator',
      summary: 'Read a thing',
      description: 'For operators, and so in no public reference.',
      view: closed({ n: integer() }, { $id: 'ThingView' }),
    },
    async () => ({ n: 1 }),
  ),
});

let api: TestApi;
beforeAll(async () => {
  api = await startApi({ areas: [...areas, operatorArea] });
});
afterAll(() => api.close());

test('/openapi.json holds what is mounted, operator operations included', async () => {
  const reply = await api.app.inject('/openapi.json');
  const ids = Object.values(reply.json().paths as Record<string, Record<string, { operationId: string }>>)
    .flatMap((item) => Object.values(item))
    .map((operation) => operation.operationId);

  expect(reply.headers['content-type']).toBe('application/json; charset=utf-8');
  expect(ids.toSorted()).toEqual([...liveOperations(areas).map((operation) => operation.operationId), 'getOperatorThing'].toSorted());
  expect(reply.json().paths['/operator-things'].get['x-audience']).toBe('operator');
});

test('every route that is mounted is in the list of operations, and back', async () => {
  const routes = api.app.printRoutes({ commonPrefix: false });

  for (const { path, method } of liveOperations(areas)) {
    expect([path, api.app.hasRoute({ method, url: path.replaceAll(/\{(\w+)\}/g, ':$1') })]).toEqual([path, true]);
  }
  const mounted = [...routes.matchAll(/\(([A-Z, ]+)\)/g)]
    .flatMap(([, methods = '']) => methods.split(', '))
    .filter((method) => method !== 'HEAD' && method !== 'OPTIONS');
  // Beside the operations there is the socket.
  expect(mounted).toHaveLength(liveOperations(areas).length + 2);
});

test.each(['/openapi.json', '/redoc', '/llms.txt'])(
  '%s may be kept for five minutes, has an ETag of each encoding and is 304 to who holds it',
  async (url) => {
    const plain = await api.app.inject(url);
    const zipped = await api.app.inject({ url, headers: { 'accept-encoding': 'br, gzip;q=0.8' } });
    const unwanted = await api.app.inject({ url, headers: { 'accept-encoding': 'gzip;q=0' } });
    const again = await api.app.inject({ url, headers: { 'if-none-match': String(plain.headers['etag']) } });

    expect(plain.headers).toMatchObject({
      'cache-control': 'public, max-age=300',
      'vary': 'Accept-Encoding',
      'access-control-allow-origin': '*',
    });
    expect(zipped.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(zipped.rawPayload).toString()).toBe(plain.body);
    expect(zipped.headers['etag']).not.toBe(plain.headers['etag']);
    expect(unwanted.headers['content-encoding']).toBeUndefined();
    expect([again.statusCode, again.body]).toEqual([304, '']);
  },
);

test('/redoc carries all it needs: every script is named by hash, nothing is loaded from elsewhere', async () => {
  const { body, headers } = await api.app.inject('/redoc');
  const policy = String(headers['content-security-policy']);
  const scripts = [...body.matchAll(/<script>([\s\S]*?)<\/script>/g)].map(([, text = '']) => text);

  expect(scripts).toHaveLength(2);
  for (const script of scripts) expect(policy).toContain(`'sha256-${createHash('sha256').update(script).digest('base64')}'`);
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toContain('unsafe-eval');
  const markup = body.replaceAll(/<script>[\s\S]*?<\/script>/g, '');
  expect(markup).not.toMatch(/(?:src|href)=/i);
  expect(markup).toContain('<div id="redoc"></div>');
});

fullTest('the document that /redoc carries renders without network', async () => {
  const { body } = await api.app.inject('/redoc');
  const [, json = ''] = /Redoc\.init\((.*), \{ hideDownloadButton/.exec(body) ?? [];

  const { status, stdout, stderr } = spawnSync(process.execPath, [join(import.meta.dirname, 'render-redoc.mjs')], {
    input: json,
    encoding: 'utf8',
    maxBuffer: 50_000_000,
  });

  expect([status, stderr]).toEqual([0, '']);
  expect(stdout).toContain('Check liveness');
  expect(stdout).toContain('/runs/{run_id}');
  // Forms by name, and the samples of an operation.
  expect(stdout).toContain('HttpToolConfig');
  expect(stdout).toMatch(/<option[^>]*>web_fetch<\/option>/);
  expect(stdout).not.toContain('case 1');
  expect(stdout).toContain('Request samples');
});

test('/redoc and /llms.txt are the public reference: no operation of operators is in them', async () => {
  const [redoc, llms] = await Promise.all([api.app.inject('/redoc'), api.app.inject('/llms.txt')]);

  for (const { body } of [redoc, llms]) expect(body).not.toMatch(/getOperatorThing|operator-things/);
  const lines = llms.body.split('\n').filter((line) => line.startsWith('- '));
  expect(lines).toHaveLength(liveOperations(areas).filter((operation) => !isForOperators(operation)).length);
  expect(lines).toContain('- GET /health/live – Check liveness (none)');
  expect(llms.body).toMatch(/^# Longhaul\n\n> .+\n\n[\s\S]*\n\n## Runs\n\n.+\n\n- /);
});

test('/llms.txt opens with how to start, stream, approve and page, at the address of the deployment', async () => {
  const { body } = await api.app.inject('/llms.txt');
  const heads = [...body.matchAll(/^#{2,3} (.+)$/gm)].map(([, head]) => head).slice(0, 7);

  expect(heads).toEqual([
    'Getting started',
    'Start a run',
    'Stream it',
    'Approve what it asks',
    'Page through a list',
    'When it fails',
    'Runs',
  ]);
  const known = new Set(liveOperations(areas).map(({ path }) => path.replaceAll(/\{\w+\}/g, '{}')));
  const called = [...body.matchAll(/curl -sSN? "?http:\/\/longhaul\.test(\/[^\s"?]*)/g)].map(([, path = '']) =>
    path.replaceAll(/\$[A-Z_]+/g, '{}'),
  );
  expect(called.length).toBeGreaterThan(4);
  for (const path of called) expect([path, known.has(path)]).toEqual([path, true]);
});

test('/error-codes is the catalogue of the 38', async () => {
  const { codes } = (await api.app.inject('/error-codes')).json();

  expect(codes.map((entry: { code: string }) => entry.code)).toEqual(errorCodeNames);
});

test('/stream-protocol describes the 13 frames', async () => {
  const view = (await api.app.inject('/stream-protocol')).json();

  expect(view).toMatchObject({ version: 2, resume: { header: 'Last-Event-ID', parameter: 'after_seq' } });
  expect(view.frames.map((frame: { type: string }) => frame.type)).toEqual(frameTypes);
});
