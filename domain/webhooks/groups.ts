import { newId } from '../../db/ids.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { isWindowOpen, readWaiting, type GroupKey, type WaitingGroup } from '../../db/webhooks/group-queries.ts';
import {
  dropWaiting,
  lockGroup,
  lockKey,
  storeGroupFailure,
  storeGroupRun,
  takeGroup,
  wakeGroup,
  warnOfGroup,
} from '../../db/webhooks/groups.ts';
import type { Hook } from '../../db/webhooks/hooks.ts';
import type { OverdueGroup } from '../../db/webhooks/upkeep.ts';
import type { DeliveryWarning } from '../../db/webhooks/webhook-delivery.entity.ts';
import type { Coalescing } from '../../db/webhooks/webhook-endpoint.entity.ts';
import { Failure } from '../../workflows/contracts/failure.ts';
import type { GroupStep } from '../../workflows/contracts/triggers/webhooks.ts';
import { errorOf } from './deliveries.ts';
import { beginRun, type RunOfHook } from './begin-run.ts';

/** A group whose run is to be started, or what to do instead. */
export type TakenGroup = { readonly state: 'taken'; readonly groupId: string } | Exclude<GroupStep, { readonly state: 'closed' }>;

/** The most bytes of bodies that templates see at once. */
const maxItemBytes = 4 * 1024 * 1024;
const anyNumber = 2_000_000_000;

/**
 * Takes the due group of a key, once among concurrent attempts: a group that was taken and has no outcome comes first. `owner` null: the endpoint or event
 * trigger no longer exists or is inactive, and waiting deliveries are dropped.
 */
export async function takeDueGroup(tx: TenantTransaction, owner: Pick<Hook, 'coalescing'> | null, key: GroupKey): Promise<TakenGroup> {
  await lockKey(tx, key);
  if (!owner) {
    await dropWaiting(tx, key);
    return { state: 'idle' };
  }
  const found = await readWaiting(tx, key);
  if (found.takenGroupId !== null) return { state: 'taken', groupId: found.takenGroupId };
  if (found.waiting === 0) return { state: 'idle' };

  const waitMs = owner.coalescing === null ? 0 : Math.ceil(dueInMs(owner.coalescing, found));
  if (waitMs > 0) return { state: 'waiting', waitMs, isEager: owner.coalescing?.mode === 'batch' };
  const groupId = newId();
  await takeGroup(tx, key, { groupId, ...boundsOf(owner.coalescing) });
  return { state: 'taken', groupId };
}

/** Whether a delivery of a key that has just arrived becomes a run at once: the first one of a throttled window does not wait. */
export async function startsAtOnce(tx: TenantTransaction, coalescing: Coalescing | null, key: GroupKey): Promise<boolean> {
  if (coalescing?.mode !== 'throttle') return false;
  await lockKey(tx, key);
  return isWindowOpen(tx, key, coalescing.windowSeconds);
}

/** Milliseconds until the waiting deliveries of a key are to become a run; 0 or less: now. */
export function dueInMs(coalescing: Coalescing, { waiting, sinceFirstMs, sinceLastMs, sinceStartMs }: WaitingGroup): number {
  const windowMs = coalescing.windowSeconds * 1_000;
  switch (coalescing.mode) {
    case 'debounce':
      return Math.min(windowMs - (sinceLastMs ?? 0), (coalescing.maxWaitSeconds ?? coalescing.windowSeconds) * 1_000 - (sinceFirstMs ?? 0));
    case 'throttle':
      return sinceStartMs === null ? 0 : windowMs - sinceStartMs;
    case 'batch':
      return waiting >= coalescing.maxBatch ? 0 : windowMs - (sinceFirstMs ?? 0);
    default:
      return coalescing.mode satisfies never;
  }
}

/** A batch is bounded by its number; when the data of all deliveries are used they have to fit into templates. The rest forms the next group. */
function boundsOf(coalescing: Coalescing | null): { readonly maxCount: number; readonly maxBytes: number } {
  const isAll = coalescing?.payload === 'all';
  return {
    maxCount: coalescing !== null && (isAll || coalescing.mode === 'batch') ? coalescing.maxBatch : anyNumber,
    maxBytes: isAll ? maxItemBytes : Number.MAX_SAFE_INTEGER,
  };
}

/** The contents of a group's run. */
export interface GroupClose {
  readonly groupId: string;
  /** The deliveries whose data it has, in the order of time. */
  readonly usedIds: readonly string[];
  readonly run: RunOfHook;
  readonly warnings: readonly DeliveryWarning[];
}

/** Starts the run of a taken group, once among concurrent attempts. A refused start fails the group; retryable failures are thrown. */
export async function closeTakenGroup(tx: TenantTransaction, hook: Hook, { groupId, usedIds, run, warnings }: GroupClose): Promise<void> {
  const ids = await lockGroup(tx, 'webhook_deliveries', groupId);
  if (ids.length === 0) return;
  const { outcome, warnings: ofStart } = await beginRun(tx, hook, run);
  if (outcome instanceof Failure) {
    if (outcome.retryable) throw outcome;
    return failLocked(tx, hook, { ids, failure: outcome });
  }
  await warnOfGroup(tx, { usedIds, warnings: [...warnings, ...ofStart] });
  await storeGroupRun(tx, 'webhook_deliveries', { ids, usedIds, runId: outcome.run.id });
}

/** Ends a taken group without a run. */
export async function failTakenGroup(tx: TenantTransaction, hook: Hook, groupId: string, failure: Failure): Promise<void> {
  const ids = await lockGroup(tx, 'webhook_deliveries', groupId);
  if (ids.length > 0) await failLocked(tx, hook, { ids, failure });
}

/** Wakes the workflow of a key whose signal was lost. */
export async function wakeOverdue(tx: TenantTransaction, { table, ownerId, hash, ...place }: OverdueGroup): Promise<void> {
  await wakeGroup(tx, { id: ownerId, ...place }, { table, hash });
}

function failLocked(tx: TenantTransaction, hook: Hook, { ids, failure }: { readonly ids: readonly string[]; readonly failure: Failure }) {
  return storeGroupFailure(tx, hook.id, { ids, error: errorOf(failure) });
}
