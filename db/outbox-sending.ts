import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import type { OutboxMessage, WakeUp } from '../workflows/contracts/outbox.ts';
import { prepared, type ParametersOf } from './prepared.ts';
import { query } from './query.ts';
import { change, iso, rows } from './sql.ts';

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

const returned = [
  'id',
  'payload',
  'attempts',
  'organizationId',
  'createdAt',
  sql<number | null>`(extract(epoch from (payload ->> 'startAt')::timestamptz - clock_timestamp()) * 1000)::float8`.as('startsInMs'),
] as const;

const unsent = prepared(({ ids }: ParametersOf<{ readonly ids: readonly string[] }>) =>
  query
    .selectFrom('outbox')
    .select(returned)
    .where(sql<boolean>`id = any(${ids}::uuid[])`)
    .where('sentAt', 'is', null)
    .orderBy('id'),
);

/** Returns the rows among `ids` that are still unsent, in the order of their creation. */
export async function loadOutbox(em: SqlEntityManager, ids: readonly string[]): Promise<OutboxRow[]> {
  if (ids.length === 0) return [];
  const found = await rows(em, unsent({ ids }));
  return found.map(toOutboxRow);
}

const unsentOfSignal = prepared(({ workflowId, signal }: ParametersOf<Pick<WakeUp, 'workflowId' | 'signal'>>) =>
  query
    .selectFrom('outbox')
    .select('id')
    .where('kind', '=', sql.lit('workflow.start'))
    .where('target', '=', workflowId)
    .where(sql<boolean>`payload ->> 'signal' = ${signal} and payload -> 'startAt' is null`)
    .where('sentAt', 'is', null)
    .where(sql<boolean>`(attempts > 0 or not_before <= now())`),
);

/** Returns the ids of due, unsent rows that wake the same workflow with the same signal: one call settles all of them. */
export async function unsentWakeUps(em: SqlEntityManager, { workflowId, signal }: WakeUp): Promise<string[]> {
  const found = await rows(em, unsentOfSignal({ workflowId, signal }));
  return found.map(({ id }) => id);
}

/** Candidates per row to take, so that relays that take at the same time find rows beyond each other's. */
const choices = 8;

/** Starts of runs, recognized by their keys: the SQL counterpart of `isRunStart`. */
const isStartOfRun = sql<boolean>`(kind = 'workflow.start' and (dedupe_key like 'run:%' or dedupe_key like 'start:%'))`;

interface Take {
  readonly limit: number;
  readonly candidates: number;
  readonly olderThanMs: number;
  readonly withRunStarts: true | undefined;
}

const take = prepared(({ limit, candidates, olderThanMs, withRunStarts }: ParametersOf<Take>) =>
  query
    .with(
      (cte) => cte('turns').materialized(),
      (of) => {
        const due = of
          .selectFrom('outbox')
          .select(['id', 'notBefore'])
          .select(
            sql<number>`row_number() over (partition by coalesce(workspace_id, organization_id) order by ${isStartOfRun}, not_before)`.as(
              'turn',
            ),
          )
          .where('sentAt', 'is', null)
          .where('notBefore', '<=', sql<string>`now()`)
          .where('createdAt', '<=', sql<string>`now() - make_interval(secs => ${olderThanMs}::float8 / 1000)`);
        const taken = withRunStarts ? due : due.where(({ not }) => not(isStartOfRun));
        return taken.orderBy('turn').orderBy('notBefore').limit(candidates);
      },
    )
    .updateTable('outbox')
    .set(({ eb }) => ({
      attempts: eb('attempts', '+', 1),
      notBefore: sql<string>`now() + least(interval '0.5 seconds' * (2 ^ least(attempts, 10)), interval '5 seconds')`,
    }))
    .where('id', 'in', ({ selectFrom }) =>
      selectFrom('outbox as o')
        .innerJoin('turns as t', 't.id', 'o.id')
        .select('o.id')
        .where('o.sentAt', 'is', null)
        .where('o.notBefore', '<=', sql<string>`now()`)
        .orderBy('t.turn')
        .orderBy('t.notBefore')
        .limit(limit)
        .forUpdate('o')
        .skipLocked(),
    )
    .returning(returned),
);

