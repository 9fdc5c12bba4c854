import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startModelServer, type ModelServer, type ScriptStep } from '../fakes/model-server.ts';
import { ownServices, type OwnServices } from '../support/own-services.ts';
import { checkRun, endOf, watchRun } from '../support/run-checks.ts';
import { saveResult } from './report/results.ts';
import { makeAgent, scripted, startEffectServer, writeTool, type EffectServer } from '../support/scenario.ts';
import { startStack, type Stack } from '../support/stack.ts';
import type { StreamReader } from '../support/stream-client.ts';
import { surelyStart, type SurelyStarted } from '../support/sure-start.ts';
import { until } from '../support/temporal.ts';

let own: OwnServices;
let models: ModelServer;
let effects: EffectServer;
let stack: Stack;

beforeAll(async () => {
  own = await ownServices('outages');
  models = await startModelServer();
  effects = await startEffectServer();
  stack = await startStack({
    processes: ['api', 'api-2', 'worker-runs', 'worker-runs-2'],
    modelBaseUrl: models.baseUrl,
    egressPorts: [effects.port],
  });
}, 180_000);

afterAll(async () => {
  await stack?.stop().catch(() => undefined); // a service that a failed test left away
  effects?.close();
  await models?.close();
  await own?.stop();
}, 60_000);

/** One run at each place where an outage can meet it: a long answer, many short steps, a write tool, a line of three. */
async function mixedRuns(): Promise<SurelyStarted[]> {
  const tool = writeTool(`mixed-${crypto.randomUUID().slice(0, 8)}`, effects, { timeout_s: 120 });
  const agent = await makeAgent(stack, [tool]);
  const write = (n: number): ScriptStep => ({ tool_calls: [{ name: String(tool['slug']), arguments: { n } }], first_token_ms: 300 });
  const start = (steps: readonly ScriptStep[], sessionKey?: string) =>
    surelyStart(stack, {
      agentId: agent.id,
      text: scripted({ steps }, `Mixed ${crypto.randomUUID()}.`),
      ...(sessionKey ? { sessionKey } : {}),
    });
  const sessionKey = crypto.randomUUID();

  return [
    ...(await Promise.all([
      start([{ tokens: 150, delay_ms: 100 }]),
      start([{ tokens: 500, delay_ms: 100 }]),
      start([...Array.from({ length: 12 }, (_, n) => write(n)), { text: 'Twelve writes.' }]),
      start([write(100), { text: 'One write.', first_token_ms: 2_000 }]),
    ])),
    await start([{ tokens: 20, delay_ms: 100 }], sessionKey),
    await start([{ tokens: 20, delay_ms: 100 }], sessionKey),
    await start([write(101), { text: 'Third in line.' }], sessionKey),
  ];
}

const plainAgent = async () => (await makeAgent(stack, [])).id;

async function expectAllWell(runs: readonly SurelyStarted[], readers: readonly StreamReader[]): Promise<void> {
  const seen = await Promise.all(readers.map((reader) => endOf(reader, 240_000)));
  const checked = await Promise.all(runs.map((run, n) => checkRun(stack, run.id, { seen: [seen[n] ?? []] })));

  expect(checked.flatMap((one) => one.faults)).toEqual([]);
  expect(checked.map((one) => [one.run.status, one.run.error])).toEqual(runs.map(() => ['succeeded', null]));
}

const begun = (readers: readonly StreamReader[]) => readers.slice(0, 4).every((reader) => reader.frames.length >= 5);
const watchAll = (runs: readonly SurelyStarted[]) =>
  runs.map((run, n) => watchRun(stack, run.id, n % 2 ? ['api', 'api-2'] : ['api-2', 'api']));

test.each([
  ['postgres', 5],
  ['postgres', 45],
  ['redis', 45],
  ['redis', 300],
  ['temporal', 20],
  ['temporal', 120],
] as const)(
  '%s away for %i s under runs of every kind: none is lost, doubled or failed, no effect comes twice',
  async (name, seconds) => {
    const before = effects.effects.length;
    const runs = await mixedRuns();
    const readers = watchAll(runs);
    await until(() => begun(readers), 60_000);

    await own.kill(name);
    await delay(seconds * 1_000);
    await own.up(name);

    await expectAllWell(runs, readers);
    const writes = effects.effects.slice(before).map((effect) => effect.body);
    expect(writes).toHaveLength(14);
    expect(new Set(writes).size).toBe(14);
    saveResult(`scenario-${name}-${seconds}`, {
      name: `${name} away for ${seconds} s`,
      runs: runs.length,
      told: '14 writes once each, every run succeeded',
    });
  },
  700_000,
);

test.each([
  ['postgres', 15], // its postmaster alone: open connections work, new ones hang
  ['redis', 15],
  ['temporal', 15],
] as const)(
  '%s hangs for %i s under runs of every kind: none is lost, doubled or failed, no effect comes twice',
  async (name, seconds) => {
    const before = effects.effects.length;
    const runs = await mixedRuns();
    const readers = watchAll(runs);
    await until(() => begun(readers), 60_000);

    own.freeze(name);
    const meanwhile = await surelyStart(stack, { agentId: await plainAgent(), text: scripted({ steps: [{ tokens: 5 }] }) });
    await delay(seconds * 1_000);
    own.thaw(name);

    await expectAllWell([...runs, meanwhile], [...readers, watchRun(stack, meanwhile.id)]);
    const writes = effects.effects.slice(before).map((effect) => effect.body);
    expect(writes).toHaveLength(14);
    expect(new Set(writes).size).toBe(14);
  },
  400_000,
);

test('a rolling restart that answers outlast: each is asked for again under a new attempt, which counts as no loss', async () => {
  const agent = await makeAgent(stack, []);
  const runs = await Promise.all(
    Array.from({ length: 10 }, () =>
      surelyStart(stack, {
        agentId: agent.id,
        text: scripted({ steps: [{ tokens: 450, delay_ms: 100 }] }, `Long ${crypto.randomUUID()}.`),
      }),
    ),
  );
  const readers = watchAll(runs);
  await until(() => readers.every((reader) => reader.frames.length >= 5), 60_000);

  for (const name of ['worker-runs', 'worker-runs-2'] as const) {
    expect(await stack.kill(name, 'SIGTERM')).toBe(0);
    await stack.start(name);
  }

  await expectAllWell(runs, readers);
  const causes = readers
    .flatMap((reader) => reader.frames)
    .flatMap((frame) => (frame.type === 'run.status' && frame.data['retry'] ? [(frame.data['retry'] as { cause: string }).cause] : []));
  expect(causes.length).toBeGreaterThan(0);
  expect(new Set(causes)).toEqual(new Set(['shutdown']));
}, 400_000);
