import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { makeAgent } from '../support/scenario.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';

let models: ModelServer;
let stack: Stack;

beforeAll(async () => {
  models = await startModelServer();
  stack = await startStack({ processes: ['api', 'worker-runs'], modelBaseUrl: models.baseUrl });
});
afterAll(async () => {
  await stack?.stop();
  await models?.close();
});

test('the example of docs/events.md starts a run when it is pasted', async () => {
  const text = readFileSync(join(import.meta.dirname, '../../docs/events.md'), 'utf8');
  const [, block = ''] = /```sh\n([\s\S]*?)```/.exec(text) ?? [];
  // A deployment of the state folder is elsewhere: its address, key and agent are those of the test.
  const script = block
    .split('\n')
    .filter((line) => !/^(?:URL|KEY|AGENT)=/.test(line))
    .join('\n');
  const agent = await makeAgent(stack, []);
  const env = { PATH: process.env['PATH'] ?? '', URL: stack.url(), KEY: stack.tenant.serviceKey.plaintext, AGENT: agent.id };

  const { stdout } = await promisify(execFile)('bash', ['-euc', script], { env });
  const matchesOf = async () => {
    const { body } = await stack.request('GET', '/events?event_kind=shop.*');
    return (body as { items: { matches: { outcome: string }[] }[] }).items.map(({ matches }) => matches.map(({ outcome }) => outcome));
  };
  await until(async () => (await matchesOf()).flat().length > 0);

  expect(await matchesOf()).toEqual([['started']]);
  expect(stdout).toContain('"subject":"order-42"');
});
