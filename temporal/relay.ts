import { setTimeout as delay } from 'node:timers/promises';
import PQueue from 'p-queue';
import type { Logger } from 'pino';
import type { Databases } from '../db/databases.ts';
import { takeDueOutbox, type OutboxRow } from '../db/outbox.ts';
import { sweep } from '../db/transaction.ts';
import { isRunStart } from '../workflows/contracts/outbox.ts';
import type { Temporal } from './client.ts';
import { sendRow } from './dispatch.ts';
import { createPace, type Pace } from './pace.ts';

/** Few, so that a lease outlives the sending of a batch on a busy machine too, and a crowd of starts does not make Temporal slow for others. */
const batchSize = 6;
const sendsAtOnce = 3;
/** Younger rows are still the business of the process that committed them. */
const olderThanMs = 2000;
const idleMs = 1000;
/** While starts are held back the rest is looked for as often. */
const heldIdleMs = 250;
const maxPauseMs = 5000;

export interface RelayDeps {
  readonly temporal: Temporal;
  readonly db: Databases;
  readonly log: Logger;
  /** By which starts of runs are held back; one of its own unless given. */
  readonly pace?: Pace;
}

/** Sends outbox rows that their own process did not: it died, or Temporal was away. Any number of relays may run. */
export interface Relay {
  /** Takes and sends one batch; gives how many rows it took. */
  pass(): Promise<number>;
  stop(): Promise<void>;
}

/** Starts the loop at once. */
export function startRelay(deps: RelayDeps): Relay {
  const stopping = new AbortController();
  const loop = keepSending(deps, stopping.signal);

  return {
    pass: async () => (await sendDue(deps, { withRunStarts: true })).taken,
    stop: async () => {
      stopping.abort();
      await loop;
    },
  };
}

async function keepSending(deps: RelayDeps, signal: AbortSignal): Promise<void> {
  const pace = deps.pace ?? createPace();
  let startsHeldUntil = 0;
  let failures = 0;

  while (!signal.aborted) {
    let pauseMs = idleMs;

    try {
      const heldMs = startsHeldUntil - performance.now();
      const { taken, startMs } = await sendDue(deps, { withRunStarts: heldMs <= 0 });
      const isFull = taken === batchSize;
      if (isFull && startMs !== null) startsHeldUntil = performance.now() + pace.after(startMs);
      if (isFull) pauseMs = 0;
      else if (heldMs > 0) pauseMs = Math.min(heldMs, heldIdleMs);
      failures = 0;
    } catch (err) {
      failures++;
      pauseMs = Math.min(500 * 2 ** failures, maxPauseMs);
      deps.log.warn({ err, failures }, 'outbox relay paused');
    }
    if (pauseMs > 0) await pause(pauseMs, signal);
  }
}

interface Sent {
  /** Rows; none when Temporal is away. */
  readonly taken: number;
  /** How long the start of a run took on average; null without one. */
  readonly startMs: number | null;
}

/**
 * Taking a row is a lease: its next try is set in the same statement (0.5 s, doubling to 5 s), so no transaction stays
 * open while Temporal is asked, and rows of a relay that dies come back by themselves.
 */
async function sendDue(deps: RelayDeps, { withRunStarts }: { readonly withRunStarts: boolean }): Promise<Sent> {
  const due = await sweep(deps.db, (em) => takeDueOutbox(em, { limit: batchSize, olderThanMs, withRunStarts }));
  const queue = new PQueue({ concurrency: sendsAtOnce });
  const startsMs: number[] = [];
  let isAway = false;
  const send = async (row: OutboxRow): Promise<void> => {
    if (isAway) return;
    const startedAt = performance.now();
    const result = await sendRow(deps, row);
    if (result === 'away') isAway = true;
    if (result === 'settled' && isRunStart(row.message)) startsMs.push(performance.now() - startedAt);
  };

  await queue.addAll(due.map((row) => () => send(row)));
  return {
    taken: isAway ? 0 : due.length,
    startMs: startsMs.length === 0 ? null : startsMs.reduce((sum, ms) => sum + ms, 0) / startsMs.length,
  };
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined);
}
