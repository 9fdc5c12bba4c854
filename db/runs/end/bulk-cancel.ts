import type { RunStatus } from '../../../workflows/contracts/runs.ts';
import { isTerminal } from '../../../workflows/contracts/runs.ts';
import { taskQueues, workflowIds } from '../../../workflows/contracts/queues.ts';
import { newId } from '../../ids.ts';
import { addOutboxAll } from '../../outbox.ts';
import { inSightOf, tenantPredicate, visibleTo, type Changing, type Predicate, type Scoped } from '../../scope.ts';
import { row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { lockForCancel, type Cancel } from './cancel-locked.ts';
import { cancelAndClose } from './cancel-run.ts';
import { Run } from '../run.entity.ts';
import type { CancelPolicy } from '../read/run-view.ts';

/** Which live runs are meant; every field that is there has to fit. */
export interface CancelFilter {
  readonly agent_id?: string;
  readonly session_key?: string;
  readonly trigger_id?: string;
  readonly evaluation_run_id?: string;
}

/** What one cancel of many came to, by the run's state when it was locked. */
export interface CancelCounts {
  /** Ended here: they had not begun. */
  readonly cancelled: number;
  /** Asked to end, now or before. */
  readonly cancelling: number;
  readonly alreadyFinished: number;
  /** Not there when they were locked. */
  readonly gone: number;
}

export interface RunAddress {
  readonly id: string;
  readonly organization_id: string;
  readonly workspace_id: string;
}

/** Those of the runs that the caller sees. */
export function seenRuns(ctx: Scoped, ids: readonly string[]): Promise<RunAddress[]> {
  const visible = inSightOf(ctx, Run, 'r');
  return rows<RunAddress>(
    ctx.em,
    `select r.id, r.organization_id, r.workspace_id from runs r where r.id = any (?::uuid[]) and r.deleted_at is null and ${visible.sql}`,
    [[...ids], ...visible.params],
  );
}

/** Cancels these runs, with their descendants, in the transaction. The caller may change each of them. */
export async function cancelAll(tx: TenantTransaction, runIds: readonly string[], cancel: Cancel): Promise<CancelCounts> {
  const locked = await lockForCancel(tx, runIds);
  const asked = new Set(runIds);
  const found = locked.runs.filter((run) => asked.has(run.id));
  await cancelAndClose(tx, { ...locked, runIds }, cancel);

  const count = (has: (status: RunStatus) => boolean) => found.filter((run) => has(run.status)).length;
  return {
    cancelled: count((status) => status === 'queued'),
    cancelling: count((status) => status === 'running' || status === 'waiting' || status === 'cancelling'),
    alreadyFinished: count(isTerminal),
    gone: asked.size - found.length,
  };
}

/** The first runs that match, and how many do. */
export interface Matches {
  readonly runs: readonly RunAddress[];
  readonly matched: number;
}

/**
 * Live runs that match and that the caller may cancel: where its role reaches the operation's floor and the place takes work. Those in line come first, so
 * that no line moves for nothing. Ids of other tenants match nothing.
 */
export async function matchingRuns(ctx: Changing, filter: CancelFilter, limit: number): Promise<Matches> {
  const mine = cancellable(ctx);
  const wanted = filterSql(filter);
  const found = await rows<RunAddress & { matched: number }>(
    ctx.em,
    `select r.id, r.organization_id, r.workspace_id, (count(*) over ())::int as matched from ${openRuns} where ${wanted.sql} and ${mine.sql}
      order by r.activated_at is not null, r.id desc limit ?`,
    [...wanted.params, ...mine.params, limit],
  );
  return { runs: found, matched: found[0]?.matched ?? 0 };
}

/** Leaves what still matches to the workflow `cancel:<id>`, one a workspace: it goes on until none is left. Gives how many there are. */
export async function leaveToWorkflow(ctx: Changing, filter: CancelFilter, cancel: Cancel): Promise<number> {
  const mine = cancellable(ctx);
  const wanted = filterSql(filter);
  // A run's time is of the process that made it, whose clock may be ahead.
  const places = await rows<{ organization_id: string; workspace_id: string; asked_at: string }>(
    ctx.em,
    `select r.organization_id, r.workspace_id, greatest(now(), max(r.created_at))::text as asked_at from ${openRuns} where ${wanted.sql} and ${mine.sql} group by 1, 2`,
    [...wanted.params, ...mine.params],
  );
  const drafts = places.map((place) => ({ ...place, id: newId() }));
  if (drafts.length === 0) return 0;
  await rows(
    ctx.em,
    `insert into bulk_cancels (id, organization_id, workspace_id, filter, policy, reason, cancelled, created_at)
     select d.id, d.organization_id, d.workspace_id, ?::jsonb, ?, ?, 0, d.asked_at
       from jsonb_to_recordset(?::jsonb) as d(id uuid, organization_id uuid, workspace_id uuid, asked_at timestamptz)`,
    [JSON.stringify(filter), cancel.policy, cancel.reason, JSON.stringify(drafts)],
  );
  await addOutboxAll(
    ctx,
    drafts.map((draft) => ({ message: startOf(ctx, draft), dedupeKey: workflowIds.bulkCancel(draft.id) })),
  );
  return drafts.length;
}

function startOf(ctx: Scoped, place: RunAddress) {
  return {
    kind: 'workflow.start',
    workflowType: 'bulkCancel',
    workflowId: workflowIds.bulkCancel(place.id),
    taskQueue: taskQueues.bulk,
    args: [{ cancelId: place.id }],
    organizationId: place.organization_id,
    workspaceId: place.workspace_id,
    correlationId: ctx.correlationId,
    reuse: 'reject_duplicate',
    priority: 3,
    searchAttributes: {},
  } as const;
}

/** A cancel of many as its row has it. */
export interface OpenBulkCancel {
  readonly id: string;
  readonly organization_id: string;
  readonly workspace_id: string;
  readonly filter: CancelFilter;
  readonly policy: CancelPolicy;
  readonly reason: string | null;
  readonly cancelled: number;
  readonly created_at: string;
}

/** Locks a cancel that is not done; null when it is, or is not there. */
export function lockBulkCancel(tx: TenantTransaction, cancelId: string): Promise<OpenBulkCancel | null> {
  const own = tenantPredicate(tx.tenant, 'b');
  return row<OpenBulkCancel>(
    tx.em,
    `select b.id, b.organization_id, b.workspace_id, b.filter, b.policy, b.reason, b.cancelled, b.created_at from bulk_cancels b
      where b.id = ? and b.finished_at is null and ${own.sql} for no key update`,
    [cancelId, ...own.params],
  );
}

/** One round of it: cancels up to `limit` of the runs that match and were there when it was asked for. Gives how many there were; none: it is done. */
export async function cancelRound(tx: TenantTransaction, bulk: OpenBulkCancel, limit: number): Promise<number> {
  const wanted = filterSql(bulk.filter);
  const found = await rows<{ id: string }>(
    tx.em,
    `select r.id from runs r where r.workspace_id = ? and r.deleted_at is null and r.status in ('queued', 'running', 'waiting') and ${wanted.sql}
        and r.created_at <= ?::timestamptz order by r.activated_at is not null, r.id desc limit ?`,
    [bulk.workspace_id, ...wanted.params, bulk.created_at, limit],
  );
  const ids = found.map((run) => run.id);
  if (ids.length > 0) await cancelAll(tx, ids, { policy: bulk.policy, reason: bulk.reason });
  await rows(tx.em, 'update bulk_cancels set cancelled = cancelled + ?, finished_at = case when ? then now() end where id = ?', [
    ids.length,
    ids.length === 0,
    bulk.id,
  ]);
  return ids.length;
}

const openRuns = `runs r join workspaces w on w.id = r.workspace_id and w.is_active join organizations o on o.id = w.organization_id and o.status = 'active'`;

/** Live runs that have not been told to end, of where the caller may cancel. */
function cancellable(ctx: Changing): Predicate {
  const visible = visibleTo(ctx, Run, 'r');
  const live = `r.deleted_at is null and r.status in ('queued', 'running', 'waiting')`;
  return { sql: `${live} and ${visible.sql}`, params: visible.params };
}

const filterNames = ['agent_id', 'session_key', 'trigger_id', 'evaluation_run_id'] as const;

function filterSql(filter: CancelFilter): Predicate {
  const given = filterNames.filter((name) => filter[name] !== undefined);
  // Nothing asked for is nothing, never everything.
  if (given.length === 0) return { sql: 'false', params: [] };
  return { sql: given.map((name) => `r.${name} = ?`).join(' and '), params: given.map((name) => filter[name]) };
}
