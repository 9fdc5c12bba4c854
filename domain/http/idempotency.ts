import type { Caller } from '../../db/caller.ts';
import {
  deleteUnstored,
  leaseSeconds,
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
import { refuseRank, workspacesOf } from '../../db/caller-scope.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { Role } from '../../workflows/contracts/access.ts';
import { fail } from '../../workflows/contracts/failure.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** A key that a request has reserved, under its lease. */
export interface HeldKey {
  readonly id: string;
  readonly lease: string;
}

/** The state of a request's key: free, so that the request reserves it, or with a stored reply. */
export type KeyClaim = ({ readonly kind: 'mine' } & HeldKey) | { readonly kind: 'stored'; readonly found: IdempotencyRow };

/**
 * Checks the row of a key once; null asks for another check. Throws 422 `idempotency_key_mismatch` for the key of a different request, and 409
 * `idempotency_in_progress` while another request is still using it.
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
  if (!found.isLeaseOver || found.leaseUntil === null) throw fail('idempotency_in_progress', { retryAfterS: waitOf(found) });
  // The holder died after its commit: the reply that it stored stands.
  if (found.status !== null) return { kind: 'stored', found };

  const lease = await takeOverLease(tx.em, found.id, found.leaseUntil);
  return lease ? { kind: 'mine', id: found.id, lease } : null;
}

/**
 * Seconds until a repeat is worth another try: as long as the request has been at work, since most take less than a second, and no longer than its lease. A
 * process that was killed holds the key to the end of the lease.
 */
function waitOf({ leaseLeftS }: IdempotencyRow): number {
  return Math.max(1, Math.min(leaseLeftS, leaseSeconds - leaseLeftS));
}

/**
 * Stores a success with the transaction's next statement, or its commit; throws 409 when another request has taken the lease meanwhile, so that everything
 * rolls back.
 */
export function storeSuccess(
  tx: Tx,
  { id, lease }: HeldKey,
  stored: StoredReply,
  { isFinal }: { readonly isFinal: boolean },
): Promise<void> {
  return queueReply(tx.em, id, lease, stored, isFinal);
}

/** Settles a key with the reply for every repeat; null makes the stand-in final: what was to follow it failed, but its effect stands. */
export function settleKey(tx: Tx, { id, lease }: HeldKey, stored: StoredReply | null): Promise<void> {
  return stored === null ? settleStandIn(tx.em, id, lease) : storeReply(tx.em, id, lease, stored, true);
}

/**
 * Frees a key whose request left nothing to repeat. If there is a stand-in although the request failed, it was committed and the answer to that commit was
 * lost: its effect stands, so it becomes final instead.
 */
export async function releaseKey(tx: Tx, { id, lease }: HeldKey): Promise<void> {
  if (!(await deleteUnstored(tx.em, id, lease))) await settleStandIn(tx.em, id, lease);
}

/**
 * Throws 404 when the caller no longer sees one of the workspaces in a stored reply, 403 when the caller's rank there is now below the floor. A reply that
 * names none (a revision, the test of a tool) belongs to the workspace of its path's row.
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
 * Erases stored replies that show rows being erased, and with a person's those of the person's invitations: a key stays used, and its repeat is 404. In the
 * reply to a batch only what shows a run is replaced, by the error `gone`. Sent with the transaction's next statement, or its commit.
 */
export function forgetReplies(tx: Tx, ids: readonly string[], gone: object = {}): Promise<void> {
  return forget(tx, ids, gone);
}

/** Deletes at most `limit` expired keys; returns the number deleted. Uses the sweeper's pool. */
export function sweepKeys(em: SqlEntityManager, limit: number): Promise<number> {
  return sweepIdempotencyKeys(em, limit);
}
