import { markRunDue } from '../domain/runs/reconcile.ts';
import type { Logger } from 'pino';
import type { Databases } from '../db/databases.ts';
import { loadOutbox, markOutboxFailed, markOutboxSent, unsentWakeUps, type OutboxRow } from '../db/outbox-sending.ts';
import { topmostLiveRun } from '../db/runs/start/restart-run.ts';
import { sweep } from '../db/transaction.ts';
import type { Publisher } from '../db/streams/publisher.ts';
import type { Outgoing } from '../db/tenant-transaction.ts';
import { recordRunSpan } from '../ports/telemetry/run-trace.ts';
import type { Measurement } from '../workflows/contracts/measurements.ts';
import { isRunStart, isWakeUp } from '../workflows/contracts/outbox.ts';
import { runIdOf } from '../workflows/contracts/queues.ts';
import { isTemporalUnavailable, type Temporal } from './client.ts';
import { sendMessage } from './messages.ts';
import { createPace, type Pace } from './pace.ts';
import { restartIfLost } from './restart.ts';
import { createWakeUps } from './wake-ups.ts';

export interface DispatchDeps {
  readonly temporal: Temporal;
  readonly publisher: Publisher;
  readonly db: Databases;
  readonly log: Logger;
  /** Adds what has been committed to the metrics of the process. */
  readonly measure: (measurement: Measurement) => void;
}

/** The relays send what a batch leaves beyond this number, with workspaces taking turns: otherwise its rows would delay those of small requests. */
const maxSentHere = 10;
/** After this many slow sends, starts of runs are left to the relays too: at that pace the next one would have to wait as long. */
const maxSlowHere = 2;
const slowMs = 1_000;

/**
 * Sends what a transaction leaves to be sent after its commit: frames and notices to Redis, outbox rows to Temporal. Never throws: readers find unpublished
 * frames in the archive, and the relays take unsent rows within seconds.
 */
export function createDispatch(deps: DispatchDeps): (outgoing: Outgoing) => Promise<void> {
  const { publisher, log, measure } = deps;
  const pace = createPace();
  const wake = createWakeUps((row) => sendRow(deps, row));

  return async ({ frames, cancelledRunIds, erasedRunIds, revoked, outboxIds, measurements, endedRuns }) => {
    for (const measurement of measurements) measure(measurement);
    for (const run of endedRuns) recordRunSpan(run);
    publisher.publish(frames);
    publisher.notifyCancelled(cancelledRunIds);
    publisher.erase(erasedRunIds);
    publisher.notifyRevoked(revoked);
    if (outboxIds.length === 0) return;

    try {
      await sendRows(deps, outboxIds.slice(0, maxSentHere), { pace, wake });
    } catch (err) {
      log.warn({ err }, 'outbox rows left to the relay');
    }
  };
}

interface Sending {
  readonly pace: Pace;
  readonly wake: (row: OutboxRow) => Promise<void>;
}

async function sendRows(deps: DispatchDeps, ids: readonly string[], { pace, wake }: Sending): Promise<void> {
  const unsent = await sweep(deps.db, (em) => loadOutbox(em, ids));

  let slow = 0;
  for (const row of unsent) {
    if (isWakeUp(row.message)) {
      await wake(row);
      continue;
    }
    const isStart = isRunStart(row.message);
    if (isStart && slow >= maxSlowHere) continue;
    const startedAt = performance.now();
    const result = await sendRow(deps, row);
    if (isStart && result === 'settled' && pace.after(performance.now() - startedAt) >= slowMs) slow += 1;
  }
}

/** `refused` and `away` leave the row for its next try; `away` means that the next rows would fail as well. */
export type RowResult = 'settled' | 'refused' | 'away';

/**
 * Sends one row and settles it; a wake-up is sent once for all unsent rows like it (`isWakeUp`). If the workflow to cancel or wake does not exist, the row is
 * settled too: its run continues in a new workflow, or is due for the reconciler.
 */
export async function sendRow(deps: Omit<DispatchDeps, 'publisher' | 'measure'>, row: OutboxRow): Promise<RowResult> {
  const { temporal, db, log } = deps;
  try {
    const { message } = row;
    const ids = isWakeUp(message) ? await sweep(db, (em) => unsentWakeUps(em, message)) : [row.id];
    if (!ids.includes(row.id)) return 'settled'; // by another call
    const result = await sendMessage(temporal, row.message, row.startsAtMs);
    const runId = result === 'missing' ? runIdOf(row.message.workflowId) : null;

    await sweep(db, async (em) => {
      await markOutboxSent(em, ids);
      if (runId) await markRunDue(em, runId);
    });
    if (runId) await goOn(deps, runId);
    return 'settled';
  } catch (err) {
    log.warn({ err, outbox_id: row.id, kind: row.kind, attempts: row.attempts }, 'outbox row not sent');
    await sweep(db, (em) => markOutboxFailed(em, row.id, reasonOf(err))).catch(() => undefined);
    return isTemporalUnavailable(err) ? 'away' : 'refused';
  }
}

/** The reconciler takes over what fails here. */
async function goOn(deps: Omit<DispatchDeps, 'publisher' | 'measure'>, runId: string): Promise<void> {
  try {
    await restartIfLost(deps, await sweep(deps.db, (em) => topmostLiveRun(em, runId)));
  } catch (err) {
    deps.log.warn({ err, run_id: runId }, 'run not started anew');
  }
}

function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);

  return text.slice(0, 500);
}
