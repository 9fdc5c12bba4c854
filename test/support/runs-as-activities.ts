import { beginRun } from '../../domain/runs/start/begin-run.ts';
import { finishRun } from '../../domain/runs/end/finish-run.ts';
import { rows } from '../../db/sql.ts';
import { checkStream } from '../../db/streams/grammar.ts';
import { parseFrame } from '../../db/streams/frame-text.ts';
import type { Frame } from '../../db/streams/frame.schema.ts';
import { sweep, transact, workspaceTenant } from '../../db/transaction.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { FinishRunInput } from '../../workflows/contracts/runs/agent-run.ts';
import { violationsOf } from '../streams/frame-validator.ts';
import type { World } from '../api/world.ts';
import { archivedFrames } from './scenario.ts';
import type { TestTenant } from './tenant.ts';

/** What activities do with runs, done in the test's own process: no worker, no model. */
export interface RunsAsActivities {
  /** One transaction as the run's activities have it. */
  asRun<R>(tenant: TestTenant, runId: string, work: (tx: TenantTransaction) => Promise<R>): Promise<R>;
  begin(tenant: TestTenant, runId: string): Promise<void>;
  finish(tenant: TestTenant, runId: string, ending: Omit<FinishRunInput, 'runId'>): Promise<boolean>;
  query<T>(sql: string, params: readonly unknown[]): Promise<T[]>;
  frames(runId: string): Promise<Frame[]>;
  /** What in a run's archive breaks the protocol. */
  faults(runId: string): Promise<string[]>;
}

export function runsAsActivities(world: World): RunsAsActivities {
  const query = <T>(sql: string, params: readonly unknown[]) => sweep(world.api.db, (em) => rows<T>(em, sql, params));
  const texts = (runId: string) => archivedFrames(world.api, runId);

  const place: RunsAsActivities = {
    async asRun(tenant, runId, work) {
      const actor = { kind: 'agent_run' as const, id: runId, role: null, actingUserId: null, impersonationId: null };
      const at = workspaceTenant(tenant.organizationId, tenant.workspaceId);
      return (await transact(world.api.db, { tenant: at, actor, correlationId: crypto.randomUUID() }, work)).value;
    },
    async begin(tenant, runId) {
      await place.asRun(tenant, runId, (tx) => beginRun(tx, runId, { model: world.api.deps.models.resolve }));
    },
    finish: async (tenant, runId, ending) => (await place.asRun(tenant, runId, (tx) => finishRun(tx, { runId, ...ending }))).more,
    query,
    frames: async (runId) => (await texts(runId)).map(parseFrame),
    async faults(runId) {
      const frames = await place.frames(runId);
      const isEnded = frames.at(-1)?.type === 'run.finished';
      return [...frames.flatMap(violationsOf), ...checkStream(frames, { runId, isEnded }).map(({ seq, rule }) => `at ${seq}: ${rule}`)];
    },
  };
  return place;
}
