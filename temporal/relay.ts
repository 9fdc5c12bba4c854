import { setTimeout as delay } from 'node:timers/promises';
import PQueue from 'p-queue';
import type { Logger } from 'pino';
import type { Databases } from '../db/databases.ts';
import { takeDueOutbox, type OutboxRow } from '../db/outbox-sending.ts';
import { sweep } from '../db/transaction.ts';
import { isRunStart } from '../workflows/contracts/outbox.ts';
import type { Temporal } from './client.ts';
import { sendRow } from './dispatch.ts';
import { createPace, type Pace } from './pace.ts';

/** Small, so that a lease outlasts the sending of a batch even on a busy machine, and many starts do not make Temporal slow for others. */
const batchSize = 6;
const sendsAtOnce = 3;
/** Younger rows still belong to the process that committed them. */
const olderThanMs = 2000;
const idleMs = 1000;
/** While starts are held back, the relay checks for other rows this often. */
const heldIdleMs = 250;
const maxPauseMs = 5000;

export interface RelayDeps {
  readonly temporal: Temporal;
  readonly db: Databases;
  readonly log: Logger;
  /** Holds back starts of runs; by default the relay creates one. */
  readonly pace?: Pace;
}

/** Sends outbox rows that their own process did not: it died, or Temporal was unavailable. Any number of relays may run. */
export interface Relay {
  /** Takes and sends one batch; returns how many rows it took. */
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
  /** Number of rows; 0 when Temporal is unavailable. */
  readonly taken: number;
  /** Average duration of the start of a run; null without one. */
  readonly startMs: number | null;
}

/**
 * Taking a row is a lease: the same statement sets its next try (0.5 s, doubling to 5 s), so no transaction stays open during the call to Temporal, and rows of
 * a relay that dies become due again by themselves.
 */
async function sendDue(deps: RelayDeps, { withRunStarts }: { readonly withRunStarts: boolean }): Promise<Sent> {
  const due = await sweep(deps.db, (em) => takeDueOutbox(em, { limit: batchSize, olderThanMs, withRunStarts }));
  const queue = new PQueue({ concurrency: sendsAtOnce });
  const startsMs: number[] = [];
  let isUnavailable = false;
  const send = async (row: OutboxRow): Promise<void> => {
    if (isUnavailable) return;
    const startedAt = performance.now();
    const result = await sendRow(deps, row);
    if (result === 'away') isUnavailable = true;
    if (result === 'settled' && isRunStart(row.message)) startsMs.push(performance.now() - startedAt);
  };

  await queue.addAll(due.map((row) => () => send(row)));
  return {
    taken: isUnavailable ? 0 : due.length,
    startMs: startsMs.length === 0 ? null : startsMs.reduce((sum, ms) => sum + ms, 0) / startsMs.length,
  };
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined);
}
