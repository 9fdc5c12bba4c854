import { pino } from 'pino';
import { createRunActivities } from '../../activities/runs/run-activities.ts';
import { asTenant } from '../../activities/support/tenant.ts';
import type { ActivityDeps } from '../../activities/deps.ts';
import { newId } from '../../db/ids.ts';
import { createPublisher } from '../../db/streams/publisher.ts';
import { createActivityMetrics, type ActivityMetrics } from '../../ports/metrics/activity-metrics.ts';
import { createDispatch } from '../../temporal/dispatch.ts';
import { createReconciler, type Reconciler } from '../../temporal/reconciler.ts';
import { openWorld, type World } from '../api/world.ts';
import { keepAdmin } from '../support/template.ts';
import { patient, testNamespace, until, type TestNamespace } from '../support/temporal.ts';

const log = pino({ level: 'silent' });

/** An API whose own Temporal is unreachable, beside a namespace that works: what it could not send is there for the test. */
export interface OutboxWorld {
  readonly world: World;
  readonly place: TestNamespace;
  readonly reconciler: Reconciler;
  /** Sends rows as their own process would after its commit, to the Temporal that works. */
  send(outboxIds: readonly string[]): Promise<void>;
  /** What the reconciler counts by. */
  readonly metrics: ActivityMetrics;
  /** Statement as the database's administrator; gives its rows. */
  admin(sql: string, params?: readonly unknown[]): Promise<Record<string, unknown>[]>;
  /** Makes rows look as old as that, so that nobody has to wait. */
  age(runId: string, interval: string): Promise<void>;
  isOpen(workflowId: string): Promise<boolean>;
  /** How many executions Temporal lists under an id, once it lists any. */
  startsOf(workflowId: string): Promise<number>;
  runStatus(runId: string): Promise<unknown>;
  close(): Promise<void>;
}

export async function openOutboxWorld(): Promise<OutboxWorld> {
  const world = await openWorld({ env: { TEMPORAL_ADDRESS: '127.0.0.1:9' } });
  const place = await testNamespace(world.api.keys);
  const { db, deps } = world.api;
  // What one pass does is said to the number: a send that Temporal takes late is no other pass.
  const temporal = patient(place.temporal);
  const dispatch = createDispatch({
    temporal,
    db,
    log,
    publisher: createPublisher({ redis: deps.redis, prefix: world.api.redisPrefix, log }),
    measure: () => undefined,
  });
  // finishRun needs no more of a worker than this.
  const runs = createRunActivities({ db, dispatch, log, models: deps.models } as unknown as ActivityDeps);
  const metrics = createActivityMetrics([]);
  const reconciler = createReconciler({
    temporal,
    db,
    log,
    dispatch,
    measure: metrics.repaired,
    finish: ({ id, organizationId, workspaceId }, ending) =>
      asTenant({ organizationId, workspaceId, correlationId: newId() }, () => runs.finishRun({ runId: id, ...ending })),
  });
  const { query: admin, close: closeAdmin } = keepAdmin(world.api.database.adminUrl);

  return {
    world,
    place,
    reconciler,
    send: (outboxIds) =>
      dispatch({
        frames: [],
        cancelledRunIds: [],
        erasedRunIds: [],
        revoked: [],
        measurements: [],
        endedRuns: [],
        outboxIds: [...outboxIds],
      }),
    metrics,
    admin,
    age: async (runId, interval) => {
      await admin(
        `update runs set updated_at = now() - $2::interval, reconciled_at = null, finished_at = case when finished_at is null then null else now() - $2::interval end where id = $1`,
        [runId, interval],
      );
      await admin(`update run_streams set updated_at = now() - $2::interval where run_id = $1`, [runId, interval]);
    },
    isOpen: async (workflowId) => {
      const described = await place.temporal.client.workflow
        .getHandle(workflowId)
        .describe()
        .catch(() => null);

      return described?.status.name === 'RUNNING';
    },
    async startsOf(workflowId) {
      let count = 0;
      await until(async () => {
        count = (await place.temporal.client.workflow.count(`WorkflowId = '${workflowId}'`)).count;
        return count > 0;
      });
      return count;
    },
    runStatus: async (runId) => (await admin('select status from runs where id = $1', [runId]))[0]?.['status'],
    close: async () => {
      await closeAdmin();
      await place.close();
      await world.close();
    },
  };
}
