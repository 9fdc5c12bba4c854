import { newId } from '../ids.ts';
import { change, queueStatement, row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { MatchOutcome } from './event-match.entity.ts';
import type { LiveTrigger, StoredEvent } from './match-queries.ts';

/** The outcome of an event for a trigger that starts no run. */
export interface SettledMatch {
  readonly triggerId: string;
  readonly outcome: Extract<MatchOutcome, 'filtered' | 'depth_exceeded' | 'failed'>;
  readonly errorCode: string | null;
  /** The filter accepted the event. */
  readonly isCounted: boolean;
}

/** Stores and counts the outcome of an event for triggers that start nothing; an outcome stored earlier stays. */
export async function insertMatches(tx: TenantTransaction, event: StoredEvent, settled: readonly SettledMatch[]): Promise<void> {
  if (settled.length === 0) return;
  await change(
    tx.em,
    `with given as (select * from jsonb_to_recordset(?::jsonb) as g("id" uuid, "triggerId" uuid, "outcome" text, "errorCode" text, "isCounted" boolean)),
     written as (
       insert into event_matches (id, organization_id, workspace_id, event_id, trigger_id, outcome, error_code, occurred_at)
       select g.id, ?, ?, ?, g."triggerId", g.outcome, g."errorCode", ? from given g order by g."triggerId"
       on conflict (event_id, trigger_id) do nothing returning trigger_id)
     insert into event_trigger_counters (trigger_id, shard, organization_id, workspace_id, n)
     select w.trigger_id, ?, ?, ?, 1 from written w join given g on g."triggerId" = w.trigger_id where g."isCounted" order by w.trigger_id
     on conflict (trigger_id, shard) do update set n = event_trigger_counters.n + 1`,
    [
      JSON.stringify(settled.map((match) => ({ id: newId(), ...match }))),
      event.organizationId,
      event.workspaceId,
      event.id,
      event.occurredAt,
      shardOf(),
      event.organizationId,
      event.workspaceId,
    ],
  );
}

/** A match to be stored before its run is started. */
export interface ClaimedMatch {
  readonly id: string;
  readonly occurredAt: Date;
  readonly bodyBytes: number;
  /** Null: nothing is coalesced. */
  readonly coalesceHash: Buffer | null;
}

/**
 * Claims an event for a trigger, and locks the trigger against changes and deletion until the commit. `taken`: another transaction has claimed it. `changed`:
 * the trigger has changed since it was read, or no longer accepts events. A claimed match counts as failed until it is settled.
 */
export async function claimMatch(
  tx: TenantTransaction,
  { event, trigger }: { readonly event: StoredEvent; readonly trigger: LiveTrigger },
  { id, occurredAt, bodyBytes, coalesceHash }: ClaimedMatch,
): Promise<'claimed' | 'taken' | 'changed'> {
  const found = await row<{ isLive: boolean; isClaimed: boolean }>(
    tx.em,
    `with live as (select t.id from event_triggers t where t.id = ? and t.version = ? and t.is_active and t.deleted_at is null for share),
     claimed as (
       insert into event_matches (id, organization_id, workspace_id, event_id, trigger_id, outcome, occurred_at, body_bytes, coalesce_hash)
       select ?, ?, ?, ?, l.id, 'failed', ?, ?, ? from live l on conflict (event_id, trigger_id) do nothing returning id)
     select exists (select from live) as "isLive", exists (select from claimed) as "isClaimed"`,
    [trigger.id, trigger.version, id, event.organizationId, event.workspaceId, event.id, occurredAt, bodyBytes, coalesceHash],
  );
  if (found?.isClaimed === true) return 'claimed';
  return found?.isLive === true ? 'taken' : 'changed';
}

/** The outcome of a claimed match. */
export interface MatchEnd {
  readonly outcome: MatchOutcome;
  readonly runId?: string | null;
  readonly errorCode?: string | null;
  /** Its run opens a window of its key. */
  readonly opensWindow?: boolean;
}

/** Stores the outcome of a claimed match, and counts it. Goes with the next statement. */
export async function settleMatch(
  tx: TenantTransaction,
  trigger: LiveTrigger,
  id: string,
  { outcome, runId = null, errorCode = null, opensWindow = false }: MatchEnd,
): Promise<void> {
  await queueStatement(
    tx.em,
    `with settled as (
       update event_matches set outcome = ?, run_id = ?, error_code = ?, closed_at = case when ? then clock_timestamp() end where id = ?)
     insert into event_trigger_counters (trigger_id, shard, organization_id, workspace_id, n) values (?, ?, ?, ?, 1)
     on conflict (trigger_id, shard) do update set n = event_trigger_counters.n + 1`,
    [outcome, runId, errorCode, opensWindow, id, trigger.id, shardOf(), trigger.organizationId, trigger.workspaceId],
  );
}

/**
 * Returns how many runs the chain of a root event has started, and locks the root until the commit: runs of one root start one after another. 0 where the root
 * is deleted.
 */
export async function lockRoot(tx: TenantTransaction, rootEventId: string): Promise<number> {
  const found = await row<{ started_runs: number }>(tx.em, 'select e.started_runs from events e where e.id = ? for no key update', [
    rootEventId,
  ]);
  return found?.started_runs ?? 0;
}

/** Counts a run of a locked root. Goes with the next statement. */
export async function countRootRun(tx: TenantTransaction, rootEventId: string): Promise<void> {
  await queueStatement(tx.em, 'update events set started_runs = started_runs + 1 where id = ?', [rootEventId]);
}

/** Records that every trigger of an event has been judged. */
export async function markFannedOut(tx: TenantTransaction, eventId: string): Promise<void> {
  await queueStatement(tx.em, "update events set fan_out = 'done' where id = ? and fan_out = 'pending'", [eventId]);
}

/** Ends a locked group without a run. */
export async function storeMatchesEnd(
  tx: TenantTransaction,
  ids: readonly string[],
  { outcome, errorCode }: { readonly outcome: 'failed' | 'capped'; readonly errorCode: string | null },
): Promise<void> {
  await change(tx.em, 'update event_matches set outcome = ?, error_code = ? where id = any (?::uuid[])', [outcome, errorCode, [...ids]]);
}

const shards = 16;

function shardOf(): number {
  return Math.floor(Math.random() * shards);
}
