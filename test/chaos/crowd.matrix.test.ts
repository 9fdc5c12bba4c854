import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { scripted } from '../support/scenario.ts';
import { ownServices, type OwnServices } from '../support/own-services.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';
import { makeTenant, type TestTenant } from '../support/tenant.ts';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { parseFrame } from '../../db/streams/frame-text.ts';
import { collect, leftoversOf } from './checker/collect.ts';
import { judgeEnds, judgeHistories, judgeOpenRows, judgeTotals } from './checker/judge-rows.ts';
import { judgeCopies, judgeReaders, judgeStreams } from './checker/judge-streams.ts';
import { judgeUsage } from './checker/judge-outside.ts';
import { newMarker, newRecord, type ClientRecord } from './checker/record.ts';
import { watch } from './checker/watch.ts';
import { saveResult } from './report/results.ts';

const crowdSize = 10_000;
const batchSize = 100;

let own: OwnServices;
let models: ModelServer;
let stack: Stack;
let crowd: TestTenant;
beforeAll(async () => {
  own = await ownServices('crowd');
  models = await startModelServer();
  stack = await startStack({
    processes: ['api', 'api-2', 'worker-runs', 'worker-runs-2', 'worker-bulk'],
    modelBaseUrl: models.baseUrl,
    env: { RATE_LIMITS: 'principal=off,workspace=off', STREAMS_PER_PRINCIPAL: '1000' },
  });
  crowd = await makeTenant(stack.db, stack.keys, { publicUrl: stack.url() });
}, 240_000);
afterAll(async () => {
  await stack?.stop();
  await models?.close();
  await own?.stop();
}, 60_000);

test('one workspace queues 10,000 runs: another tenant’s start waits at most three times as long as ever, and none of the runs is lost', async () => {
  const [agentId, crowdAgentId] = [await agentOf(stack.tenant), await agentOf(crowd)];
  const clients = { few: newRecord(), many: newRecord() };
  await startToStep(clients.few, agentId); // whatever is done once
  const idle = await inTurn(10, () => startToStep(clients.few, agentId));

  await inParallel(crowdSize / batchSize, 4, () => startBatch(clients.many, crowdAgentId));
  const queued = (await leftoversOf(stack, crowd.organizationId)).liveRuns;
  const busy = await inTurn(100, () => startToStep(clients.few, agentId));
  const answer = await request(crowd, 'POST', '/runs/cancel', { filter: { agent_id: crowdAgentId } });
  await until(async () => (await leftoversOf(stack, crowd.organizationId)).liveRuns === 0, 900_000);
  await until(async () => (await leftoversOf(stack, crowd.organizationId)).unsentOutbox === 0, 60_000);
  // A start that was on its way when it was taken back makes a workflow that finds its run ended.
  for (const { organizationId } of [crowd, stack.tenant])
    await until(async () => (await leftoversOf(stack, organizationId)).openWorkflows === 0, 300_000);
  const faults = [...(await faultsOf(crowd, clients.many, 200)), ...(await faultsOf(stack.tenant, clients.few, 1))];

  const median = (of: readonly Waited[]) => of.map((one) => one.toStepMs).toSorted((a, b) => a - b)[Math.floor(of.length / 2)] ?? 0;
  saveResult('crowd', {
    queued,
    idleMs: idle.map((one) => one.toStepMs),
    busyMs: busy.map((one) => one.toStepMs),
    startMs: busy.map((one) => one.startMs),
    faults,
    acknowledged: clients.many.starts.length + clients.few.starts.length,
    lostRuns: faults.filter((fault) => fault.includes('and lost')).length,
  });
  expect(answer.status).toBe(202);
  expect(queued).toBeGreaterThan(crowdSize / 2);
  expect(faults).toEqual([]);
  expect(median(busy)).toBeLessThanOrEqual(3 * median(idle));
}, 3_000_000);

