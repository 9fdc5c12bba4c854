import { ScheduleNotFoundError } from '@temporalio/client';
import type { QueueStatus, ScheduleStatus, TemporalGateway, WorkerStatus } from '../ports/temporal-gateway.ts';
import { taskQueues } from '../workflows/contracts/queues.ts';
import type { Temporal } from './client.ts';
import type { NamespaceKeeper } from './namespace.ts';
import { scheduleIds } from './schedules.ts';

// temporal.api.enums.v1.TaskQueueType
const kinds = { workflow: 1, activity: 2 } as const;

/** Calls to Temporal for health checks and system operations. Each call rejects after its `timeoutMs`. */
export function createTemporalGateway(temporal: Temporal, keeper: Pick<NamespaceKeeper, 'check'>): TemporalGateway {
  const within = <R>(timeoutMs: number, work: () => Promise<R>): Promise<R> =>
    temporal.connection.withDeadline(Date.now() + timeoutMs, work);

  return {
    check: (timeoutMs) => within(timeoutMs, () => keeper.check()),
    queues: (timeoutMs) => within(timeoutMs, () => Promise.all(Object.values(taskQueues).map((name) => queueStatus(temporal, name)))),
    workers: (timeoutMs) => within(timeoutMs, () => workerStatuses(temporal)),
    schedules: (timeoutMs) => within(timeoutMs, () => scheduleStatuses(temporal)),
  };
}

type QueuePart = Awaited<ReturnType<typeof describeQueue>>;

function describeQueue({ connection, namespace }: Temporal, name: string, taskQueueType: number) {
  return connection.workflowService.describeTaskQueue({
    namespace,
    taskQueue: { name },
    taskQueueType,
    reportStats: true,
    reportPollers: true,
  });
}

function describeBoth(temporal: Temporal, name: string): Promise<QueuePart[]> {
  return Promise.all(Object.values(kinds).map((kind) => describeQueue(temporal, name, kind)));
}

async function queueStatus(temporal: Temporal, name: string): Promise<QueueStatus> {
  const parts = await describeBoth(temporal, name);
  const backlogs = parts.map((part) => Number(part.stats?.approximateBacklogCount ?? 0));
  const ages = parts.map((part) => Number(part.stats?.approximateBacklogAge?.seconds ?? 0));
  const pollers = new Set(parts.flatMap((part) => (part.pollers ?? []).map((poller) => poller.identity)));

  return { name, backlog: backlogs.reduce((sum, count) => sum + count, 0), oldestAgeS: Math.max(...ages), pollers: pollers.size };
}

async function workerStatuses(temporal: Temporal): Promise<WorkerStatus[]> {
  const found = new Map<string, { buildId: string; queues: Set<string>; lastSeenMs: number }>();

  for (const name of Object.values(taskQueues)) {
    for (const { pollers } of await describeBoth(temporal, name)) {
      for (const poller of pollers ?? []) {
        const worker = found.get(poller.identity ?? '') ?? { buildId: '', queues: new Set<string>(), lastSeenMs: 0 };

        worker.queues.add(name);
        worker.buildId = poller.deploymentOptions?.buildId || poller.workerVersionCapabilities?.buildId || worker.buildId;
        worker.lastSeenMs = Math.max(worker.lastSeenMs, millisecondsOf(poller.lastAccessTime));
        found.set(poller.identity ?? '', worker);
      }
    }
  }
  return [...found].map(([identity, { buildId, queues, lastSeenMs }]) => ({
    identity,
    buildId,
    queues: [...queues],
    lastSeenAt: new Date(lastSeenMs),
  }));
}

async function scheduleStatuses({ client }: Temporal): Promise<ScheduleStatus[]> {
  const found = await Promise.all(
    scheduleIds.map(async (id) => {
      try {
        const { state, info } = await client.schedule.getHandle(id).describe();

        return { id, isPaused: state.paused, nextAt: info.nextActionTimes[0] ?? null, missed: info.numActionsMissedCatchupWindow };
      } catch (error) {
        // Not created yet: the first worker creates it.
        if (error instanceof ScheduleNotFoundError) return null;
        throw error;
      }
    }),
  );

  return found.filter((schedule) => schedule !== null);
}

/** Returns when a poll of the worker with this identity last reached the queue, or null when Temporal knows of none. */
export async function lastPollAt(temporal: Temporal, queue: string, identity: string): Promise<Date | null> {
  const parts = await describeBoth(temporal, queue);
  const seen = parts.flatMap(({ pollers }) => (pollers ?? []).filter((poller) => poller.identity === identity));

  return seen.length > 0 ? new Date(Math.max(...seen.map((poller) => millisecondsOf(poller.lastAccessTime)))) : null;
}

function millisecondsOf(time: { seconds?: unknown; nanos?: number | null } | null | undefined): number {
  return Number(time?.seconds ?? 0) * 1000 + Math.floor((time?.nanos ?? 0) / 1_000_000);
}
