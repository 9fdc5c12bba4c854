import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { ApiError, ConnectionError, etagOf, isCode, replyOf, type DeprecationNotice } from '../../../clients/typescript/src/index.ts';
import { startClientWorld, unique, type ClientWorld } from './client-world.ts';

let world: ClientWorld;

beforeAll(async () => {
  world = await startClientWorld();
});

beforeEach(() => world.proxy.reset());

afterAll(() => world?.stop());

const agent = (slug: string) => ({ slug, name: 'Test', revision: { instructions: 'Answer.' }, activate: true });
const agentsWith = async (slug: string) => (await world.longhaul.listAgents({ limit: 200 })).items.filter((one) => one.slug === slug);
/** Every first reply to a method is lost. */
const loseFirst = (method: string) => (world.proxy.decide = (request, nth) => (request.method === method && nth === 1 ? 'lose' : 'pass'));
const problem = (code: string, more: object = {}) => ({
  ...{ type: 'x', title: 'x', status: 429, detail: 'x', instance: 'urn:uuid:x', code, retryable: true, retry_after_s: 1 },
  ...{ correlation_id: '01960000-0000-7000-8000-000000000001', errors: [], context: {} },
  ...more,
});

test('a POST whose reply was lost is sent again with its key: one row', async () => {
  const slug = unique('lost');
  loseFirst('POST');

  const made = await world.longhaul.createAgent(agent(slug));

  const keys = world.proxy.passed.map(({ headers }) => headers['idempotency-key']);
  expect(await agentsWith(slug)).toEqual([expect.objectContaining({ id: made.id })]);
  expect(keys).toEqual([expect.any(String), keys[0], undefined]);
  expect(replyOf(made)?.headers.get('idempotency-replayed')).toBe('true');
});

test('a GET and a PUT whose replies were lost are sent again; a PUT leaves one row', async () => {
  const name = unique('secret').replaceAll('-', '_');
  const { workspaceId } = world.stack.tenant;
  loseFirst('PUT');
  const secret = await world.longhaul.putSecret({ name, workspace_id: workspaceId, value: 'v'.repeat(20) });
  loseFirst('GET');
  const { items } = await world.longhaul.listSecrets({ limit: 200 });

  expect(secret).toMatchObject({ name });
  expect(items.filter((one) => one.name === name)).toHaveLength(1);
});

test('a DELETE whose reply was lost is done, and not missing; one that never found anything is', async () => {
  const { id } = await world.longhaul.createAgent(agent(unique('gone')));
  loseFirst('DELETE');

  await world.longhaul.deleteAgent({ agent_id: id });
  const again = await world.longhaul.deleteAgent({ agent_id: id }).catch((error: unknown) => error);

  expect(world.proxy.passed.filter(({ method }) => method === 'DELETE').map(({ status }) => status)).toEqual([204, 404, 404]);
  expect(isCode(again, 'not_found')).toBe(true);
});

test('a conditional PATCH whose reply was lost says that it may be applied; a true conflict does not say so', async () => {
  const made = await world.longhaul.createAgent(agent(unique('patched')));
  const read = await world.longhaul.getAgent({ agent_id: made.id });
  loseFirst('PATCH');

  const maybe = await world.longhaul
    .updateAgent({ agent_id: made.id, name: 'New' }, { ifMatch: etagOf(read) })
    .catch((error: unknown) => error);
  const conflict = await world.longhaul
    .updateAgent({ agent_id: made.id, name: 'Other' }, { ifMatch: etagOf(read) })
    .catch((error: unknown) => error);
  const now = await world.longhaul.getAgent({ agent_id: made.id });

  expect(maybe).toMatchObject({ code: 'precondition_failed', maybeApplied: true, context: { etag: etagOf(now) } });
  expect(conflict).toMatchObject({ code: 'precondition_failed', maybeApplied: false });
  expect(now.name).toBe('New');
});

test('what is not safe to repeat is sent once, unless it was refused for the rate', async () => {
  loseFirst('POST');
  const lost = await world.longhaul.searchKnowledge({ kb_ids: [crypto.randomUUID()], query: 'x' }).catch((error: unknown) => error);
  const afterLoss = world.proxy.passed.length;
  world.proxy.reset();
  world.proxy.decide = (_, nth) =>
    nth === 1
      ? { status: 429, headers: { 'content-type': 'application/problem+json' }, body: JSON.stringify(problem('rate_limited')) }
      : 'pass';
  const limited = await world.longhaul.searchKnowledge({ kb_ids: [crypto.randomUUID()], query: 'x' }).catch((error: unknown) => error);

  expect(lost).toBeInstanceOf(ConnectionError);
  expect(afterLoss).toBe(1);
  expect(limited).toBeInstanceOf(ApiError);
  expect(world.proxy.passed.map(({ status }) => status)).toEqual([0, expect.any(Number)]);
});

