import { Gauge, type Metric } from 'prom-client';
import { readDeploymentFacts, type DeploymentFacts } from '../db/operator/deployment-facts.ts';
import type { Databases } from '../db/databases.ts';
import { sweep } from '../db/transaction.ts';
import { knownLabels } from '../ports/metrics/labels.ts';
import { taskQueues } from '../workflows/contracts/queues.ts';
import { liveRunStatuses, runPriorities, runSources } from '../workflows/contracts/runs/runs.ts';

/** All scrapes within this time share one reading. */
const freshMs = 5_000;
/** A scrape waits at most this long for the database; after that the reply omits these gauges. */
const patienceMs = 2_000;

/**
 * Gauges of the whole deployment, read from the database. Only bulk workers have them; several of them report the same values, so combine them with `max by`,
 * never `sum by`. They are in no registry: the process registers them.
 */
export function createDeploymentMetrics(db: Databases): readonly Metric[] {
  const read = shareReading(() => sweep(db, readDeploymentFacts));
  const gauge = gaugesOf(read);

  return [
    gauge('longhaul_runs_live', { help: 'Runs that have not ended', labelNames: ['status', 'source'] as const }, showLiveRuns),
    gauge(
      'longhaul_queue_oldest_seconds',
      { help: 'Age of the oldest run that could begin and has not; 0 when there is none', labelNames: ['queue', 'priority'] as const },
      showQueues,
    ),
    gauge('longhaul_outbox_due', { help: 'Outbox entries that should have been sent and are not' }, (own, { outbox }) =>
      own.set(outbox.due),
    ),
    gauge(
      'longhaul_outbox_oldest_seconds',
      { help: 'Age of the oldest outbox entry that should have been sent and is not; 0 when there is none' },
      (own, { outbox }) => own.set(outbox.oldestDueAgeS ?? 0),
    ),
    gauge('longhaul_mails_waiting', { help: 'Mails that have not been settled' }, (own, { waitingMails }) => own.set(waitingMails)),
    new Gauge({
      name: 'longhaul_scrape_errors',
      help: 'Readings of the database that this scrape had to do without',
      registers: [],
      async collect() {
        this.set((await read()) === null ? 1 : 0);
      },
    }),
  ];
}

/** Creates gauges that show the last reading, or nothing at all when it failed. */
function gaugesOf(read: () => Promise<DeploymentFacts | null>) {
  return <L extends string>(
    name: string,
    { help, labelNames = [] }: { readonly help: string; readonly labelNames?: readonly L[] },
    show: (gauge: Gauge<L>, facts: DeploymentFacts) => void,
  ) =>
    new Gauge<L>({
      name,
      help,
      labelNames,
      registers: [],
      async collect() {
        const facts = await read();
        if (facts) return show(this, facts);
        this.reset();
        if (labelNames.length === 0) this.remove();
      },
    });
}

function showLiveRuns(gauge: Gauge<'status' | 'source'>, { liveRuns }: DeploymentFacts): void {
  const sourceOf = knownLabels(runSources);
  for (const status of liveRunStatuses) for (const source of runSources) gauge.set({ status, source }, 0);
  for (const { status, source, count } of liveRuns) gauge.set({ status, source: sourceOf(source) }, count);
}

function showQueues(gauge: Gauge<'queue' | 'priority'>, { liveRuns }: DeploymentFacts): void {
  for (const priority of runPriorities) {
    const ages = liveRuns.filter((group) => group.priority === priority).map(({ oldestReadyS }) => oldestReadyS ?? 0);
    gauge.set({ queue: taskQueues.runs, priority }, Math.max(0, ...ages));
  }
}

/** Returns a reading that is at most five seconds old, or reads anew; null when that fails or takes too long. Only one reading is under way at a time. */
function shareReading<Read>(read: () => Promise<Read>): () => Promise<Read | null> {
  let shared: Promise<Read | null> | null = null;

  return () => {
    if (shared === null) {
      const own = read().catch(() => null);
      shared = own;
      // A failure is not stored: the next scrape reads again.
      void own.then((facts) => setTimeout(() => (shared = null), facts === null ? 0 : freshMs).unref());
    }
    return inTime(shared);
  };
}

async function inTime<Read>(reading: Promise<Read | null>): Promise<Read | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), patienceMs);
  });
  return Promise.race([reading, late]).finally(() => clearTimeout(timer));
}
