import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { childrenOf, usageOf } from '../../ports/sandbox/watch.ts';
import { exponentialSchema, median } from '../support/hostile-work.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';
import { makeTenant, type TestTenant } from '../support/tenant.ts';

const onLinux = process.platform === 'linux' ? test : test.skip;
const hostileTools = 8;
/** A machine that is busy with other tests makes more than any neighbour. */
const floorMs = 5_000;

let stack: Stack;
let neighbour: TestTenant;
let admin: pg.Client;

beforeAll(async () => {
  stack = await startStack({ processes: ['api', 'worker-runs'] });
  neighbour = await makeTenant(stack.db, stack.keys, { publicUrl: stack.url() });
  admin = new pg.Client(stack.adminUrl);
  await admin.connect();
});

afterAll(async () => {
  await admin?.end();
  await stack?.stop();
});

async function makeTool(credential: string, slug: string): Promise<string> {
  const body = { slug, kind: 'http', description: 'A tool', config: { method: 'GET', url: 'https://example.com/' } };
  const made = await stack.request('POST', '/tools', { body, credential });
  expect(made.status).toBe(201);
  return Reflect.get(made.body, 'id');
}

/** A tool as a row from before such schemas were refused holds it. */
async function makeHostileTool(slug: string): Promise<string> {
  const id = await makeTool(stack.tenant.serviceKey.plaintext, slug);
  await admin.query('update tools set input_schema = $1 where id = $2', [JSON.stringify(exponentialSchema(slug)), id]);
  return id;
}

const tryTool = (id: string, credential: string, args: Record<string, string> = { q: 'x' }) =>
  stack.request('POST', `/tools/${id}/test`, { body: { arguments: args, dry_run: true }, credential });

async function timesOf(id: string, count: number): Promise<number[]> {
  const times: number[] = [];
  for (let at = 0; at < count; at++) {
    const startedAt = performance.now();
    expect(await tryTool(id, neighbour.serviceKey.plaintext, {})).toMatchObject({ status: 200 });
    times.push(performance.now() - startedAt);
  }
  return times;
}

test('a schema that takes exponential time is 422 when it is saved', async () => {
  const config = { method: 'GET', url: 'https://example.com/' };
  const body = { slug: 'costly', kind: 'http', description: 'A tool', config, input_schema: exponentialSchema('x') };
  const refused = await stack.request('POST', '/tools', { body });

  expect(refused.status).toBe(422);
  expect(refused.body).toMatchObject({ errors: [{ pointer: '/input_schema', rule: 'too_costly' }] });
});

test('stored schemas of exponential time, four at a time, end no process, and a neighbour is answered as ever', async () => {
  const plain = await makeTool(neighbour.serviceKey.plaintext, 'plain');
  const hostile: string[] = [];
  for (let at = 0; at < hostileTools; at++) hostile.push(await makeHostileTool(`hostile-${at}`));
  await timesOf(plain, 2);
  const idle = median(await timesOf(plain, 7));

  const statuses: number[] = [];
  const attack = Array.from({ length: 4 }, async (_, first) => {
    for (let at = first; at < 3 * hostileTools; at += 4)
      statuses.push((await tryTool(hostile[at % hostileTools] ?? '', stack.tenant.serviceKey.plaintext)).status);
  });
  const beside = median(await timesOf(plain, 7));
  await Promise.all(attack);

  expect(beside).toBeLessThan(Math.max(3 * idle, floorMs));
  expect(statuses.filter((status) => status !== 422 && status !== 503)).toEqual([]);
  expect(statuses).toContain(422);
  for (const name of ['api', 'worker-runs'] as const) expect(process.kill(stack.pid(name), 0)).toBe(true);
  expect((await fetch(`${stack.url()}/health/live`)).status).toBe(200);
});

onLinux('children die with a process that is killed, in the middle of a job that never ends', async () => {
  const id = await makeHostileTool('last');
  const asked = tryTool(id, stack.tenant.serviceKey.plaintext).catch(() => null);
  await until(() => childrenOf(stack.pid('api')).some((child) => usageOf(child).cpuMs > 500));
  const children = childrenOf(stack.pid('api'));

  await stack.kill('api');
  await asked;
  await until(() => children.every((child) => usageOf(child).processes === 0));
  await stack.start('api');
});
