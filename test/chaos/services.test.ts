import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { ownServices, type OwnServices } from '../support/own-services.ts';
import { checkRun, watchRun, within } from '../support/run-checks.ts';
import { makeAgent, scripted, startEffectServer, writeTool, type CreatedAgent, type EffectServer } from '../support/scenario.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { surelyStart } from '../support/sure-start.ts';
import { until } from '../support/temporal.ts';

let own: OwnServices;
let models: ModelServer;
let effects: EffectServer;
let stack: Stack;
let agent: CreatedAgent;

beforeAll(async () => {
  own = await ownServices('services');
  models = await startModelServer();
  effects = await startEffectServer();
  stack = await startStack({ processes: ['api', 'api-2', 'worker-runs', 'worker-runs-2'], modelBaseUrl: models.baseUrl, egressPorts: [effects.port] });
  agent = await makeAgent(stack, []);
}, 180_000);

afterAll(async () => {
  await stack?.stop().catch(() => undefined); // a service that a failed test left away
  effects?.close();
  await models?.close();
  await own?.stop();
}, 60_000);

/** Runs that stream for about `seconds`. */
const streaming = (count: number, seconds: number) =>
  Promise.all(
    Array.from({ length: count }, (_, n) =>
      surelyStart(stack, { agentId: agent.id, text: scripted({ steps: [{ tokens: seconds * 10, delay_ms: 100 }] }, `Stream ${n} ${crypto.randomUUID()}.`) }),
    ),
  );

test.each(['restarted', 'killed'] as const)(
  'PostgreSQL %s while runs stream and start: none is lost, doubled or failed',
  async (how) => {
    const before = await streaming(4, 4);
    const readers = before.map((run, n) => watchRun(stack, run.id, n % 2 ? ['api', 'api-2'] : ['api-2']));
    await until(() => readers.every((reader) => reader.frames.length >= 5), 30_000);

    const back = how === 'restarted' ? own.restart('postgres') : own.kill('postgres').then(() => own.up('postgres'));
    const during = await streaming(4, 1);
    await back;
    const all = [...before, ...during];
    const seen = await Promise.all(readers.map((reader) => within(60_000, 'streaming run', reader)));
    await Promise.all(during.map((run) => within(60_000, 'new run', watchRun(stack, run.id))));
    const checked = await Promise.all(all.map((run, n) => checkRun(stack, run.id, { seen: seen[n] ? [seen[n]] : [] })));

    expect(checked.flatMap((one) => one.faults)).toEqual([]);
    expect(checked.map((one) => one.run.status)).toEqual(all.map(() => 'succeeded'));
  },
  120_000,
);