test('a named wait is kept; one over a minute ends the call at once', async () => {
  const refused = (seconds: number) => ({
    status: 503,
    headers: { 'content-type': 'application/problem+json' },
    body: JSON.stringify(problem('service_unavailable', { status: 503, retry_after_s: seconds })),
  });
  const startedAt = performance.now();
  world.proxy.decide = (_, nth) => (nth === 1 ? refused(1) : 'pass');
  await world.longhaul.getMe();
  const tookMs = performance.now() - startedAt;
  world.proxy.reset();
  world.proxy.decide = () => refused(61);
  const long = await world.longhaul.getMe().catch((error: unknown) => error);

  expect(tookMs).toBeGreaterThanOrEqual(1_000);
  expect(long).toMatchObject({ code: 'service_unavailable', retryAfterSeconds: 61 });
  expect(world.proxy.passed).toHaveLength(1);
});

test('a reply that is not the deployment’s is unreadable_reply with its status, after five tries where it may pass', async () => {
  world.proxy.decide = () => ({ status: 502, headers: { 'content-type': 'text/html' }, body: '<h1>Bad gateway</h1>' });

  const error = await world.longhaul.getMe().catch((failure: unknown) => failure);

  expect(error).toMatchObject({ name: 'ApiError', code: 'unreadable_reply', status: 502, retryable: true });
  expect(world.proxy.passed).toHaveLength(5);
});

test('an error has every field of the contract, and holds no credential however it is printed', async () => {
  const { plaintext } = world.stack.tenant.serviceKey;
  const id = crypto.randomUUID();

  const error = await world.longhaul.getRun({ run_id: id }).catch((failure: unknown) => failure);

  expect(isCode(error, 'not_found')).toBe(true);
  expect(error).toMatchObject({
    status: 404,
    retryable: false,
    retryAfterSeconds: null,
    errors: [],
    context: expect.anything(),
    maybeApplied: false,
  });
  expect((error as ApiError).instance).toBe(`urn:uuid:${(error as ApiError).correlationId}`);
  world.proxy.decide = () => 'lose';
  const lost = await world.longhaul.getMe().catch((failure: unknown) => failure);
  for (const shown of [error, lost, world.longhaul, await world.longhaul.getMe({}, { deadlineMs: 1 }).catch((failure: unknown) => failure)])
    expect(`${inspect(shown, { depth: 20, showHidden: true })} ${JSON.stringify(shown)}`).not.toContain(plaintext);
});

test('a redirect is not followed, and nothing of the credential reaches another origin', async () => {
  const seen: string[] = [];
  const other = createServer((request, response) => {
    seen.push(JSON.stringify(request.headers));
    response.end('{}');
  });
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const elsewhere = `http://127.0.0.1:${(other.address() as AddressInfo).port}`; // listening on TCP
  world.proxy.decide = () => ({ status: 307, headers: { location: `${elsewhere}/me` } });

  const error = await world.longhaul.getMe().catch((failure: unknown) => failure);
  await new Promise((resolve) => other.close(resolve));

  expect(error).toMatchObject({ code: 'unreadable_reply', status: 307 });
  expect(seen).toEqual([]);
});

test.each(['..', '.', ''])('an id that is %j leads to no other path', async (id) => {
  await expect(world.longhaul.getRun({ run_id: id })).rejects.toThrow(TypeError);

  expect(world.proxy.passed).toEqual([]);
});

test('an id with slashes stays one part of its path', async () => {
  await world.longhaul.getRun({ run_id: '../agents?x#y' }).catch(() => undefined);

  expect(world.proxy.passed.map(({ path }) => path)).toEqual(['/runs/..%2Fagents%3Fx%23y']);
});

test('a loop over a list asks for each page when it gets there, and meets every item once', async () => {
  const word = unique('paged');
  for (const n of [1, 2, 3]) await world.longhaul.createAgent(agent(`${word}-${n}`));
  const { items: all } = await world.longhaul.listAgents({ limit: 200 });
  world.proxy.reset();
  const met: string[] = [];
  const asked: number[] = [];

  for await (const one of world.longhaul.listAgents({ limit: 1 })) {
    met.push(one.id);
    asked.push(world.proxy.passed.length);
    if (met.length === 3) break;
  }
  const whole: string[] = [];
  for await (const one of world.longhaul.listAgents({ limit: 2 })) whole.push(one.id);

  expect(met).toEqual(all.slice(0, 3).map(({ id }) => id));
  expect(asked).toEqual([1, 2, 3]);
  expect(whole).toEqual(all.map(({ id }) => id));
});

