import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import {
  ApiError,
  applyFrame,
  emptyRunState,
  RunFailed,
  type Frame,
  type RunState,
  type RunStream,
} from '../../../clients/typescript/src/index.ts';
import { archivedFrames, makeAgent, scripted, type CreatedAgent } from '../../support/scenario.ts';
import { until } from '../../support/temporal.ts';
import { fullTest } from '../../chaos/whole.ts';
import { startClientWorld, type ClientWorld } from './client-world.ts';

let world: ClientWorld;
let agent: CreatedAgent;

beforeAll(async () => {
  world = await startClientWorld();
  agent = await makeAgent(world.stack, []);
});

beforeEach(() => world.proxy.reset());

afterAll(() => world?.stop());

const start = (tokens = 30, delayMs = 20) =>
  world.longhaul.start({
    agent_id: agent.id,
    input: { text: scripted({ steps: [{ tokens, delay_ms: delayMs }] }, `Words ${crypto.randomUUID()}.`) },
  });
const archived = async (runId: string) => (await archivedFrames(world.stack, runId)).map((text) => JSON.parse(text) as Frame);
const isStream = ({ path }: { readonly path: string }) => path.includes('/stream');

async function all(stream: RunStream): Promise<Frame[]> {
  const frames: Frame[] = [];
  for await (const frame of stream) frames.push(frame);
  return frames;
}

test('cut anywhere, again and again, every frame comes once and in order', async () => {
  const run = await start();
  world.proxy.decide = (request, nth) => (isStream(request) && nth <= 6 ? nth * 431 : 'pass');

  const frames = await all(run.frames());

  expect(frames).toEqual(await archived(run.id));
  expect(world.proxy.passed.filter(isStream).length).toBeGreaterThan(4);
});

test('API and worker killed while a run streams: every frame once and in order', async () => {
  const run = await start(60, 30);
  const frames: Frame[] = [];
  const reading = (async () => {
    for await (const frame of run.frames()) frames.push(frame);
  })();
  await until(() => frames.length > 8);

  await world.stack.kill('api');
  await world.stack.start('api');
  await world.stack.kill('worker-runs');
  await world.stack.start('worker-runs');
  await reading;

  expect(frames).toEqual(await archived(run.id));
  expect(frames.map(({ seq }) => seq)).toEqual(frames.map((_, at) => at + 1));
});

/** A process of its own that reads a run's frames with the client. */
function reader(runId: string, after: number, leaveAfter: number): Promise<{ seqs: number[]; cursor: number }> {
  const script = join(import.meta.dirname, 'reader.mjs');
  const input = { baseUrl: world.proxy.url, serviceKey: world.stack.tenant.serviceKey.plaintext, runId, after, leaveAfter };
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(JSON.stringify(input));
  let printed = '';
  child.stdout.on('data', (bytes: Buffer) => (printed += bytes.toString()));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => resolve(JSON.parse(printed)));
  });
}

test('a loop left after frame 7 and taken up in another process begins with 8', async () => {
  const run = await start();

  const first = await reader(run.id, 0, 7);
  const second = await reader(run.id, first.cursor, Infinity);

  expect(first).toEqual({ seqs: [1, 2, 3, 4, 5, 6, 7], cursor: 7 });
  expect(second.seqs[0]).toBe(8);
  expect([...first.seqs, ...second.seqs]).toEqual((await archived(run.id)).map(({ seq }) => seq));
});

test('in the turn of a frame the cursor is the one before; a second loop over the stream goes on', async () => {
  const run = await start();
  const stream = run.frames();
  const within: number[] = [];
  for await (const { seq } of stream) {
    within.push(stream.cursor);
    if (seq === 3) break;
  }

  const rest = await all(stream);

  expect(within).toEqual([0, 1, 2]);
  expect(rest[0]?.seq).toBe(4);
});

