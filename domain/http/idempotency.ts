import type { Caller } from '../../db/caller.ts';
import {
  deleteUnstored,
  forgetReplies as forget,
  removeExpiredKey,
  reserveKey,
  settleStandIn,
  storeReply,
  queueReply,
  sweepIdempotencyKeys,
  takeOverLease,
  type IdempotencyRow,
  type KeySpace,
  type StoredReply,
} from '../../db/http/idempotency.ts';
import { placesOfPath } from '../../db/http/stored-replies.ts';
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { refuseRank, workspacesOf } from '../../db/reach.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { Role } from '../../workflows/contracts/access.ts';
import { fail } from '../../workflows/contracts/failure.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** A key that a request holds, under its lease. */
export interface HeldKey {
  readonly id: string;
  readonly lease: string;
}

/** What a request finds under its key: nothing, so that the key is its own, or what was stored. */
export type KeyClaim = ({ readonly kind: 'mine' } & HeldKey) | { readonly kind: 'stored'; readonly found: IdempotencyRow };

/**
 * One look at the row of a key; null asks for another. Throws 422 `idempotency_key_mismatch` for another request's key, and 409
 * `idempotency_in_progress` while a rival is still at it.
 */
export async function claimKey(tx: Tx, scope: KeySpace, fingerprint: Buffer): Promise<KeyClaim | null> {
  const found = await reserveKey(tx.em, scope, fingerprint);
  if (!found) return null;
  if (found.isMine && found.leaseUntil) return { kind: 'mine', id: found.id, lease: found.leaseUntil };
  if (found.isExpired) {
    await removeExpiredKey(tx.em, found.id);
    return null;
  }
  if (!found.fingerprint.equals(fingerprint)) throw fail('idempotency_key_mismatch');
  if (found.state === 'done') return { kind: 'stored', found };
  if (!found.isLeaseOver || found.leaseUntil === null) throw fail('idempotency_in_progress', { retryAfterS: 1 });
  // The holder died after its commit: what it stored stands.
  if (found.status !== null) return { kind: 'stored', found };

  const lease = await takeOverLease(tx.em, found.id, found.leaseUntil);
  return lease ? { kind: 'mine', id: found.id, lease } : null;
}

/** Stores a success with the transaction's next statement, or its commit; 409 when the lease went to another meanwhile, so that all of it rolls back. */
export function storeSuccess(
  tx: Tx,
  { id, lease }: HeldKey,
  stored: StoredReply,
  { isFinal }: { readonly isFinal: boolean },
): Promise<void> {
  return queueReply(tx.em, id, lease, stored, isFinal);
}

/** Settles a key by what every repeat gets; null makes the stand-in final: what was to follow it failed, but its effect stands. */
export function settleKey(tx: Tx, { id, lease }: HeldKey, stored: StoredReply | null): Promise<void> {
  return stored === null ? settleStandIn(tx.em, id, lease) : storeReply(tx.em, id, lease, stored, true);
}

/**
 * Gives a key free whose request left nothing to repeat. A stand-in that is there although the request failed was committed, and the answer
 * to that commit lost: its effect stands, so it becomes final instead.
 */
export async function releaseKey(tx: Tx, { id, lease }: HeldKey): Promise<void> {
  if (!(await deleteUnstored(tx.em, id, lease))) await settleStandIn(tx.em, id, lease);
}

/**
 * 404 where the caller no longer sees one of the workspaces that a stored reply tells of, 403 where its rank there is below the floor now. A reply that
 * names none (a revision, the test of a tool) lies where the row of its path lies.
 */
export async function refuseLostPlaces(
  tx: Tx,
  caller: Caller,
  { named, params, floor }: { readonly named: ReadonlySet<string>; readonly params: unknown; readonly floor: Role | null },
): Promise<void> {
  const seen = workspacesOf(caller);
  for (const workspaceId of named.size > 0 ? named : await placesOfPath(tx.em, params)) {
    if (seen !== null && !seen.includes(workspaceId)) throw fail('not_found');
    refuseRank(caller, workspaceId, floor);
  }
}

/**
 * Forgets the stored replies that show rows which are being erased, and with a person's those of their invitations: a key stays used, and its repeat is 404.
 * Of the reply to a batch only what shows a run goes; `gone` is the error in its place. Leaves with the transaction's next statement, or its commit.
 */
export function forgetReplies(tx: Tx, ids: readonly string[], gone: object = {}): Promise<void> {
  return forget(tx, ids, gone);
}

/** Deletes keys past their end, at most `limit`; the number deleted. Sweeper's pool. */
export function sweepKeys(em: SqlEntityManager, limit: number): Promise<number> {
  return sweepIdempotencyKeys(em, limit);
}
