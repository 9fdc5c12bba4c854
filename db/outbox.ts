import { followedTime } from './database-clock.ts';
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { OutboxMessage, WakeUp } from '../workflows/contracts/outbox.ts';
import { newId } from './ids.ts';
import { change, iso, rows, queueStatement } from './sql.ts';
import type { TenantTransaction } from './tenant-transaction.ts';

/** An unsent message as the sender gets it. */
export interface OutboxRow {
  readonly id: string;
  readonly kind: OutboxMessage['kind'];
  readonly message: OutboxMessage;
  readonly attempts: number;
  readonly organizationId: string | null;
  readonly createdAt: Date;
  /**
   * When its workflow is to begin, on this process's monotonic clock (`performance.now()`, ms); null: at once. The database computes the remaining time,
   * since a process's wall clock may jump.
   */
  readonly startsAtMs: number | null;
}

export interface OutboxOptions {
  /** Id of the row; generated here unless something was already derived from it. */
  readonly id?: string;
  /** One row per kind and key until that row is swept: writing the key again changes nothing. */
  readonly dedupeKey: string;
  /** The message is not sent before this time; the outbox relay then sends it. */
  readonly notBefore?: Date;
}

interface StoredRow {
  readonly id: string;
  readonly payload: OutboxMessage;
  readonly attempts: number;
  readonly organization_id: string | null;
  readonly created_at: string;
  readonly starts_in_ms: number | null;
}

const returned = `id, payload, attempts, organization_id, created_at,
  (extract(epoch from (payload ->> 'startAt')::timestamptz - clock_timestamp()) * 1000)::float8 as starts_in_ms`;

/** Writes a message that leaves the process after the commit and records it in `tx.outgoing`. Returns the id, or null when the key was already written. */
export async function addOutbox(
  tx: TenantTransaction,
  message: OutboxMessage,
  { id = newId(), dedupeKey, notBefore }: OutboxOptions,
): Promise<string | null> {
  const [organizationId, workspaceId] = rowScopeOf(tx, message);
  const written = await change(
    tx.em,
    `insert into outbox (id, organization_id, workspace_id, kind, dedupe_key, target, payload, not_before)
     values (?, ?, ?, ?, ?, ?, ?::jsonb, coalesce(?::timestamptz, now())) on conflict do nothing`,
    [id, organizationId, workspaceId, message.kind, dedupeKey, message.workflowId, JSON.stringify(message), notBefore ?? null],
  );
  if (written === 0) return null;

  if (!notBefore || notBefore <= followedTime(tx.em)) tx.outgoing.outboxIds.push(id);
  return id;
}

interface OutboxDraft {
  readonly message: OutboxMessage;
  readonly dedupeKey: string;
}

/** Writes several messages in one statement, each under its own key. Returns the ids of those that were not already written. */
export async function addOutboxAll(tx: TenantTransaction, entries: readonly OutboxDraft[]): Promise<string[]> {
  if (entries.length === 0) return [];
  const written = await rows<{ id: string }>(tx.em, `${insertAll} returning id`, [
    JSON.stringify(entries.map((entry) => outboxRow(tx, entry))),
  ]);
  const ids = written.map(({ id }) => id);
  tx.outgoing.outboxIds.push(...ids);
  return ids;
}

const insertAll = `insert into outbox (id, organization_id, workspace_id, kind, dedupe_key, target, payload, not_before)
  select d.id, d.organization_id, d.workspace_id, d.kind, d.dedupe_key, d.target, d.payload, now()
    from jsonb_to_recordset(?::jsonb) as d(id uuid, organization_id uuid, workspace_id uuid, kind text, dedupe_key text, target text, payload jsonb)
  on conflict do nothing`;

/** Returns a message's row for a statement that writes it along with others and records its id in `tx.outgoing`. The remaining columns have defaults. */
export function outboxRow(tx: TenantTransaction, { message, dedupeKey }: OutboxDraft) {
  const [organizationId, workspaceId] = rowScopeOf(tx, message);
  return {
    id: newId(),
    organization_id: organizationId,
    workspace_id: workspaceId,
    kind: message.kind,
    dedupe_key: dedupeKey,
    target: message.workflowId,
    payload: message,
  };
}

/** Returns the rows among `ids` that are still unsent, in the order of their creation. */
export async function loadOutbox(em: SqlEntityManager, ids: readonly string[]): Promise<OutboxRow[]> {
  if (ids.length === 0) return [];
  const found = await rows<StoredRow>(em, `select ${returned} from outbox where id = any(?::uuid[]) and sent_at is null order by id`, [
    ids,
  ]);
  return found.map(toOutboxRow);
}

/** Returns the ids of due, unsent rows that wake the same workflow with the same signal: one call settles all of them. */
export async function unsentWakeUps(em: SqlEntityManager, { workflowId, signal }: WakeUp): Promise<string[]> {
  const found = await rows<{ id: string }>(
    em,
    `select id from outbox
      where kind = 'workflow.start' and target = ? and payload ->> 'signal' = ? and payload -> 'startAt' is null
        and sent_at is null and (attempts > 0 or not_before <= now())`,
    [workflowId, signal],
  );
  return found.map(({ id }) => id);
}

