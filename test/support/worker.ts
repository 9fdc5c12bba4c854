import { randomUUID } from 'node:crypto';
import { NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { pino } from 'pino';
import { guardActivities } from '../../activities/support/interceptor.ts';
import { startWorkflow } from '../../temporal/start.ts';
import { verifyTenantHeader } from '../../temporal/header.ts';
import type { AgentRunInput } from '../../workflows/contracts/runs/agent-run.ts';
import { workflowIds } from '../../workflows/contracts/queues.ts';
import { ensureBundle } from '../../workers/build-bundle.ts';
import { isDrained } from '../../workers/run-to-end.ts';
import { runtimeLogger } from '../../workers/runtime-log.ts';
import { tuning } from '../../workers/tuning.ts';
import type { TestNamespace } from './temporal.ts';

export const silent = pino({ level: 'silent' });

/** A worker in this process with the product's bundle, tuning and guards, and activities of the test's own. */
export function startTestWorker(
  place: TestNamespace,
  activities: object,
  systemActivities: readonly string[] = [],
): Promise<{ stop(): Promise<void> }> {
  return startWorker(place, activities, { systemActivities });
}

/** The same without a memory: it makes every workflow task from the whole history, as after a restart. */
export function startForgetfulWorker(place: TestNamespace, activities: object): Promise<{ stop(): Promise<void> }> {
  return startWorker(place, activities, { systemActivities: [], maxCachedWorkflows: 0 });
}

interface WorkerChoices {
  readonly systemActivities: readonly string[];
  readonly maxCachedWorkflows?: number;
}

async function startWorker(place: TestNamespace, activities: object, choices: WorkerChoices): Promise<{ stop(): Promise<void> }> {
  const { worker, connection } = await createTestWorker(place, activities, choices);
  const running = worker.run();

  return {
    stop: async () => {
      if (worker.getState() === 'RUNNING') worker.shutdown();
      await running.catch(throwUnlessDrained);
      await connection.close();
    },
  };
}

function throwUnlessDrained(error: unknown): void {
  if (!isDrained(error)) throw error;
}

/** The worker itself, not running yet, and its connection. */
export async function createTestWorker(
  place: TestNamespace,
  activities: object,
  { systemActivities, ...choices }: WorkerChoices = { systemActivities: [] },
): Promise<{ worker: Worker; connection: NativeConnection }> {
  installQuietRuntime();
  const connection = await NativeConnection.connect({ address: place.address });
  const worker = await Worker.create({
    ...tuning.runs,
    ...choices,
    shutdownGraceTime: 0,
    shutdownForceTime: '5 seconds',
    connection,
    namespace: place.namespace,
    taskQueue: 'runs',
    workflowBundle: { codePath: await ensureBundle() },
    activities,
    interceptors: {
      activity: [
        guardActivities({
          verify: (header) => verifyTenantHeader(place.keys.headerKeys, header),
          systemActivities: new Set(systemActivities),
          log: silent,
        }),
      ],
    },
  });

  return { worker, connection };
}

export interface StartedRun {
  readonly runId: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly correlationId: string;
}

/** Starts `agentRun` as the outbox does, or as for a run that goes on in another execution; the caller has scripted what happens under this id. */
export async function startAgentRun(
  { temporal }: TestNamespace,
  runId: string,
  from: Omit<AgentRunInput, 'runId'> = {},
): Promise<StartedRun> {
  const run = { runId, organizationId: randomUUID(), workspaceId: randomUUID(), correlationId: randomUUID() };

  await startWorkflow(temporal, {
    kind: 'workflow.start',
    workflowType: 'agentRun',
    workflowId: workflowIds.run(runId),
    taskQueue: 'runs',
    args: [{ runId, ...from }],
    organizationId: run.organizationId,
    workspaceId: run.workspaceId,
    correlationId: run.correlationId,
    reuse: 'reject_duplicate',
    priority: 3,
    searchAttributes: { RunKind: 'api' },
  });
  return run;
}

/** Keeps the SDK quiet; once a process. */
export function installQuietRuntime(): void {
  if (Runtime._instance) return;
  Runtime.install({
    logger: runtimeLogger(silent, () => undefined),
    telemetryOptions: { logging: { filter: { core: 'WARN', other: 'WARN' }, forward: {} } },
    shutdownSignals: [],
  });
}
