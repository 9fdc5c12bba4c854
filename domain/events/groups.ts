import type { LiveTrigger } from '../../db/events/match-queries.ts';
import { storeMatchesEnd } from '../../db/events/matches.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { lockGroup, storeGroupRun } from '../../db/webhooks/groups.ts';
import type { Failure } from '../../workflows/contracts/failure.ts';
import { beginEventRun, errorCodeOf, type EventRun } from './fan-out.ts';

/** The contents of the run for a group of events. */
export interface EventGroupClose {
  readonly groupId: string;
  /** The matches whose data it has, in the order of time. */
  readonly usedIds: readonly string[];
  readonly run: EventRun;
}

/** Starts the run of a taken group of events, once among concurrent attempts. A refused start ends the group; retryable failures are thrown. */
export async function closeEventGroup(
  tx: TenantTransaction,
  trigger: LiveTrigger,
  { groupId, usedIds, run }: EventGroupClose,
): Promise<void> {
  const ids = await lockGroup(tx, 'event_matches', groupId);
  if (ids.length === 0) return;
  const begun = await beginEventRun(tx, trigger, run);
  if (begun.outcome === 'started') await storeGroupRun(tx, 'event_matches', { ids, usedIds, runId: begun.runId });
  else await storeMatchesEnd(tx, ids, begun);
}

/** Ends a taken group without a run. */
export async function failEventGroup(tx: TenantTransaction, groupId: string, failure: Failure): Promise<void> {
  const ids = await lockGroup(tx, 'event_matches', groupId);
  if (ids.length > 0) await storeMatchesEnd(tx, ids, { outcome: 'failed', errorCode: errorCodeOf(failure) });
}
