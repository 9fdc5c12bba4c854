import {
  claimPost,
  keepPosted,
  releasePost,
  retakePost,
  settlePost,
  type PostKey,
  type PostPlace,
} from '../../../db/code-review/posts/posts.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { lockForCancel } from '../../runs/end/cancel-locked.ts';
import { cancelAndClose } from '../../runs/end/cancel-run.ts';

/**
 * What an attempt has to do. `done`: the post exists at the host. `send`: no attempt was made before. `look`: an attempt was made, and the host knows whether
 * it has arrived; only after `settleMs` may the post be sent again (`mayResend`), under the claim that was `seen`.
 */
export type PostTurn =
  | { readonly state: 'done'; readonly githubId: string }
  | { readonly state: 'send' }
  | { readonly state: 'look'; readonly since: Date; readonly mayResend: boolean; readonly seen: string };

/** The host may still be processing a request whose answer was lost: a check made at once would not see the result. */
export const settleMs = 5_000;

/** Records an attempt before its request leaves, by the database's clock. */
export async function beginPost(tx: TenantTransaction, place: PostPlace, key: PostKey): Promise<PostTurn> {
  const claim = await claimPost(tx, place, key);
  switch (claim.state) {
    case 'posted':
      return { state: 'done', githubId: claim.githubId };
    case 'fresh':
      return { state: 'send' };
    case 'sending':
      return { state: 'look', since: claim.since, mayResend: claim.ageMs >= settleMs, seen: claim.seen };
    default:
      return claim satisfies never;
  }
}

/** Records another attempt for a post that the host does not have. Returns false when a later attempt has begun. */
export function resendPost(tx: TenantTransaction, key: PostKey, seen: string): Promise<boolean> {
  return retakePost(tx, key, seen);
}

/** Records that the host has refused the request: nothing has arrived, and the next attempt need not check. */
export function withdrawPost(tx: TenantTransaction, key: PostKey): Promise<void> {
  return releasePost(tx, key);
}

/** Records that the post exists at the host. */
export async function endPost(tx: TenantTransaction, key: PostKey, githubId: number): Promise<void> {
  await settlePost(tx, key, githubId);
}

/** Records that the post exists at the host, for a post that may be repeated without harm: no attempt was recorded before. */
export function recordPosted(
  tx: TenantTransaction,
  place: PostPlace,
  { key, githubId }: { readonly key: PostKey; readonly githubId: number },
): Promise<void> {
  return keepPosted(tx, place, key, githubId);
}

/** Cancels a run whose review is not posted: its pull request has a newer head, or is closed. A run that has ended stays as it is. */
export async function withdrawReview(
  tx: TenantTransaction,
  runId: string,
  { isSuperseded }: { readonly isSuperseded: boolean },
): Promise<void> {
  const locked = await lockForCancel(tx, [runId]);
  const reason = isSuperseded ? 'superseded' : null;
  await cancelAndClose(tx, { ...locked, runIds: [runId] }, { policy: 'interrupt', reason, isSuperseded });
}
