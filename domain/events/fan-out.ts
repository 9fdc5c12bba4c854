import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { resendFanOuts } from '../../db/events/upkeep.ts';
import type { EventCause, LiveTrigger, StoredEvent } from '../../db/events/match-queries.ts';
import {
  claimMatch,
  countRootRun,
  insertMatches,
  lockRoot,
  markFannedOut,
  settleMatch,
  type SettledMatch,
} from '../../db/events/matches.ts';
import { newId } from '../../db/ids.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { wakeGroup } from '../../db/webhooks/groups.ts';
import { Failure, fail } from '../../workflows/contracts/failure.ts';
import { startsAtOnce } from '../webhooks/groups.ts';
import { beginRunOf, type FilledTexts, type RunOrigin } from '../webhooks/begin-run.ts';
import { FilterError, meetsFilter } from './filter.ts';

/** The most runs that the chain of one root event starts. */
export const maxRunsOfRoot = 200;

/** The outcome of an event that starts nothing for a trigger. */
export type Judgement =
  | { readonly outcome: 'depth_exceeded' | 'filtered'; readonly errorCode: null; readonly isCounted: false }
  | { readonly outcome: 'failed'; readonly errorCode: string; readonly isCounted: false };

/** Judges an event by the depth and the filter of a trigger; null: it passes. */
export function judgeEvent(event: StoredEvent, { maxDepth, filter }: Pick<LiveTrigger, 'maxDepth' | 'filter'>): Judgement | null {
  if (event.depth >= maxDepth) return { outcome: 'depth_exceeded', errorCode: null, isCounted: false };
  try {
    return meetsFilter(filter, seenEvent(event)) ? null : { outcome: 'filtered', errorCode: null, isCounted: false };
  } catch (error) {
    if (!(error instanceof FilterError)) throw error;
    return { outcome: 'failed', errorCode: 'filter_error', isCounted: false };
  }
}

/** An event as filters and templates see it. */
export function seenEvent(event: StoredEvent): Record<string, unknown> {
  return {
    id: event.id,
    event_kind: event.eventKind,
    source: event.source,
    subject: event.subject,
    payload: event.payload,
    depth: event.depth,
    root_event_id: event.rootEventId,
    cause_run_id: event.causeRunId,
    occurred_at: event.occurredAt,
  };
}

/** Writes the outcomes of an event for triggers that start nothing; `isDone`: every trigger of its kind has been judged. */
export async function settleEvent(
  tx: TenantTransaction,
  event: StoredEvent,
  { settled, isDone }: { readonly settled: readonly SettledMatch[]; readonly isDone: boolean },
): Promise<void> {
  await insertMatches(tx, event, settled);
  if (isDone) await markFannedOut(tx, event.id);
}

/** The run to be started for an event that has passed a trigger. */
export interface MatchStart {
  readonly event: StoredEvent;
  readonly trigger: LiveTrigger;
  /** Null when no run is caused by this event alone. */
  readonly texts: FilledTexts | null;
  /** Hash of the key by which it is coalesced with others; null: it is not. */
  readonly coalesceHash: Buffer | null;
  /** Decides which of a group is first and last. */
  readonly occurredAt: Date;
  /** Currency in which the deployment prices usage. */
  readonly currency: string;
}

/**
 * Starts the run of an event for a trigger, or lets it wait for others of its key: once, whoever repeats it. `changed`: the trigger has changed meanwhile.
 * Throws retryable failures; nothing is written then.
 */
export async function startMatch(tx: TenantTransaction, start: MatchStart): Promise<'done' | 'changed'> {
  const { event, trigger, coalesceHash, occurredAt } = start;
  const id = newId();
  const bodyBytes = coalesceHash === null ? 0 : Buffer.byteLength(JSON.stringify(event.payload));
  const claim = await claimMatch(tx, start, { id, occurredAt, bodyBytes, coalesceHash });
  if (claim !== 'claimed') return claim === 'taken' ? 'done' : 'changed';

  const key = coalesceHash && ({ table: 'event_matches', ownerId: trigger.id, hash: coalesceHash } as const);
  if (key !== null && !(await startsAtOnce(tx, trigger.coalescing, key))) {
    await settleMatch(tx, trigger, id, { outcome: 'coalescing' });
    await wakeGroup(tx, trigger, key);
    return 'done';
  }
  if (start.texts === null) throw new Error('an event that starts a run has no texts');
  const begun = await beginEventRun(tx, trigger, { cause: event, texts: start.texts, currency: start.currency });
  await settleMatch(tx, trigger, id, { ...begun, opensWindow: begun.outcome === 'started' && coalesceHash !== null });
  return 'done';
}

/** The contents of a trigger's run. */
export interface EventRun {
  readonly cause: EventCause;
  readonly texts: FilledTexts;
  /** Currency in which the deployment prices usage. */
  readonly currency: string;
}

/** The outcome of a trigger's run. */
export type BegunEventRun =
  | { readonly outcome: 'started'; readonly runId: string; readonly errorCode: null }
  | { readonly outcome: 'capped'; readonly runId: null; readonly errorCode: null }
  | { readonly outcome: 'failed'; readonly runId: null; readonly errorCode: string };

/** Starts a run of a trigger, one level deeper in the chain of its root, which starts at most 200. Throws retryable failures. */
export async function beginEventRun(
  tx: TenantTransaction,
  trigger: LiveTrigger,
  { cause, texts, currency }: EventRun,
): Promise<BegunEventRun> {
  if ((await lockRoot(tx, cause.rootEventId)) >= maxRunsOfRoot) return { outcome: 'capped', runId: null, errorCode: null };
  // The sender was not verified, so the event must not name a user.
  const outcome =
    texts.subject?.kind === 'user' && cause.maxEffect === 'read'
      ? fail('state_conflict', { reason: 'subject_unknown' })
      : (await beginRunOf(tx, originOf(trigger, cause), { texts, currency })).outcome;
  if (outcome instanceof Failure) {
    if (outcome.retryable) throw outcome;
    return { outcome: 'failed', runId: null, errorCode: errorCodeOf(outcome) };
  }
  await countRootRun(tx, cause.rootEventId);
  return { outcome: 'started', runId: outcome.run.id, errorCode: null };
}

/** The stored form of the failure that ended a match: its reason, else its code. */
export function errorCodeOf({ code, context }: Failure): string {
  const { reason } = context;
  return typeof reason === 'string' ? reason : code;
}

function originOf({ id, organizationId, workspaceId, agentId }: LiveTrigger, cause: EventCause): RunOrigin {
  const { rootEventId, depth, untrusted, maxEffect, hops } = cause;
  return {
    ...{ id, organizationId, workspaceId, agentId },
    source: 'event',
    cause: { rootEventId, eventDepth: depth + 1, untrusted, maxEffect, hops },
  };
}

/** Restarts fan-outs whose workflows Temporal may have lost; returns how many. Uses the sweeper's pool. */
export function restartLostFanOuts(em: SqlEntityManager): Promise<number> {
  return resendFanOuts(em);
}
