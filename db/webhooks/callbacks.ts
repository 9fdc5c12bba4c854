import { sql } from 'kysely';
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { taskQueues, workflowIds } from '../../workflows/contracts/queues.ts';
import { newId } from '../ids.ts';
import { addOutbox } from '../outbox.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { amongRows, clockTime } from '../expressions.ts';
import { change, row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { CallbackStatus } from './outbound-callback.entity.ts';

/** In the text, so that the partial index of pending callbacks serves. */
const pending = sql.lit('pending' as const);

/** The part of an ended run that its callback needs. */
export interface EndedRun {
  readonly id: string;
  readonly source: string;
  readonly trigger_id: string | null;
}

interface NewCallback {
  readonly id: string;
  readonly runId: string;
  readonly endpointId: string;
}

const opening = prepared(({ id, runId, endpointId }: ParametersOf<NewCallback>) =>
  query
    .insertInto('outbound_callbacks')
    .columns(['id', 'organizationId', 'workspaceId', 'endpointId', 'runId', 'deliveryId', 'url', 'status'])
    .expression(
      query
        .selectFrom('webhook_deliveries as d')
        .innerJoin('webhook_endpoints as e', 'e.id', 'd.endpointId')
        .where('d.runId', '=', runId)
        .where('d.status', '=', 'started')
        .where('e.id', '=', endpointId)
        .where('e.responseMode', '=', 'callback')
        .where('e.callbackUrl', 'is not', null)
        .where('e.deletedAt', 'is', null)
        .select([sql<string>`${id}::uuid`.as('id'), 'e.organizationId', 'e.workspaceId', 'e.id as endpointId', 'd.runId'])
        .select(['d.id as deliveryId', 'e.callbackUrl as url'])
        .select(sql<CallbackStatus>`case when e.callback_stopped_at is null then 'pending' else 'stopped' end`.as('status'))
        .orderBy('d.id')
        .limit(1),
    )
    .onConflict((conflict) => conflict.columns(['endpointId', 'runId']).doNothing())
    .returning(['id', 'status', 'organizationId', 'workspaceId']),
);

/**
 * Stores the callback of a run that a hook has started, and the start of its delivery, in the transaction that ends the run; once per run, also for a group.
 * Does nothing for other runs, at no cost, for a run that is tried again, and where the endpoint has no callback.
 */
export async function openCallbackOf(tx: TenantTransaction, run: EndedRun): Promise<void> {
  if (run.source !== 'webhook' || run.trigger_id === null) return;
  const opened = await row(tx.em, opening({ id: newId(), runId: run.id, endpointId: run.trigger_id }));
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
      organizationId: opened.organizationId,
      workspaceId: opened.workspaceId,
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
      .set(({ eb }) => ({ attempts: eb('attempts', '+', 1), updatedAt: clockTime }))
      .where('id', '=', callbackId)
      .where('status', '=', 'pending')
      .where(({ eb, or }) => or([eb('nextAttemptAt', 'is', null), eb('nextAttemptAt', '<=', clockTime)]))
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
export type CallbackFacts = NonNullable<Awaited<ReturnType<typeof readCallbackFacts>>>;

const factsOf = prepared(({ endpointId, runId }: ParametersOf<Omit<NewCallback, 'id'>>) =>
  query
    .selectFrom('webhook_endpoints as e')
    .innerJoin('runs as r', (join) => join.on('r.id', '=', runId).on('r.deletedAt', 'is', null))
    .where('e.id', '=', endpointId)
    .select(['e.responsePath', 'r.hops'])
    .select([sql<boolean>`e.deleted_at is not null`.as('isDeleted'), sql<boolean>`e.callback_stopped_at is not null`.as('isStopped')]),
);

/** Returns the current facts of a callback's endpoint and run, or null when either is deleted. */
export function readCallbackFacts(tx: TenantTransaction, { endpointId, runId }: DueCallback) {
  return row(tx.em, factsOf({ endpointId, runId }));
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
        updatedAt: clockTime,
      })
      .where('id', '=', id)
      .where('attempts', '=', attempts)
      .where('status', '=', 'pending'),
  );
  return stored > 0;
}

/** Stops an endpoint's pending and future callbacks until an address is set again. */
export async function stopCallbacks(tx: TenantTransaction, endpointId: string): Promise<void> {
  await change(
    tx.em,
    query
      .updateTable('webhook_endpoints')
      // It is no change of the endpoint: its `updatedAt` stays.
      .set(({ fn, ref }) => ({ callbackStoppedAt: fn.coalesce('callbackStoppedAt', clockTime), updatedAt: ref('updatedAt') }))
      .where('id', '=', endpointId),
  );
  await stopPending(tx, endpointId);
}

/** Stops the callbacks of an endpoint that wait for a try. */
export async function stopPending(tx: TenantTransaction, endpointId: string): Promise<void> {
  await change(
    tx.em,
    query
      .updateTable('outbound_callbacks')
      .set({ status: 'stopped', nextAttemptAt: null, updatedAt: clockTime })
      .where('endpointId', '=', endpointId)
      .where('status', '=', pending),
  );
}

const tenMinutesAgo = sql<string>`now() - interval '10 minutes'`;

/**
 * Resends the starts of callbacks whose try is ten minutes overdue: Temporal may have lost their workflows. A running workflow is not started twice. Returns
 * how many. Sweeper's pool.
 */
export function resendCallbacks(em: SqlEntityManager): Promise<number> {
  return change(
    em,
    query
      .updateTable('outbox')
      .from('outbound_callbacks as c')
      .set({ sentAt: null, notBefore: sql<string>`now()` })
      .where('c.status', '=', pending)
      .where(({ eb, fn }) => eb(fn.coalesce('c.nextAttemptAt', 'c.updatedAt'), '<', tenMinutesAgo))
      .where('outbox.kind', '=', 'workflow.start')
      .where('outbox.dedupeKey', '=', sql<string>`'delivery:' || c.id`)
      .where('outbox.sentAt', '<', tenMinutesAgo),
  );
}

/** Deletes at most `limit` callbacks older than 90 days; returns how many. Sweeper's pool. */
export function eraseCallbacksByAge(em: SqlEntityManager, limit: number): Promise<number> {
  const old = query
    .selectFrom('outbound_callbacks as x')
    .where('x.createdAt', '<', sql<string>`now() - interval '90 days'`)
    .limit(limit);
  return change(em, query.deleteFrom('outbound_callbacks').where(amongRows(old)));
}
