import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import pg from 'pg';
import { ownServices, type OwnServices } from '../support/own-services.ts';
import { seeded } from '../support/seeded.ts';
import type { ProcessName } from '../support/stack.ts';
import { until } from '../support/temporal.ts';
import { collect } from './checker/collect.ts';
import { judge } from './checker/judge.ts';
import type { Start } from './checker/record.ts';
import { armKillers } from './load/mixed.ts';
import { start } from './load/start.ts';
import { saveResult } from './report/results.ts';
import { quiet, readersEnded } from './seed.ts';
import { apis, openWorld, runWorkers, type ChaosWorld } from './world.ts';

let own: OwnServices;
let world: ChaosWorld;
beforeAll(async () => {
  own = await ownServices('scenarios');
}, 180_000);
beforeEach(async () => {
  world = await openWorld(own, { poolMax: 10 });
}, 240_000);
afterEach(() => world?.close(), 60_000);
afterAll(() => own?.stop(), 60_000);

test('a worker frozen for 200 s in a write tool, then resumed: the effect happens once, the run goes on elsewhere, late writes are refused', async () => {
  const frozen: { by: ProcessName | null } = { by: null };
  world.tools.onEffect = async ({ path, clientPort }) => {
    if (frozen.by !== null || path !== `/${world.cast.slugs.write}`) return;
    frozen.by = world.workerOf(clientPort);
    if (frozen.by !== null) await world.stack.kill(frozen.by, 'SIGSTOP');
  };
  const from = Date.now();
  const runs: Start[] = [];
  for (let n = 0; n < 6; n++) runs.push(await start(world, 'tools', seeded(n)));
  await until(() => frozen.by !== null, 60_000);

  await until(() => runs.every((run) => world.record.seen.some((seen) => seen.runId === run.runId && seen.isDone)), 150_000);
  await delay(Math.max(0, 200_000 - (Date.now() - from)));
  await world.stack.kill(frozen.by ?? 'worker-runs', 'SIGCONT');
  await delay(15_000);

  const { evidence } = await expectAllWell();
  expect(evidence.calls.filter((call) => call.error?.code === 'outcome_unknown').length).toBeGreaterThan(0);
  saveResult('scenario-frozen', {
    name: 'worker frozen for 200 s in a write tool',
    runs: runs.length,
    told: 'each effect once, nothing written late',
  });
}, 500_000);

test('a run that kills every worker costs three of them and blocks nobody, while others go on', async () => {
  armKillers(world);
  const kinds = ['killer', 'plain', 'tools', 'tools', 'plain'] as const;
  await Promise.all(kinds.map((kind, n) => start(world, kind, seeded(n))));

  await expectAllWell();
  const killed = [...world.kills.values()];
  expect(killed).toEqual([3]);
  saveResult('scenario-killer', {
    name: 'a run that kills every worker that takes it',
    runs: 5,
    told: `it cost ${killed[0]} workers, four runs beside it succeeded`,
  });
}, 400_000);

test('200 model calls that hang on pools of 10: everything else answers, and no connection is held by them', async () => {
  world.models.weather = { kind: 'hang', after: 0 };
  await Promise.all(Array.from({ length: 200 }, (_, n) => start(world, 'plain', seeded(n))));
  await until(() => world.models.calls().filter((call) => call.outcome === 'hang').length >= 100, 120_000);

  const waits: number[] = [];
  for (let n = 0; n < 50; n++) {
    const from = performance.now();
    const answer = await world.stack.request('GET', '/runs?limit=50', { process: apis[n % 2] ?? 'api' });
    waits.push(performance.now() - from);
    expect(answer.status).toBe(200);
  }
  const connections = await busyConnections();
  world.models.weather = null;

  await expectAllWell();
  expect(connections).toBeLessThan(10);
  saveResult('scenario-hanging', {
    name: '200 model calls that hang, pools of 10',
    runs: 200,
    told: `lists answered in ${Math.round(Math.max(...waits))} ms at most, ${connections} connections in a transaction`,
  });
}, 600_000);

test('tools that answer 100 MB: cut while they are read, and no worker grows by it', async () => {
  const before = runWorkers.map((name) => residentMb(world.stack.pid(name)));
  let most = 0;
  const timer = setInterval(() => {
    most = Math.max(most, ...runWorkers.map((name, n) => residentMb(world.stack.pid(name)) - (before[n] ?? 0)));
  }, 100);

  await Promise.all(Array.from({ length: 8 }, (_, n) => start(world, 'huge output', seeded(n))));
  const { evidence } = await expectAllWell();
  clearInterval(timer);

  const huge = evidence.calls.filter((call) => call.slug === world.cast.slugs.huge);
  expect(huge.map((call) => call.state)).toEqual(huge.map(() => 'succeeded'));
  expect(most).toBeLessThan(300);
  saveResult('scenario-huge', { name: 'tools that answer 100 MB', runs: 8, told: `cut; a worker grew by ${Math.round(most)} MB at most` });
}, 400_000);

/** Holds all that happened against all that was promised. */
async function expectAllWell() {
  await quiet(world);
  await readersEnded(world);
  const { stack, record, tools, models, kills, workersEnded } = world;
  const evidence = await collect({
    stack,
    tenant: stack.tenant,
    client: record,
    effects: tools.effects,
    modelCalls: models.calls(),
    kills,
    workersEnded,
    names: apis,
  });
  const verdict = judge(evidence, world.cast.slugs);
  expect(verdict.faults).toEqual([]);
  return { evidence, verdict };
}

/** Connections of the deployment that are inside a transaction or a statement now. */
async function busyConnections(): Promise<number> {
  const client = new pg.Client({ connectionString: world.stack.adminUrl });
  await client.connect();
  const found = await client.query<{ n: number }>(
    `select count(*)::int as n from pg_stat_activity where datname = current_database() and state <> 'idle' and pid <> pg_backend_pid()`,
  );
  await client.end();
  return found.rows[0]?.n ?? -1;
}

function residentMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1_024;
}
