import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { isFull } from '../../chaos/whole.ts';
import { startModelServer, type ModelServer } from '../../fakes/model-server.ts';
import { makeAgent, scripted, startRun } from '../../support/scenario.ts';
import { startStack, type Stack } from '../../support/stack.ts';
import { until } from '../../support/temporal.ts';
import { startFaultProxy, type FaultProxy } from './proxy.ts';
import { describePython, startPlayer, type Player } from './python.ts';
import { totalOf } from './total.ts';

const whole = { gapless: true, count: expect.any(Number), first: 'run.status', last: 'run.finished' };

describePython('streams of the Python client', () => {
  let models: ModelServer;
  let stack: Stack;
  let proxy: FaultProxy;
  let player: Player;
  let agentId: string;
  let ended: string;
  let endedFrames: number;
  let key: string;

  beforeAll(async () => {
    models = await startModelServer();
    stack = await startStack({ processes: ['api', 'worker-runs'], modelBaseUrl: models.baseUrl });
    proxy = await startFaultProxy(() => stack.url());
    player = startPlayer('streams');
    key = stack.tenant.serviceKey.plaintext;
    agentId = (await makeAgent(stack, [])).id;
    ended = (await startRun(stack, agentId, scripted({ steps: [{ tokens: 40, delay_ms: 60 }] }))).id;
    const shown = await player.play<{ count: number }>('whole', { url: stack.url(), key, run_id: ended });
    endedFrames = shown.count;
  });

  afterAll(async () => {
    player?.stop();
    await proxy?.close();
    await stack?.stop();
    await models?.close();
  });

  test('a stream shows 1 to n and ends, in both clients, and its cursor is the last', async () => {
    const given = { url: stack.url(), key, run_id: ended };
    expect(endedFrames).toBeGreaterThan(10);
    expect(await player.play('whole', given)).toEqual({ ...whole, count: endedFrames, cursor: true });
    expect(await player.play('whole_async', given)).toEqual({ ...whole, count: endedFrames });
  });

  test('a connection that breaks anywhere, falls silent or repeats itself loses and doubles nothing', async () => {
    const read = (scenario: string, ...fault: (string | number)[]) =>
      player.play(scenario, { url: proxy.url(...fault), key, run_id: ended });
    expect(await read('whole', 'cut', 6_000)).toEqual({ ...whole, count: endedFrames, cursor: true });
    expect(await read('whole_async', 'cut', 6_000)).toEqual({ ...whole, count: endedFrames });
    expect(await read('whole', 'twice')).toEqual({ ...whole, count: endedFrames, cursor: true });
    expect(await read('silent', 'mute', 'silent', 2_000)).toEqual({ ...whole, count: endedFrames, cursor: true, usual: 40 });
  });

  test('a hole is asked for once more; one that stays belongs to a compacted run', async () => {
    const read = (times: number) =>
      player.play<number[]>('with_hole', { url: proxy.url('drop', `hole-${times}`, 5, times), key, run_id: ended });
    const all = Array.from({ length: endedFrames }, (_, at) => at + 1);
    expect(await read(1)).toEqual(all);
    expect(await read(9)).toEqual(all.filter((seq) => seq !== 5));
  });

  test('a loop left after frame 7 is resumed at 8, and one whose turn failed at 7', async () => {
    const given = { url: stack.url(), key, run_id: ended };
    expect(await player.play('left_after', { ...given, seq: 7 })).toEqual({ cursors: [7, 6], during: true });
    const { numbers, cursor } = await player.play<{ numbers: number[]; cursor: number }>('resumed_after', { ...given, after_seq: 7 });
    expect(numbers).toEqual(Array.from({ length: endedFrames - 7 }, (_, at) => at + 8));
    expect(cursor).toBe(endedFrames);
    expect(await player.play('resumed_after', { ...given, after_seq: endedFrames })).toEqual({ numbers: [], cursor: endedFrames });
  });

  test('a process killed in the turn of frame 8 has stored 7, and the next begins with 8', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'longhaul-cursor-'));
    const path = join(folder, 'cursor');
    const first = startPlayer('streams');
    const given = { url: stack.url(), key, run_id: ended };
    await expect(first.play('killed_after', { ...given, seq: 7, path })).rejects.toThrow('has ended');
    const after = Number(readFileSync(path, 'utf8'));
    rmSync(folder, { recursive: true });

    const { numbers } = await player.play<{ numbers: number[] }>('resumed_after', { ...given, after_seq: after });

    expect([after, numbers[0]]).toEqual([7, 8]);
  });

  test('without replay the frames begin behind what there is', async () => {
    const run = await startRun(stack, agentId, scripted({ steps: [{ tokens: 3_000, delay_ms: 100 }] }));
    let known = 0;
    await until(async () => {
      const { body } = await stack.request('GET', `/runs/${run.id}`);
      known = Number((body as { last_seq: number }).last_seq);
      return known >= 6;
    });
    const numbers = await player.play<number[]>('from_now_on', { url: stack.url(), key, run_id: run.id });
    const [first = 0] = numbers;

    expect(first).toBeGreaterThan(known);
    expect(numbers).toEqual([first, first + 1, first + 2]);
  });

  test('a cursor beyond the end and a run of nobody are refused', async () => {
    expect(await player.play('refused', { url: stack.url(), key, run_id: ended })).toEqual(['cursor_invalid', 'not_found']);
  });

  test('a run is waited for, read, cancelled, and another end than stop is an exception', async () => {
    const given = { url: stack.url(), key, agent_id: agentId };
    expect(await player.play('started_and_read', { ...given, text: scripted({ steps: [{ text: 'Here it is.' }] }) })).toEqual({
      status: 'succeeded',
      text: 'Here it is.',
      reason: 'stop',
      shown: true,
    });
    const broken = scripted({ steps: [{ fault: { kind: 'status', status: 400, body: { error: { message: 'no' } } } }] });
    expect(await player.play('failed_run', { ...given, text: broken })).toEqual(['failed', true]);
    const slow = scripted({ steps: [{ tokens: 2_000, delay_ms: 100 }] });
    expect(await player.play('cancelled_run', { ...given, text: slow })).toEqual({
      live: true,
      late: true,
      ended: 'cancelled',
      again: 'run_finished',
    });
  });

  test('events are read wherever the network cuts them; notices say whether to come back', async () => {
    const { events, ...alike } = await player.play<{ events: unknown[] }>('cut_anywhere');
    expect(alike).toEqual({ same: true, single: true });
    expect(events).toEqual([
      [null, null, null, 2_000],
      ['1', 'x', 'größe ☃ 𝄞\nsecond', null],
      ['2', null, '', null],
      ['3', null, null, null],
    ]);
    expect(await player.play('notices')).toEqual({
      numbers: [1, 2],
      asked: [null, '1', '2'],
      refused: [[1], 401],
      page: 'unreadable_reply',
      ends: [1, 2],
    });
  });

  test('runs started and read while API and worker are killed again and again: each once, all frames in order', async () => {
    const runs = isFull ? 200 : 6;
    const kills = isFull ? 12 : 3;
    const text = scripted({ steps: [{ tokens: 30, delay_ms: 50 }] }, 'Run NUMBER.');
    const begun = await totalOf(stack, `/runs?agent_id=${agentId}`);
    const state = { isOver: false };
    const reading = player
      .play<{ id: string; gapless: boolean; last: string; status: string }[]>('many_starts', {
        urls: [stack.url()],
        key,
        agent_id: agentId,
        text,
        runs,
        at_once: 20,
      })
      .finally(() => (state.isOver = true));
    for (let kill = 0; kill < kills && !state.isOver; kill += 1) {
      await delay(1_500);
      const name = kill % 2 === 0 ? 'api' : 'worker-runs';
      await stack.kill(name, kill % 3 === 2 ? 'SIGTERM' : 'SIGKILL');
      await stack.start(name);
    }
    const shown = await reading;

    expect(shown.filter(({ gapless, last, status }) => !gapless || last !== 'run.finished' || status !== 'succeeded')).toEqual([]);
    expect(new Set(shown.map(({ id }) => id)).size).toBe(runs);
    expect(await totalOf(stack, `/runs?agent_id=${agentId}`)).toBe(begun + runs);
  }, 1_200_000);
});
