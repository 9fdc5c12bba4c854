import { sql } from 'kysely';
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { taskQueues, workflowIds } from '../../workflows/contracts/queues.ts';
import { newId } from '../ids.ts';
import { addOutbox } from '../outbox.ts';
import { query } from '../query.ts';
import { change, row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** The part of an ended run that its callback needs. */
export interface EndedRun {
  readonly id: string;
  readonly source: string;
  readonly trigger_id: string | null;
}

/**
 * Stores the callback of a run that a hook has started, and the start of its delivery, in the transaction that ends the run; once per run, also for a group.
 * Does nothing for other runs, at no cost, for a run that is tried again, and where the endpoint has no callback.
 */
export async function openCallbackOf(tx: TenantTransaction, run: EndedRun): Promise<void> {
  if (run.source !== 'webhook' || run.trigger_id === null) return;
  const [opened] = await rows<{ id: string; status: string; organization_id: string; workspace_id: string }>(
    tx.em,
    `insert into outbound_callbacks (id, organization_id, workspace_id, endpoint_id, run_id, delivery_id, url, status)
     select ?, e.organization_id, e.workspace_id, e.id, d.run_id, d.id, e.callback_url, case when e.callback_stopped_at is null then 'pending' else 'stopped' end
       from webhook_deliveries d join webhook_endpoints e on e.id = d.endpoint_id
      where d.run_id = ? and d.status = 'started' and e.id = ? and e.response_mode = 'callback' and e.callback_url is not null and e.deleted_at is null
      order by d.id limit 1
     on conflict (endpoint_id, run_id) do nothing returning id, status, organization_id, workspace_id`,
    [newId(), run.id, run.trigger_id],
  );
  if (opened?.status !== 'pending') return;
  const workflowId = workflowIds.delivery(opened.id);
  await addOutbox(
    tx,
    {
      kind: 'workflow.start',
      workflowType: 'deliver',
      workflowId,
      taskQueue: taskQueues.runs,
      args: [{ source: 'callback', deliveryId: opened.id }],
      organizationId: opened.organization_id,
      workspaceId: opened.workspace_id,
      correlationId: tx.correlationId,
      reuse: 'reject_duplicate',
      priority: 3,
      searchAttributes: {},
    },
    { dedupeKey: workflowId },
  );
}

/** A callback whose next try is due and already counted. */
export type DueCallback = NonNullable<Awaited<ReturnType<typeof claimCallback>>>;

/** Counts a try of a due callback before it is made. Returns null when it is over, deleted or not due yet. */
export function claimCallback(tx: TenantTransaction, callbackId: string) {
  return row(
    tx.em,
    query
      .updateTable('outbound_callbacks')
      .set(({ eb }) => ({ attempts: eb('attempts', '+', 1), updatedAt: sql<string>`clock_timestamp()` }))
      .where('id', '=', callbackId)
      .where('status', '=', 'pending')
      .where(({ eb, or }) => or([eb('nextAttemptAt', 'is', null), eb('nextAttemptAt', '<=', sql<string>`clock_timestamp()`)]))
      .returning(['id', 'organizationId', 'workspaceId', 'endpointId', 'runId', 'deliveryId', 'url', 'attempts']),
  );
}

/** Returns the milliseconds until the next try of a callback, or null when it is over or deleted. */
export async function callbackWaitOf(tx: TenantTransaction, callbackId: string): Promise<number | null> {
  const found = await row(
    tx.em,
    query
      .selectFrom('outbound_callbacks')
      .where('id', '=', callbackId)
      .where('status', '=', 'pending')
      .select(sql<number>`greatest(0, ceil(extract(epoch from next_attempt_at - clock_timestamp()) * 1000))::int`.as('waitMs')),
  );
  return found && (found.waitMs ?? 0);
}

/** What a callback is made of, from its endpoint and its run. */
export interface CallbackFacts {
  readonly isDeleted: boolean;
  readonly isStopped: boolean;
  readonly responsePath: string | null;
  /** How many hooks led to the run. */
  readonly hops: number;
}

/** Returns the current facts of a callback's endpoint and run, or null when either is deleted. */
export function readCallbackFacts(tx: TenantTransaction, { endpointId, runId }: DueCallback): Promise<CallbackFacts | null> {
  return row<CallbackFacts>(
    tx.em,
    `select e.deleted_at is not null as "isDeleted", e.callback_stopped_at is not null as "isStopped", e.response_path as "responsePath", r.hops
       from webhook_endpoints e join runs r on r.id = ? and r.deleted_at is null where e.id = ?`,
    [runId, endpointId],
  );
}

/** The outcome of a try of a callback, as it is stored. */
export interface StoredCallbackTry {
  readonly status: 'pending' | 'delivered' | 'failed' | 'stopped';
  readonly lastStatus: number | null;
  readonly lastError: string | null;
  readonly delayMs: number | null;
}

/** Stores the outcome of a try; the outcome of a later try is not overwritten. Returns false when it was dropped. */
export async function storeCallbackTry(
  tx: TenantTransaction,
  { id, attempts }: Pick<DueCallback, 'id' | 'attempts'>,
  { status, lastStatus, lastError, delayMs }: StoredCallbackTry,
): Promise<boolean> {
  const stored = await change(
    tx.em,
    query
      .updateTable('outbound_callbacks')
      .set({
        status,
        lastStatus,
        lastError: lastError?.slice(0, 300) ?? null,
        nextAttemptAt: delayMs === null ? null : sql<string>`clock_timestamp() + make_interval(secs => ${delayMs / 1_000}::float8)`,
        updatedAt: sql<string>`clock_timestamp()`,
      })
      .where('id', '=', id)
      .where('attempts', '=', attempts)
      .where('status', '=', 'pending'),
  );
  return stored > 0;
}

/** Stops an endpoint's pending and future callbacks until an address is set again. */
export async function stopCallbacks(tx: TenantTransaction, endpointId: string): Promise<void> {
  await change(tx.em, 'update webhook_endpoints set callback_stopped_at = coalesce(callback_stopped_at, clock_timestamp()) where id = ?', [
    endpointId,
  ]);
  await stopPending(tx, endpointId);
}

/** Stops the callbacks of an endpoint that wait for a try. */
export async function stopPending(tx: TenantTransaction, endpointId: string): Promise<void> {
  await change(
    tx.em,
    "update outbound_callbacks set status = 'stopped', next_attempt_at = null, updated_at = clock_timestamp() where endpoint_id = ? and status = 'pending'",
    [endpointId],
  );
}

/**
 * Resends the starts of callbacks whose try is ten minutes overdue: Temporal may have lost their workflows. A running workflow is not started twice. Returns
 * how many. Sweeper's pool.
 */
export function resendCallbacks(em: SqlEntityManager): Promise<number> {
  return change(
    em,
    `update outbox o set sent_at = null, not_before = now() from outbound_callbacks c
      where c.status = 'pending' and coalesce(c.next_attempt_at, c.updated_at) < now() - interval '10 minutes'
        and o.kind = 'workflow.start' and o.dedupe_key = 'delivery:' || c.id and o.sent_at < now() - interval '10 minutes'`,
    [],
  );
}

/** Deletes at most `limit` callbacks older than 90 days; returns how many. Sweeper's pool. */
export function eraseCallbacksByAge(em: SqlEntityManager, limit: number): Promise<number> {
  return change(
    em,
    "delete from outbound_callbacks where ctid = any (array(select x.ctid from outbound_callbacks x where x.created_at < now() - interval '90 days' limit ?))",
    [limit],
  );
}
