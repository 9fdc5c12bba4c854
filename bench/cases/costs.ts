import { setTimeout as delay } from 'node:timers/promises';
import { rows } from '../../db/sql.ts';
import { sweep } from '../../db/transaction.ts';
import { makeAgent, scripted, startEffectServer, startRun, writeTool } from '../../test/support/scenario.ts';
import type { Stack } from '../../test/support/stack.ts';
import { readStream } from '../../test/support/stream-client.ts';
import type { Bench, BenchOptions, Outcome, Table } from '../harness/bench.ts';
import { authorization, startProduct, using } from '../harness/deployment.ts';
import { inLanes } from '../harness/floor-runs.ts';
import { combined, costNames, openMeter, type Cost, type Meter } from '../harness/meter.ts';
import { startModels } from '../harness/models.ts';
import { instantAnswer } from '../harness/product-runs.ts';
import { openReaders, type ReaderPlace, type Readers } from '../harness/readers.ts';

const many = 100;
const warmUpRuns = 200;
const lanes = 4;
const readers = 200;
const idleMs = 20_000;
/** What follows an answer, or a run’s end. */
const settleMs = 500;
const slug = 'look-up';
/** A text whose pieces come slowly enough not to be joined into few frames. */
const longText = scripted({ steps: [{ tokens: 200, delay_ms: 30 }] });
/** Time for readers to come before the text does. */
const lateText = scripted({ steps: [{ first_token_ms: 8_000, tokens: 200, delay_ms: 30 }] });

/** What each unit of work costs, by kind of process. */
export const costs: Bench = {
  name: 'costs',
  about:
    `Processor milliseconds by kind of process, round trips and stored bytes of one unit each, as differences of whole runs (${many} of each kind, ${lanes} at a time, after ${warmUpRuns} to warm up; what the same time costs without work is taken off). ` +
    `A step and a tool call are those of a run that has one more; a frame is one of a text that streams; an open stream is one of ${readers} on a run that waits. PostgreSQL flushes nothing here, so its waits for the disk are left out.`,
  run: (options) => using((keep) => measure(options, keep)),
};

type Keep = Parameters<Parameters<typeof using>[0]>[0];

async function measure(options: BenchOptions, keep: Keep): Promise<Outcome> {
  const bench = await openWorld(options, keep);
  const start = await costOfStart(bench);
  options.log('starts measured');
  const steps = await costsOfSteps(bench);
  options.log('steps, tool calls and frames measured');
  const waiting = await costsOfWaiting(bench);
  options.log('what waits measured');
  const lines = [['a start (POST /runs, to the start of its workflow)', start] as const, ...steps, ...waiting];
  return { findings: [], checks: [], tables: [tableOf(lines)] };
}

interface World {
  readonly stack: Stack;
  readonly meter: Meter;
  /** One that calls what it is told to, and one that asks before. */
  readonly agentId: string;
  readonly askingId: string;
}

type Line = readonly [what: string, cost: Cost];

async function openWorld({ services }: BenchOptions, keep: Keep): Promise<World> {
  const models = keep(await startModels());
  const effects = await startEffectServer();
  keep({ stop: async () => effects.close() });
  const env = { STREAMS_PER_PRINCIPAL: String(2 * readers) };
  const stack = keep(await startProduct(['api'], { modelBaseUrl: models.baseUrl, egressPorts: [effects.port], env }));
  const tool = writeTool(slug, effects, { description: 'Looks it up.', config: { method: 'GET', url: `${effects.origin}/${slug}` } });
  const agent = await makeAgent(stack, [tool]);
  const asking = await makeAgent(stack, [writeTool('write', effects)], { approvals: { write: 'ask' } });
  return { stack, meter: keep(await openMeter(stack, services)), agentId: agent.id, askingId: asking.id };
}

/** With no worker, so that nothing else is in it. */
async function costOfStart({ stack, meter, agentId }: World): Promise<Cost> {
  const startMany = async () => {
    await inLanes(many, lanes, async () => void (await startRun(stack, agentId, instantAnswer)));
    await delay(settleMs);
  };
  await startMany();
  await meter.settle();
  const cost = await meter.per(many, startMany);
  await stack.start('worker-runs');
  await ended(stack);
  return cost;
}