/** Candidates per row to take, so that relays that take at the same time find rows beyond each other's. */
const choices = 8;

/** Starts of runs, recognized by their keys: the SQL counterpart of `isRunStart`. */
const isRunStartSql = "(kind = 'workflow.start' and (dedupe_key like 'run:%' or dedupe_key like 'start:%'))";

/**
 * Takes due, unsent rows older than `olderThanMs` and leases them: unless marked sent, each is due again after 0.5 s, doubled per attempt, at most 5 s.
 * Workspaces take turns, each with its oldest rows and its starts of runs last, so that ten thousand starts in one workspace delay neither other workspaces
 * nor that workspace's own cancels. Without `withRunStarts`, starts of runs are skipped. Rows that another relay is taking are passed over. Sweeper's pool.
 */
export async function takeDueOutbox(
  em: SqlEntityManager,
  { limit, olderThanMs, withRunStarts }: { limit: number; olderThanMs: number; withRunStarts: boolean },
): Promise<OutboxRow[]> {
  const taken = await rows<StoredRow>(
    em,
    `with turns as materialized (
       select id, not_before,
              row_number() over (partition by coalesce(workspace_id, organization_id) order by ${isRunStartSql}, not_before) as turn from outbox
        where sent_at is null and not_before <= now() and created_at <= now() - make_interval(secs => ?::float8 / 1000)
          ${withRunStarts ? '' : `and not ${isRunStartSql}`}
        order by turn, not_before limit ?)
     update outbox set attempts = attempts + 1,
       not_before = now() + least(interval '0.5 seconds' * (2 ^ least(attempts, 10)), interval '5 seconds')
     where id in (
       select o.id from outbox o join turns t on t.id = o.id
       where o.sent_at is null and o.not_before <= now()
       order by t.turn, t.not_before limit ? for update of o skip locked)
     returning ${returned}`,
    [olderThanMs, limit * choices, limit],
  );
  return taken.map(toOutboxRow).toSorted((left, right) => (left.id < right.id ? -1 : 1));
}

export async function markOutboxSent(em: SqlEntityManager, ids: readonly string[]): Promise<void> {
  if (ids.length > 0)
    await change(em, 'update outbox set sent_at = now(), last_error = null where id = any(?::uuid[]) and sent_at is null', [ids]);
}

/** Withdraws unsent starts, by their keys, when what they would start is no longer wanted. The statement goes with the next one. */
export async function withdrawStarts(tx: TenantTransaction, dedupeKeys: readonly string[]): Promise<void> {
  await queueStatement(
    tx.em,
    "update outbox set sent_at = now(), last_error = 'withdrawn' where kind = 'workflow.start' and dedupe_key = any (?::text[]) and sent_at is null",
    [[...dedupeKeys]],
  );
}

/**
 * Makes the starts of mail deliveries that have reported no outcome due again: Temporal may have lost them. A delivery that is running or finished is not
 * started twice. No mail is tried for longer than a day. Sweeper's pool.
 */
export async function resendMails(em: SqlEntityManager): Promise<void> {
  await change(
    em,
    `update outbox set sent_at = null, not_before = now()
      where kind = 'mail' and sent_at < now() - interval '10 minutes' and created_at > now() - interval '25 hours' and payload -> 'settled' is null`,
    [],
  );
}

/** Stores why a row could not be sent. A row that was sent or withdrawn while the try was under way keeps that state. */
export async function markOutboxFailed(em: SqlEntityManager, id: string, error: string): Promise<void> {
  await change(em, 'update outbox set last_error = ? where id = ? and sent_at is null', [error.slice(0, 500), id]);
}

/**
 * Deletes at most `limit` rows that were sent more than 24 hours ago; returns their number. A mail's row is needed as long as its delivery may still try:
 * an unsettled one stays for a week.
 */
export async function sweepOutbox(em: SqlEntityManager, limit: number): Promise<number> {
  return change(
    em,
    `delete from outbox where id in (
       select id from outbox where sent_at < now() - interval '24 hours'
         and (kind <> 'mail' or payload -> 'settled' is not null or sent_at < now() - interval '7 days')
       limit ?)`,
    [limit],
  );
}

// A start belongs to the tenant of its workflow, a mail to the tenant of its recipient; other messages to the transaction's tenant.
function rowScopeOf(tx: TenantTransaction, message: OutboxMessage): [string | null, string | null] {
  if (message.kind === 'workflow.start' || message.kind === 'mail') return [message.organizationId, message.workspaceId];
  const { organizationId, workspaceIds, hasAllWorkspaces } = tx.tenant;
  return [organizationId, organizationId && !hasAllWorkspaces && workspaceIds.length === 1 ? (workspaceIds[0] ?? null) : null];
}

function toOutboxRow(stored: StoredRow): OutboxRow {
  return {
    id: stored.id,
    kind: stored.payload.kind,
    message: stored.payload,
    attempts: stored.attempts,
    organizationId: stored.organization_id,
    createdAt: new Date(iso(stored.created_at)),
    startsAtMs: stored.starts_in_ms === null ? null : performance.now() + stored.starts_in_ms,
  };
}
