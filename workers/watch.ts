import type { Worker } from '@temporalio/worker';
import type { Logger } from 'pino';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { Anchor } from '../activities/maintenance/anchor.ts';
import type { Temporal } from '../temporal/client.ts';
import { lastPollAt } from '../temporal/gateway.ts';

/** A long poll is answered within a minute, so a healthy worker is seen more often than this. */
const patienceMs = 90_000;
const watchEveryMs = 15_000;
const firstPollMs = 500;

/** Whether a worker still takes work. */
export interface WorkerWatch {
  isReady(): boolean;
  /** Whether Temporal has ever seen it poll. */
  isStarted(): boolean;
  /** Counts a failed workflow task, for the alert. */
  recordTaskFailure(): void;
  stop(): void;
}

export interface WorkerWatchOptions {
  readonly temporal: Temporal;
  readonly queue: string;
  readonly identity: string;
  readonly log: Logger;
  readonly metrics: Registry;
  /** For tests: how long a worker may go unseen, and how often to check. */
  readonly stalledAfterMs?: number;
  readonly everyMs?: number;
}

/**
 * Asks Temporal when it last saw a poll of this very worker: a hanging worker cannot judge itself. Not ready before the first poll, and again when none was
 * seen for 90 s, which is logged as an error.
 */
export function watchWorker(options: WorkerWatchOptions): WorkerWatch {
  const { temporal, queue, identity, log, metrics, stalledAfterMs = patienceMs, everyMs = watchEveryMs } = options;
  const ready = new Gauge({
    name: 'longhaul_worker_ready',
    help: 'Whether Temporal saw a poll of this worker in the last 90 s',
    registers: [metrics],
  });
  const taskFailures = new Counter({
    name: 'longhaul_workflow_task_failures_total',
    help: 'Workflow tasks that failed',
    registers: [metrics],
  });
  let seenMs = 0;
  let wasReady = false;
  let isStopped = false;
  let timer: NodeJS.Timeout;
  const isReady = (): boolean => !isStopped && Date.now() - seenMs < stalledAfterMs;
  const pollOnce = async (): Promise<void> => {
    const seen = await temporal.connection.withDeadline(Date.now() + 5000, () => lastPollAt(temporal, queue, identity)).catch(() => null);

    if (isStopped) return;
    seenMs = Math.max(seenMs, seen?.getTime() ?? 0);
    if (isReady() !== wasReady) {
      wasReady = isReady();
      ready.set(wasReady ? 1 : 0);
      if (wasReady) log.info({ queue, identity }, 'worker ready');
      else log.error({ queue, identity, last_poll_at: new Date(seenMs) }, 'worker stalled');
    }
    timer = setTimeout(() => void pollOnce(), seenMs === 0 ? firstPollMs : everyMs);
    timer.unref();
  };

  void pollOnce();
  return {
    isReady,
    isStarted: () => seenMs > 0,
    recordTaskFailure: () => taskFailures.inc(),
    stop: () => {
      isStopped = true;
      clearTimeout(timer);
      ready.set(0);
    },
  };
}

/** Gauge of how often the heads of the audit log could not be written. */
export function measureAnchor(anchor: Anchor, metrics: Registry): void {
  new Gauge({
    name: 'longhaul_audit_anchor_failures',
    help: 'Hourly anchors of the audit log that could not be written since the start',
    registers: [metrics],
    collect() {
      this.set(anchor.failures);
    },
  });
}

/** Gauges of the worker's activities in flight and cached workflows. */
export function measureWorker(worker: Worker, metrics: Registry): void {
  const gauge = (name: string, help: string, read: (status: ReturnType<Worker['getStatus']>) => number): void => {
    new Gauge({
      name,
      help,
      registers: [metrics],
      collect() {
        this.set(read(worker.getStatus()));
      },
    });
  };

  gauge('longhaul_worker_activities', 'Activities in flight', (status) => status.numInFlightActivities);
  gauge('longhaul_worker_cached_workflows', 'Workflows in memory', (status) => status.numCachedWorkflows);
}