async function costsOfSteps({ stack, meter, agentId }: World): Promise<Line[]> {
  const play = (text: string, count = many) => meter.per(count, () => playAll(stack, { agentId, text, count }));
  await playAll(stack, { agentId, text: instantAnswer, count: warmUpRuns });
  await playAll(stack, { agentId, text: calling(1), count: warmUpRuns / 4 });
  await meter.settle();
  const oneStep = await play(instantAnswer);
  const oneCall = await play(calling(1));
  const call = nth(less(await play(calling(5)), oneCall), 4);
  const streamed = await play(longText, 10);
  const frames = (await framesOf(stack, agentId, longText)) - (await framesOf(stack, agentId, instantAnswer));
  const late = await play(lateText, 1);
  const read = await meter.per(1, () => playRead(stack, agentId));
  return [
    ['a run of one step, with its start', oneStep],
    ['one more step', less(less(oneCall, oneStep), call)],
    ['a tool call (HTTP)', call],
    ['a frame of a text that streams', nth(less(streamed, oneStep), frames)],
    ['the same frame to one reader', nth(less(read, late), frames * readers)],
  ];
}

async function costsOfWaiting({ stack, meter, askingId }: World): Promise<Line[]> {
  const minutes = idleMs / 60_000;
  const asked = await meter.per(many, () => playWaiting(stack, askingId, many));
  const waiting = await meter.per(many * minutes, () => delay(idleMs));
  await meter.settle();
  const [runId = ''] = await playWaiting(stack, askingId, 1);
  let open: Readers | null = null;
  const opened = await meter.per(readers, async () => {
    open = await openReaders(readers, placeOf(stack, runId));
  });
  const idle = await meter.per(readers * minutes, () => delay(idleMs));
  (open as Readers | null)?.close();
  return [
    ['a run until it waits for an approval, with its start', asked],
    ['a run that waits, a minute', waiting],
    ['a stream, to its opening', opened],
    ['an open stream without frames, a minute', idle],
  ];
}

async function playAll(stack: Stack, { agentId, text, count }: { agentId: string; text: string; count: number }): Promise<void> {
  await inLanes(count, lanes, async () => void (await startRun(stack, agentId, text)));
  await ended(stack);
}

/** A run whose readers have come before its text does. */
async function playRead(stack: Stack, agentId: string): Promise<void> {
  const run = await startRun(stack, agentId, lateText);
  const open = await openReaders(readers, placeOf(stack, run.id));
  await ended(stack);
  await delay(settleMs);
  open.close();
}

async function playWaiting(stack: Stack, agentId: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  const asking = scripted({ steps: [{ tool_calls: [{ name: 'write', arguments: { n: 1 } }] }, { text: 'Done.' }] });
  await inLanes(count, lanes, async () => void ids.push((await startRun(stack, agentId, asking)).id));
  await untilNone(stack, "id = any(?::uuid[]) and waiting_on is distinct from 'approval'", [ids]);
  return ids;
}

/** No run is at work any more. */
function ended(stack: Stack): Promise<void> {
  return untilNone(stack, "status in ('queued', 'running') and waiting_on is null", []);
}

async function untilNone(stack: Stack, condition: string, params: readonly unknown[]): Promise<void> {
  const count = () => sweep(stack.db, (em) => rows<{ n: number }>(em, `select count(*)::int as n from runs where ${condition}`, params));
  while ((await count())[0]?.n !== 0) await delay(50);
}

async function framesOf(stack: Stack, agentId: string, text: string): Promise<number> {
  const run = await startRun(stack, agentId, text);
  return (await readStream([stack.url()], `/runs/${run.id}/stream`, stack.tenant.serviceKey.plaintext).finished).length;
}

function placeOf(stack: Stack, runId: string): ReaderPlace {
  return { url: `${stack.url()}/runs/${runId}/stream`, headers: () => authorization(stack) };
}

function calling(count: number): string {
  const calls = Array.from({ length: count }, (_, n) => ({ name: slug, arguments: { n } }));
  return scripted({ steps: [{ tool_calls: calls }, { text: 'Hello' }] });
}

const less = (left: Cost, right: Cost) => combined(left, right, (whole, part) => whole - part);
const nth = (cost: Cost, n: number) => combined(cost, cost, (whole) => whole / n);

const columns: Readonly<Record<keyof Cost, string>> = {
  api: 'API, ms',
  worker: 'runs worker, ms',
  postgres: 'PostgreSQL, ms',
  redis: 'Redis, ms',
  temporal: 'Temporal, ms',
  roundTrips: 'round trips to PostgreSQL',
  commands: 'Redis commands',
  calls: 'calls of Temporal’s client (API)',
  stored: 'PostgreSQL, bytes',
  cached: 'Redis, bytes',
};

function tableOf(lines: readonly Line[]): Table {
  return {
    head: ['one', ...costNames.map((name) => columns[name])],
    lines: lines.map(([what, cost]) => [what, ...costNames.map((name) => shown(cost[name]))]),
  };
}

/** What lies below the noise of a measurement is nothing. */
function shown(value: number): string {
  if (value < 0.001) return '0';
  return value >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(2)));
}
