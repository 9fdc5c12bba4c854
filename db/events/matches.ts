import { sql } from 'kysely';
import { newId } from '../ids.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { recordset, recordsetText } from '../recordset.ts';
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

/** The event of a match, its tenant, and the shard in which it is counted. */
interface MatchPlace {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly eventId: string;
  readonly occurredAt: string;
  readonly shard: number;
}

const oneMore = { n: sql<number>`event_trigger_counters.n + 1` };

const insertAll = prepared(
  ({ settled, organizationId, workspaceId, eventId, occurredAt, shard }: ParametersOf<MatchPlace & { readonly settled: string }>) => {
    const place = [sql<string>`${organizationId}::uuid`.as('organizationId'), sql<string>`${workspaceId}::uuid`.as('workspaceId')] as const;
    const given = recordset<SettledMatch & { readonly id: string }>(settled, {
      id: 'uuid',
      triggerId: 'uuid',
      outcome: 'text',
      errorCode: 'text',
      isCounted: 'boolean',
    });
    return query
      .with('given', (of) => of.selectFrom(given.as('g')).select(['g.id', 'g.triggerId', 'g.outcome', 'g.errorCode', 'g.isCounted']))
      .with('written', (of) =>
        of
          .insertInto('event_matches')
          .columns(['id', 'organizationId', 'workspaceId', 'eventId', 'triggerId', 'outcome', 'errorCode', 'occurredAt'])
          .expression(({ selectFrom }) =>
            selectFrom('given as g')
              .select(['g.id', ...place, sql<string>`${eventId}::uuid`.as('eventId'), 'g.triggerId', 'g.outcome', 'g.errorCode'])
              .select(sql<string>`${occurredAt}::timestamptz`.as('occurredAt'))
              .orderBy('g.triggerId'),
          )
          .onConflict((conflict) => conflict.columns(['eventId', 'triggerId']).doNothing())
          .returning('triggerId'),
      )
      .insertInto('event_trigger_counters')
      .columns(['triggerId', 'shard', 'organizationId', 'workspaceId', 'n'])
      .expression(({ selectFrom }) =>
        selectFrom('written as w')
          .innerJoin('given as g', 'g.triggerId', 'w.triggerId')
          .where('g.isCounted', '=', sql.lit(true))
          .select(['w.triggerId', sql<number>`${shard}::smallint`.as('shard'), ...place, sql.lit(1).as('n')])
          .orderBy('w.triggerId'),
      )
      .onConflict((conflict) => conflict.columns(['triggerId', 'shard']).doUpdateSet(oneMore));
  },
);

/** Stores and counts the outcome of an event for triggers that start nothing; an outcome stored earlier stays. */
export async function insertMatches(tx: TenantTransaction, event: StoredEvent, settled: readonly SettledMatch[]): Promise<void> {
  if (settled.length === 0) return;
  const { id: eventId, organizationId, workspaceId, occurredAt } = event;
  const matches = recordsetText(settled.map((match) => ({ id: newId(), ...match })));
  await change(tx.em, insertAll({ settled: matches, organizationId, workspaceId, eventId, occurredAt, shard: shardOf() }));
}

/** A match to be stored before its run is started. */
export interface ClaimedMatch {
  readonly id: string;
  readonly occurredAt: Date;
  readonly bodyBytes: number;
  /** Null: nothing is coalesced. */
  readonly coalesceHash: Buffer | null;
}

interface Claim extends ClaimedMatch {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly eventId: string;
  readonly triggerId: string;
  readonly version: number;
}

const claim = prepared((match: ParametersOf<Claim>) =>
  query
    .with('live', (of) =>
      of
        .selectFrom('event_triggers as t')
        .where('t.id', '=', match.triggerId)
        .where('t.version', '=', match.version)
        .where('t.isActive', '=', sql.lit(true))
        .where('t.deletedAt', 'is', null)
        .select('t.id')
        .forShare(),
    )
    .with('claimed', (of) =>
      of
        .insertInto('event_matches')
        .columns(['id', 'organizationId', 'workspaceId', 'eventId', 'triggerId', 'outcome', 'occurredAt', 'bodyBytes', 'coalesceHash'])
        .expression(({ selectFrom }) =>
          selectFrom('live as l').select([
            sql<string>`${match.id}::uuid`.as('id'),
            sql<string>`${match.organizationId}::uuid`.as('organizationId'),
            sql<string>`${match.workspaceId}::uuid`.as('workspaceId'),
            sql<string>`${match.eventId}::uuid`.as('eventId'),
            'l.id as triggerId',
            sql.lit('failed').as('outcome'),
            sql<string>`${match.occurredAt}::timestamptz`.as('occurredAt'),
            sql<number>`${match.bodyBytes}::int`.as('bodyBytes'),
            sql<Buffer | null>`${match.coalesceHash}::bytea`.as('coalesceHash'),
          ]),
        )
        .onConflict((conflict) => conflict.columns(['eventId', 'triggerId']).doNothing())
        .returning('id'),
    )
    .selectNoFrom(({ exists, selectFrom }) => [exists(selectFrom('live')).as('isLive'), exists(selectFrom('claimed')).as('isClaimed')]),
);

