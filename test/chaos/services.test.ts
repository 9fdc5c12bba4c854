import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { ownServices, type OwnServices } from '../support/own-services.ts';
import { checkRun, endOf, watchRun } from '../support/run-checks.ts';
import { makeAgent, scripted, startEffectServer, writeTool, type CreatedAgent, type EffectServer } from '../support/scenario.ts';
import { startStack, type ProcessName, type Stack } from '../support/stack.ts';
import type { StreamReader } from '../support/stream-client.ts';
import { surelyStart, type SurelyStarted } from '../support/sure-start.ts';
import { until } from '../support/temporal.ts';
import { holdStatements } from '../support/held-statements.ts';
import { mixedBase, pictureOf, reembedWorld, startedReembed } from '../workflows/reembed-world.ts';
import { fullTest, isWholeMatrix, matrixTest } from './whole.ts';

let own: OwnServices;
let models: ModelServer;
let effects: EffectServer;
let stack: Stack;
let agent: CreatedAgent;

beforeAll(async () => {
  own = await ownServices('services');
  models = await startModelServer();
  effects = await startEffectServer();
  stack = await startStack({
    processes: ['api', 'api-2', 'worker-runs', 'worker-runs-2'],
    modelBaseUrl: models.baseUrl,
    egressPorts: [effects.port],
    env: { DRAIN_SECONDS: '1' },
  });
  agent = await makeAgent(stack, []);
});

afterAll(async () => {
  await stack?.stop().catch(() => undefined); // a service that a failed test left away
  effects?.close();
  await models?.close();
  await own?.stop();
});

/** Starts runs that stream ten words a second. */
function streaming(count: number, seconds: number): Promise<SurelyStarted[]> {
  const text = () => scripted({ steps: [{ tokens: seconds * 10, delay_ms: 100 }] }, `Stream ${crypto.randomUUID()}.`);
  return Promise.all(Array.from({ length: count }, () => surelyStart(stack, { agentId: agent.id, text: text() })));
}

function watchAll(runs: readonly SurelyStarted[], names: readonly ProcessName[] = ['api', 'api-2']): StreamReader[] {
  return runs.map((run) => watchRun(stack, run.id, names));
}

/** Waits for the ends and holds every run against the promises; all must have succeeded. */
async function expectAllWell(runs: readonly SurelyStarted[], readers: readonly StreamReader[]): Promise<void> {
  const seen = await Promise.all(readers.map((reader) => endOf(reader)));
  const checked = await Promise.all(
    runs.map((run, n) => checkRun(stack, run.id, { seen: seen.filter((_, at) => at % runs.length === n) })),
  );

  expect(checked.flatMap((one) => one.faults)).toEqual([]);
  expect(checked.map((one) => one.run.status)).toEqual(runs.map(() => 'succeeded'));
}

test.each(isWholeMatrix ? (['restarted', 'killed'] as const) : (['killed'] as const))(
  'PostgreSQL %s while runs stream and start: none is lost, doubled or failed',
  async (how) => {
    const before = await streaming(4, 3);
    const readers = [...watchAll(before), ...watchAll(before, ['api-2'])];
    await until(() => readers.every((reader) => reader.frames.length >= 5));

    const back = how === 'restarted' ? own.restart('postgres') : own.kill('postgres').then(() => own.up('postgres'));
    const during = await streaming(4, 1);
    await back;

    await expectAllWell(before, readers);
    await expectAllWell(during, watchAll(during));
  },
);

matrixTest(
  'PostgreSQL killed while a re-embed writes vectors: the new base takes the place of the old one, with all that it held',
  async () => {
    await stack.start('worker-bulk');
    const world = reembedWorld(stack);
    const kbId = await mixedBase(world);
    const before = await pictureOf(world, kbId);
    const held = await holdStatements(stack.adminUrl, { table: 'knowledge_vectors', event: 'insert' });
    const { runId, target } = await startedReembed(world, kbId, 'hash-v1');
    await held.reached();

    await own.kill('postgres');
    await own.up('postgres');
    await held.letGo();

    await until(async () => (await world.run(runId).catch(() => null))?.status === 'succeeded');
    expect(await pictureOf(world, target)).toEqual(before);
    const vectors =
      'select count(*)::int as n from knowledge_chunks c left join knowledge_vectors v on v.chunk_id = c.id where c.kb_id = ? and v.chunk_id is null';
    expect(await world.sql(vectors, [target])).toEqual([{ n: 0 }]);
    await stack.kill('worker-bulk');
  },
);