/**
 * Takes due, unsent rows older than `olderThanMs` and leases them: unless marked sent, each is due again after 0.5 s, doubled per attempt, at most 5 s.
 * Workspaces take turns, each with its oldest rows and its starts of runs last, so that ten thousand starts in one workspace delay neither other workspaces
 * nor that workspace's own cancels. Without `withRunStarts`, starts of runs are skipped. Rows that another relay is taking are passed over. Sweeper's pool.
 */
export async function takeDueOutbox(
  em: SqlEntityManager,
  { limit, olderThanMs, withRunStarts }: { limit: number; olderThanMs: number; withRunStarts: boolean },
): Promise<OutboxRow[]> {
  const taken = await rows(em, take({ limit, candidates: limit * choices, olderThanMs, withRunStarts: withRunStarts || undefined }));
  return taken.map(toOutboxRow).toSorted((left, right) => (left.id < right.id ? -1 : 1));
}

const markSent = prepared(({ ids }: ParametersOf<{ readonly ids: readonly string[] }>) =>
  query
    .updateTable('outbox')
    .set({ sentAt: sql<string>`now()`, lastError: null })
    .where(sql<boolean>`id = any(${ids}::uuid[])`)
    .where('sentAt', 'is', null),
);

/** Records that rows were sent. One that was withdrawn meanwhile keeps that state. */
export async function markOutboxSent(em: SqlEntityManager, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await change(em, markSent({ ids }));
}

/**
 * Makes the starts of mail deliveries that have reported no outcome due again: Temporal may have lost them. A delivery that is running or finished is not
 * started twice. No mail is tried for longer than a day. Sweeper's pool.
 */
export async function resendMails(em: SqlEntityManager): Promise<void> {
  await change(
    em,
    query
      .updateTable('outbox')
      .set({ sentAt: null, notBefore: sql<string>`now()` })
      .where('kind', '=', sql.lit('mail'))
      .where('sentAt', '<', sql<string>`now() - interval '10 minutes'`)
      .where('createdAt', '>', sql<string>`now() - interval '25 hours'`)
      .where(sql<boolean>`payload -> 'settled' is null`),
  );
}

/** Stores why a row could not be sent. A row that was sent or withdrawn while the try was under way keeps that state. */
export async function markOutboxFailed(em: SqlEntityManager, id: string, error: string): Promise<void> {
  const failed = query
    .updateTable('outbox')
    .set({ lastError: error.slice(0, 500) })
    .where('id', '=', id)
    .where('sentAt', 'is', null);
  await change(em, failed);
}

/**
 * Deletes at most `limit` rows that were sent more than 24 hours ago; returns their number. A mail's row is needed as long as its delivery may still try:
 * an unsettled one stays for a week.
 */
export async function sweepOutbox(em: SqlEntityManager, limit: number): Promise<number> {
  const over = query
    .selectFrom('outbox')
    .select('id')
    .where('sentAt', '<', sql<string>`now() - interval '24 hours'`)
    .where(sql<boolean>`(kind <> 'mail' or payload -> 'settled' is not null or sent_at < now() - interval '7 days')`)
    .limit(limit);
  return change(em, query.deleteFrom('outbox').where('id', 'in', over));
}

function toOutboxRow({ id, payload, attempts, organizationId, createdAt, startsInMs }: StoredRow): OutboxRow {
  return {
    id,
    kind: payload.kind,
    message: payload,
    attempts,
    organizationId,
    createdAt: new Date(iso(createdAt)),
    startsAtMs: startsInMs === null ? null : performance.now() + startsInMs,
  };
}

type StoredRow = NonNullable<ReturnType<typeof unsent>['rowType']>;