interface Waited {
  readonly startMs: number;
  readonly toStepMs: number;
}

/** One run of the small tenant: until its start is acknowledged, and until it runs. */
async function startToStep(client: ClientRecord, agentId: string): Promise<Waited> {
  const marker = newMarker();
  const from = Date.now();
  const answer = await request(stack.tenant, 'POST', '/runs', { agent_id: agentId, input: { text: scripted(hello, marker) } });
  const startMs = Date.now() - from;
  const runId = (answer.body as { id: string }).id;
  client.starts.push({ kind: 'plain', marker, agentId, sessionKey: null, runId, askedAt: from, ms: startMs });
  const watcher = watch(stack, runId, { wire: 'sse', names: ['api'], roams: null });
  client.seen.push(watcher.seen);
  await watcher.ended;
  const at = watcher.seen.texts.findIndex((text) => parseFrame(text).type === 'run.started');
  return { startMs, toStepMs: (watcher.seen.times[at] ?? Infinity) - from };
}

const hello = { steps: [{ text: 'Hello there, whoever you are.' }] };

async function startBatch(client: ClientRecord, agentId: string): Promise<void> {
  const markers = Array.from({ length: batchSize }, newMarker);
  const items = markers.map((marker) => ({ agent_id: agentId, input: { text: scripted(hello, marker) } }));
  const from = Date.now();
  const answer = await request(crowd, 'POST', '/runs/batch', { items });
  if (answer.status !== 200) throw new Error(`a batch was answered ${answer.status}: ${JSON.stringify(answer.body).slice(0, 300)}`);
  const { items: made } = answer.body as { items: { run: { id: string } | null }[] };
  markers.forEach((marker, n) => {
    const runId = made[n]?.run?.id ?? null;
    client.starts.push({ kind: 'plain', marker, agentId, sessionKey: null, runId, askedAt: from, ms: Date.now() - from });
  });
}

async function faultsOf(tenant: TestTenant, client: ClientRecord, oneOf: number): Promise<string[]> {
  const evidence = await collect({ stack, tenant, client, effects: [], modelCalls: models.calls(), names: ['api', 'api-2'], oneOf });
  const own = {
    ...evidence,
    modelCalls: evidence.modelCalls.filter((call) => client.starts.some((start) => call.markers.includes(start.marker))),
  };
  const judges = [judgeEnds, judgeOpenRows, judgeHistories, judgeTotals, judgeStreams, judgeCopies];
  return [
    ...judges.flatMap((judge) => judge(own)),
    ...judgeReaders(own, { delivered: 0, lost: 0, doubled: 0 }),
    ...judgeUsage(own, { completed: 0, settled: 0, unsettled: 0 }),
    ...client.starts.filter((start) => start.runId === null).map((start) => `${start.marker} was not started`),
  ];
}

async function agentOf(tenant: TestTenant): Promise<string> {
  const answer = await request(tenant, 'POST', '/agents', {
    slug: `agent-${crypto.randomUUID().slice(0, 8)}`,
    name: 'Agent under test',
    revision: { instructions: 'Say hello.' },
    activate: true,
  });
  if (answer.status !== 201) throw new Error(`POST /agents answered ${answer.status}`);
  return (answer.body as { id: string }).id;
}

function request(tenant: TestTenant, method: string, path: string, body: unknown) {
  return stack.request(method, path, {
    body,
    credential: tenant.serviceKey.plaintext,
    headers: { 'idempotency-key': crypto.randomUUID() },
  });
}

async function inTurn<T>(count: number, work: () => Promise<T>): Promise<T[]> {
  const done: T[] = [];
  for (let n = 0; n < count; n++) done.push(await work());
  return done;
}

async function inParallel(count: number, at: number, work: () => Promise<void>): Promise<void> {
  let left = count;
  await Promise.all(
    Array.from({ length: at }, async () => {
      while (left-- > 0) await work();
    }),
  );
}