test('Temporal killed around starts: they are 202 at once, and begin within 10 s of its return', async () => {
  const before = await streaming(3, 2);
  const readers = watchAll(before);
  await until(() => readers.every((reader) => reader.frames.length >= 5));

  await own.kill('temporal');
  const during = await streaming(4, 1);
  const waiting = watchAll(during);
  await delay(3_000);
  const begunWithout = waiting.filter((reader) => reader.frames.some((frame) => frame.type === 'run.started')).length;
  await own.up('temporal');
  const backAt = Date.now();
  await until(() => waiting.every((reader) => reader.frames.some((frame) => frame.type === 'run.started')));

  expect(Date.now() - backAt).toBeLessThan(10_000);
  expect(begunWithout).toBe(0);
  expect(during.map((run) => run.tries)).toEqual([1, 1, 1, 1]);
  await expectAllWell([...before, ...during], [...readers, ...waiting]);
});

test('Redis killed, back, and flushed twice while runs stream and start: watchers and replays get every frame', async () => {
  const before = await streaming(4, 6);
  const readers = [...watchAll(before), ...watchAll(before, ['api-2'])];
  await until(() => readers.every((reader) => reader.frames.length >= 5));

  await own.kill('redis');
  const during = await streaming(4, 1);
  const waiting = watchAll(during);
  await Promise.all(waiting.map((reader) => endOf(reader)));
  await own.up('redis');
  await flushed();
  await expectAllWell(before, readers);
  await flushed();

  await expectAllWell(during, waiting);
  await expectAllWell(before, watchAll(before));
});

async function flushed(): Promise<void> {
  const redis = new Redis(own.services.redisUrl);
  await redis.flushall();
  redis.disconnect();
}

fullTest(
  'a worker frozen for 15 s in a write tool: its run goes on elsewhere, the effect happens once, what it writes late is refused',
  async () => {
    const tool = writeTool(`frozen-${crypto.randomUUID().slice(0, 8)}`, effects);
    const writer = await makeAgent(stack, [tool]);
    const before = effects.effects.length;
    const frozen: { by: ProcessName | null } = { by: null };
    effects.onEffect = async () => {
      frozen.by = await holderOfActivity(stack);
      await stack.kill(frozen.by, 'SIGSTOP');
    };
    const script = { steps: [{ tool_calls: [{ name: String(tool['slug']), arguments: { n: 1 } }] }, { text: 'Noted.' }] };
    const run = await surelyStart(stack, { agentId: writer.id, text: scripted(script) });
    const [reader] = watchAll([run]);
    await until(() => frozen.by !== null);
    effects.onEffect = null;

    const frames = await endOf(reader as StreamReader);
    await delay(2_000);
    await stack.kill(frozen.by as ProcessName, 'SIGCONT');
    await delay(3_000);
    const checked = await checkRun(stack, run.id, { seen: [frames] });

    expect(checked.faults).toEqual([]);
    expect(effects.effects.length).toBe(before + 1);
    expect(frames.find((frame) => frame.type === 'tool.result')?.data).toMatchObject({
      status: 'failed',
      error: { code: 'outcome_unknown' },
    });
    expect(checked.run.status).toBe('succeeded');
  },
);

/** The worker that executes the only activity there is now. */
async function holderOfActivity(of: Stack): Promise<ProcessName> {
  const names = ['worker-runs', 'worker-runs-2'] as const;
  const counts = await Promise.all(
    names.map(async (name) => {
      const metrics = await (
        await fetch(`${of.url(name)}/metrics`, { headers: { authorization: 'Bearer metrics-token-of-the-tests' } })
      ).text();
      return Number(/^longhaul_worker_activities (\d+)/m.exec(metrics)?.[1] ?? 0);
    }),
  );
  const at = counts.findIndex((count) => count > 0);
  if (at < 0) throw new Error(`no worker has an activity: ${counts.join(', ')}`);
  return names[at] as ProcessName;
}

const restarted: readonly ProcessName[] = isWholeMatrix ? ['worker-runs', 'api', 'worker-runs-2', 'api-2'] : ['worker-runs', 'api'];

fullTest('a rolling restart under ten streaming runs: none fails, no try counts as lost, and each process ends by itself', async () => {
  const runs = await streaming(10, 8);
  const readers = watchAll(runs);
  await until(() => readers.every((reader) => reader.frames.length >= 5));

  const codes: (number | null)[] = [];
  for (const name of restarted) {
    codes.push(await stack.kill(name, 'SIGTERM'));
    await stack.start(name);
  }

  await expectAllWell(runs, readers);
  const retries = readers.flatMap((reader) => reader.frames).filter((frame) => frame.type === 'run.status' && frame.data['retry']);
  expect(retries.filter((frame) => (frame.data['retry'] as { cause: string }).cause === 'worker_lost')).toEqual([]);
  expect(codes).toEqual(restarted.map(() => 0));
});
