import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { newId } from '../../db/ids.ts';
import { systemActor, transact, workspaceTenant } from '../../db/transaction.ts';
import { appendFrames, stateBatch } from '../../db/streams/append.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { finished, note, queued, started } from './frame-samples.ts';
import { insertRun } from './stream-world.ts';

const readers = 10;
// Ten times 256 KiB, the pages that all share, and what a runtime lets grow before it collects (70 MiB in all, measured).
const budgetBytes = 120 * 1024 * 1024;

let stack: Stack;
beforeAll(async () => {
  // A small nursery: else it grows by tens of MB before its first collection, whatever it holds.
  // A heap that is small: on a busy machine the collector would let a large one grow, which says nothing of what readers cost.
  stack = await startStack({ processes: ['api'], env: { NODE_OPTIONS: '--max-semi-space-size=2 --max-old-space-size=144' } });
  // What the first streams load, compile and reserve is not what a stalled reader costs.
  const run = await makeRun(20, () => 'short');
  for (let n = 0; n < 3; n++) for (const socket of await stalledReaders(run)) socket.destroy();
});
afterAll(() => stack?.stop());

/** A run that has ended. */
async function makeRun(frames: number, text: () => string): Promise<string> {
  const { organizationId, workspaceId } = stack.tenant;
  const id = newId();
  const run = { runId: id, rootRunId: id, parentRunId: null, organizationId, workspaceId, path: ['agent'] };
  const admin = new pg.Pool({ connectionString: stack.adminUrl, max: 1 });
  await insertRun(admin, run);
  await admin.end();

  const tx = { tenant: workspaceTenant(organizationId, workspaceId), actor: systemActor, correlationId: randomUUID() };
  const append = (drafts: Parameters<typeof stateBatch>[1]) =>
    transact(stack.db, tx, (open) => appendFrames(open, [stateBatch(run, drafts)]));
  await append([queued(), started()]);
  for (let n = 0; n < frames; n += 20) await append(Array.from({ length: 20 }, () => note(text())));
  await append([finished(frames + 3)]);
  return id;
}

/** Clients that ask at different places of a run and read nothing; resolves when the server has nowhere to put more. */
async function stalledReaders(run: string): Promise<Socket[]> {
  const sockets = Array.from({ length: readers }, (_, n) => {
    const socket = connect(Number(new URL(stack.url()).port), '127.0.0.1').on('error', () => undefined);
    socket.write(
      `GET /runs/${run}/stream?after_seq=${n} HTTP/1.1\r\nhost: api\r\nauthorization: Bearer ${stack.tenant.serviceKey.plaintext}\r\n\r\n`,
    );
    return socket.pause();
  });
  // It writes until the kernel's buffers are full; then nothing happens any more.
  for (let last = -1, same = 0; same < 8; same++) {
    const now = cpuTicks();
    if (now > last + 1) same = 0;
    last = now;
    await delay(250);
  }
  return sockets;
}

/** By how much the API process grew at the most, as the operating system counts. */
async function peakOf(act: () => Promise<Socket[]>): Promise<number> {
  writeFileSync(`/proc/${stack.pid('api')}/clear_refs`, '5'); // the peak begins anew (proc(5))
  const before = kib('VmRSS');
  const sockets = await act();
  const grown = kib('VmHWM') - before;
  for (const socket of sockets) socket.destroy();
  return grown * 1_024;
}

function kib(name: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${stack.pid('api')}/status`, 'utf8');
  return Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]);
}

function cpuTicks(): number {
  const stat = readFileSync(`/proc/${stack.pid('api')}/stat`, 'utf8');
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13);
  return Number(user) + Number(system);
}

test('ten stalled readers of 30 MB cost little more than what their sockets hold, however well the frames are stored', async () => {
  const run = await makeRun(600, () => 'again and '.repeat(5_000));

  const grown = await peakOf(() => stalledReaders(run));

  if (process.env['PRINT']) process.stderr.write(`grown by ${grown >> 20} MiB\n`);
  expect(grown).toBeLessThan(budgetBytes);
});
