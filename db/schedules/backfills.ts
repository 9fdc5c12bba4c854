import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { taskQueues, workflowIds } from '../../workflows/contracts/queues.ts';
import { backfillRunEnded } from '../../workflows/contracts/triggers.ts';
import { addOutbox } from '../outbox.ts';
import { query } from '../query.ts';
import { change, row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { BackfillOverlap, BackfillStatus } from './schedule-backfill.entity.ts';

/** Where a row of a schedule lies. */
export interface SchedulePlace {
  readonly id: string;
  readonly organization_id: string;
  readonly workspace_id: string;
}

/** A backfill as its work sees it. */
export type BackfillRow = NonNullable<Awaited<ReturnType<typeof readBackfill>>>;

export interface NewBackfill {
  readonly id: string;
  /** Both included. */
  readonly from: Date;
  readonly to: Date;
  readonly overlap: BackfillOverlap;
  readonly planned: number;
  readonly alreadyRun: number;
  readonly at: Date;
}

/** A backfill; null when it is purged or foreign. */
export function readBackfill(tx: Pick<TenantTransaction, 'em'>, id: string) {
  return row(tx.em, query.selectFrom('schedule_backfills').where('id', '=', id).selectAll());
}

/** The same, locked to the end of the transaction. */
export function lockBackfill(tx: Pick<TenantTransaction, 'em'>, id: string) {
  return row(tx.em, query.selectFrom('schedule_backfills').where('id', '=', id).selectAll().forNoKeyUpdate());
}

/** Writes a backfill, whose work begins after the commit. */
export async function insertBackfill(tx: TenantTransaction, schedule: SchedulePlace, backfill: NewBackfill): Promise<void> {
  await change(
    tx.em,
    query.insertInto('schedule_backfills').values({
      id: backfill.id,
      organizationId: schedule.organization_id,
      workspaceId: schedule.workspace_id,
      scheduleId: schedule.id,
      rangeFrom: backfill.from,
      rangeTo: backfill.to,
      overlap: backfill.overlap,
      planned: backfill.planned,
      alreadyRun: backfill.alreadyRun,
      status: 'queued',
      reached: new Date(backfill.from.getTime() - 1),
      started: 0,
      failed: 0,
      createdAt: backfill.at,
      finishedAt: null,
    }),
  );
  await wake(tx, schedule, { backfillId: backfill.id, occasion: 'made' });
}

/** Notes how far a locked backfill is. */
export async function moveBackfill(
  tx: Pick<TenantTransaction, 'em'>,
  id: string,
  to: { readonly reached: Date; readonly started: number; readonly failed: number },
): Promise<void> {
  await change(
    tx.em,
    query
      .updateTable('schedule_backfills')
      .where('id', '=', id)
      .set((eb) => ({
        status: 'running',
        reached: to.reached,
        started: eb('started', '+', to.started),
        failed: eb('failed', '+', to.failed),
      })),
  );
}

/** Ends a backfill that has not ended. */
export async function endBackfill(
  tx: Pick<TenantTransaction, 'em'>,
  id: string,
  end: { readonly status: Extract<BackfillStatus, 'done' | 'cancelled'>; readonly now: Date },
): Promise<void> {
  await change(
    tx.em,
    query
      .updateTable('schedule_backfills')
      .where('id', '=', id)
      .where('status', 'in', ['queued', 'running'])
      .set({ status: end.status, finishedAt: end.now }),
  );
}

/** Cancels what of the backfills of a schedule has not ended: nothing more of it is started. */
export async function cancelBackfills(tx: Pick<TenantTransaction, 'em'>, scheduleId: string, now: Date): Promise<void> {
  await change(
    tx.em,
    query
      .updateTable('schedule_backfills')
      .where('scheduleId', '=', scheduleId)
      .where('status', 'in', ['queued', 'running'])
      .set({ status: 'cancelled', finishedAt: now }),
  );
}

/** Has the open backfills of a schedule look again after the commit; once an occasion. */
export async function wakeBackfills(tx: TenantTransaction, schedule: SchedulePlace, occasion: string): Promise<void> {
  const open = await rows(
    tx.em,
    query.selectFrom('schedule_backfills').where('scheduleId', '=', schedule.id).where('status', 'in', ['queued', 'running']).select('id'),
  );
  for (const { id } of open) await wake(tx, schedule, { backfillId: id, occasion });
}

async function wake(
  tx: TenantTransaction,
  schedule: SchedulePlace,
  { backfillId, occasion }: { readonly backfillId: string; readonly occasion: string },
): Promise<void> {
  const workflowId = workflowIds.backfill(backfillId);
  await addOutbox(
    tx,
    {
      kind: 'workflow.start',
      workflowType: 'backfillSchedule',
      workflowId,
      taskQueue: taskQueues.bulk,
      args: [{ backfillId }],
      organizationId: schedule.organization_id,
      workspaceId: schedule.workspace_id,
      correlationId: tx.correlationId,
      reuse: 'allow_duplicate',
      signal: backfillRunEnded,
      priority: 5,
      searchAttributes: { SourceId: schedule.id },
    },
    { dedupeKey: `${workflowId}:${occasion}` },
  );
}

/** Schedules with a backfill that has not ended for ten minutes: Temporal may have lost its workflow, or a signal. Sweeper's pool. */
export function schedulesWithOpenBackfills(em: SqlEntityManager, limit: number): Promise<SchedulePlace[]> {
  return rows<SchedulePlace>(
    em,
    `select distinct b.schedule_id as id, b.organization_id, b.workspace_id from schedule_backfills b
      where b.status in ('queued', 'running') and b.created_at < now() - interval '10 minutes' order by b.schedule_id limit ?`,
    [limit],
  );
}

/** Whether a run of any backfill of a schedule is live. */
export async function hasLiveBackfillRun(tx: Pick<TenantTransaction, 'em'>, scheduleId: string): Promise<boolean> {
  const live = await row(
    tx.em,
    query
      .selectFrom('schedule_occurrences')
      .where('scheduleId', '=', scheduleId)
      .where('status', '=', 'started')
      .where('kind', '=', 'backfill')
      .select('id')
      .limit(1),
  );
  return live !== null;
}

/** Instants of a stretch, both ends included, that have started a run or are about to, whether at their own time or by a backfill. */
export async function readRunInstants(
  tx: Pick<TenantTransaction, 'em'>,
  scheduleId: string,
  { from, to }: { readonly from: Date; readonly to: Date },
): Promise<ReadonlySet<number>> {
  const found = await rows<{ nominal_at: string }>(
    tx.em,
    `select o.nominal_at from schedule_occurrences o where o.schedule_id = ? and o.nominal_at between ? and ?
      and o.kind <> 'manual' and (o.run_id is not null or o.status = 'buffered')`,
    [scheduleId, from, to],
  );
  return new Set(found.map(({ nominal_at: at }) => new Date(at).getTime()));
}

/** How many of them there are. */
export async function countRunInstants(
  tx: Pick<TenantTransaction, 'em'>,
  scheduleId: string,
  { from, to }: { readonly from: Date; readonly to: Date },
): Promise<number> {
  const found = await row<{ n: number }>(
    tx.em,
    `select count(distinct o.nominal_at)::int as n from schedule_occurrences o where o.schedule_id = ? and o.nominal_at between ? and ?
      and o.kind <> 'manual' and (o.run_id is not null or o.status = 'buffered')`,
    [scheduleId, from, to],
  );
  return found?.n ?? 0;
}
