import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pino from 'pino';
import { RunChannel } from '../../api/streams/run-channel.ts';
import { connectDatabases } from '../../db/orm.ts';
import type { Databases } from '../../db/databases.ts';
import { startSlowProxy, type SlowProxy } from '../support/slow-proxy.ts';
import { note } from './frame-samples.ts';
import { openStreamWorld, type StreamWorld } from './stream-world.ts';
import { eventually, sleep } from './waiting.ts';

const log = pino({ level: 'silent' });
const replyDelayMs = 400;

let world: StreamWorld;
let proxy: SlowProxy;
let slow: Databases;

beforeAll(async () => {
  world = await openStreamWorld();
  const { appUrl, sweeperUrl } = world.database;
  proxy = await startSlowProxy(Number(new URL(appUrl).port));
  const throughProxy = (url: string) => Object.assign(new URL(url), { port: String(proxy.port) }).href;
  slow = await connectDatabases({ appUrl, sweeperUrl: throughProxy(sweeperUrl), poolMax: 2, applicationName: 'longhaul-test', log });
});
afterAll(async () => {
  await slow?.close();
  await proxy?.close();
  await world?.close();
});

test('frames that a reader is told of while it reads the archive are read too, although all that was read came from Redis meanwhile', async () => {
  const run = await world.startRun();
  const channel = new RunChannel({ db: slow, limits: world.hub.limits, log }, { runId: run.runId, headSeq: 0, isEnded: false });
  channel.watchers.add({ wake: () => undefined, lose: () => undefined });
  const early = await world.archived(run);

  proxy.delayMs = replyDelayMs;
  channel.catchUp(early.length);
  // The statement has been answered by now, and its answer is under way.
  await sleep(1.5 * replyDelayMs);
  channel.receive(early);
  await world.append(run, [note('later')]);
  channel.catchUp(early.length + 1);
  proxy.delayMs = 0;

  await eventually(() => channel.handedOut === early.length + 1);
  expect(channel.ring.after(0, Infinity).map(({ text }) => text)).toEqual(await world.archived(run));
});