test('a cursor that comes again is an error, and no endless loop', async () => {
  world.proxy.decide = () => ({
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ items: [{ id: 1 }], next_cursor: 'same', total: null }),
  });
  const loop = async () => {
    for await (const _ of world.longhaul.listAgents());
  };

  await expect(loop()).rejects.toThrow('cursor');

  expect(world.proxy.passed).toHaveLength(2);
});

test('a list by number goes on by number', async () => {
  const { items: all } = await world.longhaul.listAgents({ limit: 200 });
  const met: string[] = [];
  for await (const one of world.longhaul.listAgents({ limit: 2, offset: 1 })) met.push(one.id);

  expect(met).toEqual(all.slice(1).map(({ id }) => id));
});

test('an abort frees the connection within a second and stops the tries', async () => {
  world.proxy.decide = () => 'hang';
  const controller = new AbortController();
  const call = world.longhaul.getMe({}, { signal: controller.signal }).catch((error: unknown) => error);
  while (world.proxy.passed.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));

  const reason = new Error('enough');
  const abortedAt = performance.now();
  controller.abort(reason);
  const error = await call;
  while (world.proxy.passed[0]?.closedAt === null) await new Promise((resolve) => setTimeout(resolve, 10));

  expect(error).toBe(reason);
  expect((world.proxy.passed[0]?.closedAt ?? Infinity) - abortedAt).toBeLessThan(1_000);
  expect(world.proxy.passed).toHaveLength(1);
});

test('one deadline holds for all tries together', async () => {
  world.proxy.decide = () => 'hang';

  const error = await world.longhaul.getMe({}, { deadlineMs: 300 }).catch((failure: unknown) => failure);

  expect(error).toBeInstanceOf(ConnectionError);
  expect(String(error)).toContain('300 ms');
});

test('a deprecated operation is told once', async () => {
  const notices: DeprecationNotice[] = [];
  const longhaul = world.client({ onDeprecation: (notice) => notices.push(notice) });
  world.proxy.headers = { deprecation: '@1767225600', sunset: 'Wed, 01 Jul 2026 00:00:00 GMT' };

  await longhaul.getMe();
  await longhaul.getMe();
  await longhaul.listAgents();

  expect(notices.map(({ operationId, sunset }) => [operationId, sunset])).toEqual([
    ['getMe', 'Wed, 01 Jul 2026 00:00:00 GMT'],
    ['listAgents', 'Wed, 01 Jul 2026 00:00:00 GMT'],
  ]);
});

test('bytes, a Blob, a stream and a path arrive as they are; a stream is sent once', async () => {
  const bytes = new TextEncoder().encode('Grüße aus dem Garten. '.repeat(5_000));
  const path = import.meta.filename;
  const stream = () =>
    new ReadableStream<Uint8Array>({
      start(controller) {
        for (let at = 0; at < bytes.length; at += 10_000) controller.enqueue(bytes.subarray(at, at + 10_000));
        controller.close();
      },
    });

  loseFirst('POST');
  const ofBytes = await world.longhaul.createAttachment({ file: bytes, filename: 'a.txt', purpose: 'run_input' });
  const ofBlob = await world.longhaul.createAttachment({ file: new Blob([bytes]), filename: 'ö "s".txt' });
  const ofStream = await world.longhaul.createAttachment({ file: stream(), filename: 'ö "s".txt' });
  const ofPath = await world.longhaul.createAttachment({ file: path });
  world.proxy.reset();
  world.proxy.decide = () => 'lose';
  const lost = await world.longhaul.createAttachment({ file: stream() }).catch((error: unknown) => error);
  world.proxy.decide = () => 'pass';

  const back = await (await world.longhaul.getAttachment({ attachment_id: ofStream.id })).bytes();
  expect(Buffer.from(back).equals(bytes)).toBe(true);
  expect([ofBytes, ofBlob].map(({ sha256 }) => sha256)).toEqual([ofStream.sha256, ofStream.sha256]);
  // However it escapes what names may not hold: a stream's name arrives as that of a Blob, which the FormData of the platform has sent.
  expect([ofBytes.filename, ofStream.filename, ofPath.filename]).toEqual(['a.txt', ofBlob.filename, 'calls.test.ts']);
  expect(ofBlob.filename).toMatch(/^ö .+\.txt$/);
  expect(lost).toBeInstanceOf(ConnectionError);
  expect(world.proxy.passed.filter(({ method }) => method === 'POST')).toHaveLength(1);
});
