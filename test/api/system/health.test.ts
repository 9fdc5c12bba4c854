import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startApi, type TestApi } from '../../support/api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

test('a process that can serve says so part by part', async () => {
  const reply = await api.app.inject('/health/ready');

  expect(reply.statusCode).toBe(200);
  expect(reply.json()).toMatchObject({ status: 'ok', draining: false });
  expect(reply.json().checks.map((check: { name: string }) => check.name)).toEqual(['postgres', 'redis', 'temporal', 'migrations']);
});
