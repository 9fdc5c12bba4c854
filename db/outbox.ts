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
   * When its workflow is to begin, on this process's monotonic clock (`performance.now()`, ms); null: at once. The database says how long that is,
   * since the wall clock of a process may jump.
   */
  readonly startsAtMs: number | null;
}

export interface OutboxOptions {
  /** Id of the row; made here unless something was derived from it before. */
  readonly id?: string;
  /** One row a kind and key, for ever (or until it is swept): a second one changes nothing. */
  readonly dedupeKey: string;
  /** Not sent before; it then waits for the relay. */
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

/**
 * Writes what leaves the process after the commit and notes it in `tx.outgoing`. Gives the id, or null when the key was written before.
 */
export async function addOutbox(
  tx: TenantTransaction,
  message: OutboxMessage,
  { id = newId(), dedupeKey, notBefore }: OutboxOptions,
): Promise<string | null> {
  const [organizationId, workspaceId] = homeOf(tx, message);
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

/** Several messages at once, each under its own key, in one statement. Gives the ids of those that were not written before. */
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

/** The row of a message, for a statement that writes it beside others and notes its id in `tx.outgoing`. Its other columns have defaults. */
export function outboxRow(tx: TenantTransaction, { message, dedupeKey }: OutboxDraft) {
  const [organizationId, workspaceId] = homeOf(tx, message);
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

/** The rows among `ids` that are still unsent, in the order of making. */
export async function loadOutbox(em: SqlEntityManager, ids: readonly string[]): Promise<OutboxRow[]> {
  if (ids.length === 0) return [];
  const found = await rows<StoredRow>(em, `select ${returned} from outbox where id = any(?::uuid[]) and sent_at is null order by id`, [
    ids,
  ]);
  return found.map(toOutboxRow);
}

/** Ids of the unsent rows that are due and wake the same workflow by the same signal: one call settles all of them. */
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

/** Relays that take at the same time find rows beyond those of each other. */
const choices = 8;

/** Starts of runs, by their keys: what `isRunStart` says of a message. */
const isRunStartSql = "(kind = 'workflow.start' and (dedupe_key like 'run:%' or dedupe_key like 'start:%'))";

/**
 * Takes unsent rows that are due and older than `olderThanMs`, and leases them: each is due again after 0.5 s × 2 per attempt, at most 5 s, unless
 * it is marked sent. Workspaces take turns, each with its oldest rows, starts of runs last, so that ten thousand of one keep neither others waiting
 * nor their own cancels; without `withRunStarts` they are left. Rows that another relay is taking are passed over. Sweeper's pool.
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

/** Takes back starts, by their keys, that nobody has sent yet: what they would start is not wanted any more. It goes with the next statement. */
export async function withdrawStarts(tx: TenantTransaction, dedupeKeys: readonly string[]): Promise<void> {
  await queueStatement(
    tx.em,
    "update outbox set sent_at = now(), last_error = 'withdrawn' where kind = 'workflow.start' and dedupe_key = any (?::text[]) and sent_at is null",
    [[...dedupeKeys]],
  );
}

/**
 * Has the starts of deliveries sent again that have not said their end: Temporal may have lost them. One that is at work, or is over, is not started
 * twice. No mail is tried for longer than a day. Sweeper's pool.
 */
export async function resendMails(em: SqlEntityManager): Promise<void> {
  await change(
    em,
    `update outbox set sent_at = null, not_before = now()
      where kind = 'mail' and sent_at < now() - interval '10 minutes' and created_at > now() - interval '25 hours' and payload -> 'settled' is null`,
    [],
  );
}

/** Keeps why a row could not be sent. One that was sent or taken back while the try was under way keeps its end. */
export async function markOutboxFailed(em: SqlEntityManager, id: string, error: string): Promise<void> {
  await change(em, 'update outbox set last_error = ? where id = ? and sent_at is null', [error.slice(0, 500), id]);
}

/**
 * Deletes at most `limit` rows that were sent more than 24 hours ago; gives how many. A mail's row is needed as long as its delivery may
 * still try: one that has not been settled stays for a week.
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

// A start belongs to the tenant of its workflow, a mail to that of its reader; the others to the transaction's.
function homeOf(tx: TenantTransaction, message: OutboxMessage): [string | null, string | null] {
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