test('a frame that is missing once is asked for; what stays away belongs to a compacted run', async () => {
  const run = await start();
  await run.result();
  const dropped = { times: 0 };
  world.proxy.block = (block) => (/^id: 4$/m.test(block) && dropped.times++ === 0 ? null : block);
  const once = await all(run.frames());
  world.proxy.block = (block) => (/^id: (?:4|6)$/m.test(block) ? null : block);
  world.proxy.passed.length = 0;
  const compacted = await all(run.frames());

  expect(once).toEqual(await archived(run.id));
  expect(compacted.map(({ seq }) => seq)).toEqual(once.map(({ seq }) => seq).filter((seq) => seq !== 4 && seq !== 6));
  expect(world.proxy.passed.filter(isStream)).toHaveLength(2);
});

test('behind the end there is nothing, at once; live frames alone come without a backlog', async () => {
  const run = await start();
  const live = await all(run.frames({ liveOnly: true }));
  const { last_seq: last } = await run.wait();

  expect(await all(run.frames({ after: last }))).toEqual([]);
  expect(live.at(-1)?.seq).toBe(last);
});

test('a refusal fails the loop at once, and so does a run that is purged', async () => {
  const unknown = world.longhaul.run(crypto.randomUUID());
  const beyond = (await start(1)).frames({ after: 9_999 });

  await expect(all(unknown.frames())).rejects.toMatchObject({ code: 'not_found' });
  await expect(all(beyond)).rejects.toMatchObject({ code: 'cursor_invalid' });
  expect(await all(unknown.frames()).catch((error: unknown) => error)).toBeInstanceOf(ApiError);
});

test('an abort ends the loop with its reason and frees the connection within a second; the run goes on', async () => {
  const run = await start(40, 50);
  const controller = new AbortController();
  const reason = new Error('enough');
  let abortedAt = 0;
  const loop = async () => {
    for await (const frame of run.frames({ signal: controller.signal })) {
      if (frame.type !== 'message.delta') continue;
      abortedAt = performance.now();
      controller.abort(reason);
    }
  };

  await expect(loop()).rejects.toBe(reason);
  await until(() => world.proxy.passed.filter(isStream).every(({ closedAt }) => closedAt !== null));

  expect((world.proxy.passed.find(isStream)?.closedAt ?? Infinity) - abortedAt).toBeLessThan(1_000);
  expect((await run.result()).status).toBe('succeeded');
});

test('text() is the answer as it is written, result() the run, and another end is RunFailed', async () => {
  const run = await start(10, 5);
  let text = '';
  for await (const piece of run.text()) text += piece;
  const ended = await run.result();
  const long = await start(200, 50);
  await long.cancel();

  expect(text).toBe(ended.output?.text);
  const failure = await long.result().catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(RunFailed);
  expect(failure).toMatchObject({ run: { id: long.id, status: 'cancelled' } });
  expect(await long.wait()).toMatchObject({ status: 'cancelled' });
});

test('applyFrame adds up to what the run says, changes no state it was given, and ignores repeats', async () => {
  const run = await start();
  let state: RunState = emptyRunState;
  const states = [JSON.stringify(state)];
  const frames = await all(run.frames());
  for (const frame of frames) {
    const before = state;
    state = applyFrame(state, frame);
    expect(JSON.stringify(before)).toBe(states.at(-1));
    states.push(JSON.stringify(state));
    expect(applyFrame(state, frame)).toBe(state);
  }

  const part = state.runs[run.id];
  const view = await run.wait();
  expect(state.seq).toBe(view.last_seq);
  expect(part).toMatchObject({ status: 'succeeded', finished: { output: view.output, usage: view.usage } });
  expect(part?.messages.map(({ completed }) => completed?.role)).toEqual(['user', 'assistant']);
});

fullTest('after 40 s of silence the stream is opened again', async () => {
  const run = await start(2_000, 50);
  world.proxy.decide = (request, nth) => (isStream(request) && nth === 1 ? 'hang' : 'pass');
  const startedAt = performance.now();

  for await (const _ of run.frames()) break;
  await run.cancel();

  expect(performance.now() - startedAt).toBeGreaterThan(39_000);
  expect(world.proxy.passed.filter(isStream)).toHaveLength(2);
});