/**
 * Claims an event for a trigger, and locks the trigger against changes and deletion until the commit. `taken`: another transaction has claimed it. `changed`:
 * the trigger has changed since it was read, or no longer accepts events. A claimed match counts as failed until it is settled.
 */
export async function claimMatch(
  tx: TenantTransaction,
  { event, trigger }: { readonly event: StoredEvent; readonly trigger: LiveTrigger },
  { id, occurredAt, bodyBytes, coalesceHash }: ClaimedMatch,
): Promise<'claimed' | 'taken' | 'changed'> {
  const of = { organizationId: event.organizationId, workspaceId: event.workspaceId, eventId: event.id };
  const { id: triggerId, version } = trigger;
  const found = await row(tx.em, claim({ id, ...of, triggerId, version, occurredAt, bodyBytes, coalesceHash }));
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

interface Settling {
  readonly id: string;
  readonly outcome: MatchOutcome;
  readonly runId: string | null;
  readonly errorCode: string | null;
  readonly opensWindow: true | undefined;
  readonly triggerId: string;
  readonly shard: number;
  readonly organizationId: string;
  readonly workspaceId: string;
}

const settle = prepared(
  ({ id, outcome, runId, errorCode, opensWindow, triggerId, shard, organizationId, workspaceId }: ParametersOf<Settling>) =>
    query
      .with('settled', (of) =>
        of
          .updateTable('event_matches')
          .set({ outcome, runId, errorCode, closedAt: opensWindow ? sql<string>`clock_timestamp()` : null })
          .where('id', '=', id),
      )
      .insertInto('event_trigger_counters')
      .values({ triggerId, shard, organizationId, workspaceId, n: 1 })
      .onConflict((conflict) => conflict.columns(['triggerId', 'shard']).doUpdateSet(oneMore)),
);

/** Stores the outcome of a claimed match, and counts it. Goes with the next statement. */
export async function settleMatch(
  tx: TenantTransaction,
  trigger: LiveTrigger,
  id: string,
  { outcome, runId = null, errorCode = null, opensWindow = false }: MatchEnd,
): Promise<void> {
  const { id: triggerId, organizationId, workspaceId } = trigger;
  const end = { id, outcome, runId, errorCode, opensWindow: opensWindow || undefined };
  await queueStatement(tx.em, settle({ ...end, triggerId, shard: shardOf(), organizationId, workspaceId }));
}

interface OfEvent {
  readonly eventId: string;
}

const lockedRoot = prepared(({ eventId }: ParametersOf<OfEvent>) =>
  query.selectFrom('events as e').where('e.id', '=', eventId).select('e.startedRuns').forNoKeyUpdate(),
);

/**
 * Returns how many runs the chain of a root event has started, and locks the root until the commit: runs of one root start one after another. 0 where the root
 * is deleted.
 */
export async function lockRoot(tx: TenantTransaction, rootEventId: string): Promise<number> {
  return (await row(tx.em, lockedRoot({ eventId: rootEventId })))?.startedRuns ?? 0;
}

const countedRoot = prepared(({ eventId }: ParametersOf<OfEvent>) =>
  query
    .updateTable('events')
    .set(({ eb }) => ({ startedRuns: eb('startedRuns', '+', 1) }))
    .where('id', '=', eventId),
);

/** Counts a run of a locked root. Goes with the next statement. */
export async function countRootRun(tx: TenantTransaction, rootEventId: string): Promise<void> {
  await queueStatement(tx.em, countedRoot({ eventId: rootEventId }));
}

const fannedOut = prepared(({ eventId }: ParametersOf<OfEvent>) =>
  query
    .updateTable('events')
    .set({ fanOut: 'done' })
    .where('id', '=', eventId)
    .where('fanOut', '=', sql.lit('pending' as const)),
);

/** Records that every trigger of an event has been judged. */
export async function markFannedOut(tx: TenantTransaction, eventId: string): Promise<void> {
  await queueStatement(tx.em, fannedOut({ eventId }));
}

/** Ends a locked group without a run. */
export async function storeMatchesEnd(
  tx: TenantTransaction,
  ids: readonly string[],
  { outcome, errorCode }: { readonly outcome: 'failed' | 'capped'; readonly errorCode: string | null },
): Promise<void> {
  await change(
    tx.em,
    query
      .updateTable('event_matches')
      .set({ outcome, errorCode })
      .where(sql<boolean>`id = any (${ids}::uuid[])`),
  );
}

const shards = 16;

function shardOf(): number {
  return Math.floor(Math.random() * shards);
}
