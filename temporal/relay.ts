import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Databases } from '../db/orm.ts';
import { takeDueOutbox } from '../db/outbox.ts';
import { sweep } from '../db/scope.ts';
import type { Temporal } from './client.ts';
import { sendRow } from './dispatch.ts';
import { createPace } from './pace.ts';

/** Few, so that a lease outlives the sending of a batch on a busy machine too, and a crowd of starts does not make Temporal slow for others. */
const batchSize = 6;
const sendsAtOnce = 3;
/** Younger rows are still the business of the process that committed them. */
const olderThanMs = 2000;
const idleMs = 1000;
const mostPauseMs = 5000;

export interface RelayDeps {
  readonly temporal: Temporal;
  readonly db: Databases;
  readonly log: Logger;
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
    pass: async () => (await sendDue(deps)).taken,
    stop: async () => {
      stopping.abort();
      await loop;
    },
  };
}

async function keepSending(deps: RelayDeps, signal: AbortSignal): Promise<void> {
  const pace = createPace();
  let failures = 0;

  while (!signal.aborted) {
    let pauseMs = idleMs;

    try {
      const { taken, areStarts, tookMs } = await sendDue(deps);
      const paceMs = tookMs === null ? 0 : pace.after(tookMs);
      if (taken === batchSize) pauseMs = areStarts ? paceMs : 0;
      failures = 0;
    } catch (err) {
      failures++;
      pauseMs = Math.min(500 * 2 ** failures, mostPauseMs);
      deps.log.warn({ err, failures }, 'outbox relay paused');
    }
    if (pauseMs > 0) await pause(pauseMs, signal);
  }
}

interface Sent {
  /** Rows; none when Temporal is away. */
  readonly taken: number;
  /** All of them: what makes work may be held back, what tells of work may not. */
  readonly areStarts: boolean;
  /** Of a row on average; null without one. */
  readonly tookMs: number | null;
}

/**
 * Taking a row is a lease: its next try is set in the same statement (0.5 s, doubling to 5 s), so no transaction stays
 * open while Temporal is asked, and rows of a relay that dies come back by themselves.
 */
async function sendDue(deps: RelayDeps): Promise<Sent> {
  const due = await sweep(deps.db, (em) => takeDueOutbox(em, { limit: batchSize, olderThanMs }));
  const queue = [...due];
  let isAway = false;
  let allMs = 0;
  const lane = async (): Promise<void> => {
    for (let row = queue.shift(); row && !isAway; row = queue.shift()) {
      const startedAt = performance.now();
      if ((await sendRow(deps, row)) === 'away') isAway = true;
      allMs += performance.now() - startedAt;
    }
  };

  await Promise.all(Array.from({ length: Math.min(sendsAtOnce, due.length) }, lane));
  return {
    taken: isAway ? 0 : due.length,
    areStarts: due.every(({ kind }) => kind === 'workflow.start'),
    tookMs: isAway || due.length === 0 ? null : allMs / due.length,
  };
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined);
}
