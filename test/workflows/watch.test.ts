import { hostname } from 'node:os';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { serveHealth } from '../../workers/health.ts';
import { runtimeLogger } from '../../workers/runtime-log.ts';
import { watchWorker } from '../../workers/watch.ts';
import { fakeRuns } from '../fakes/run-activities.ts';
import { freePort } from '../support/stack.ts';
import { testNamespace, until, type TestNamespace } from '../support/temporal.ts';
import { startTestWorker } from '../support/worker.ts';

let place: TestNamespace;

beforeAll(async () => {
  place = await testNamespace();
});

afterAll(() => place.close());

test('a worker is ready once Temporal has seen it poll, and not any more when no poll was seen for long', async () => {
  const lines: string[] = [];
  const log = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line).msg) });
  const metrics = new Registry();
  const watch = watchWorker({
    temporal: place.temporal,
    queue: 'runs',
    identity: `${process.pid}@${hostname()}`,
    log,
    metrics,
    stalledAfterMs: 3000,
    everyMs: 100,
  });
  const port = await freePort();
  const close = await serveHealth({ host: '127.0.0.1', port, isReady: async () => watch.isReady(), isStarted: watch.isStarted, metrics });
  const ready = async () => (await fetch(`http://127.0.0.1:${port}/health/ready`)).status;
  const started = async () => (await fetch(`http://127.0.0.1:${port}/health/startup`)).status;

  expect([await ready(), await started()]).toEqual([503, 503]);
  const worker = await startTestWorker(place, fakeRuns().activities);
  await until(async () => (await ready()) === 200);
  await worker.stop();
  await until(async () => (await ready()) === 503);
  expect(await started()).toBe(200);

  await until(() => lines.length === 2);
  expect(lines).toEqual(['worker ready', 'worker stalled']);
  expect((await fetch(`http://127.0.0.1:${port}/health/live`)).status).toBe(200);
  expect(await (await fetch(`http://127.0.0.1:${port}/metrics?from=scraper`)).text()).toContain('longhaul_worker_ready 0');
  watch.stop();
  close();
});

test('a failing workflow task is an error and counted; a failed activity is said once, by us', () => {
  const levels: number[] = [];
  const log = pino({ level: 'trace' }, { write: (line) => void levels.push(JSON.parse(line).level) });
  let failures = 0;
  const runtime = runtimeLogger(log, () => failures++);

  runtime.warn('Failing workflow task', { error: new Error('x') });
  runtime.warn('Activity failed');
  runtime.info('Worker state changed');

  expect(levels).toEqual([50, 30]);
  expect(failures).toBe(1);
});
