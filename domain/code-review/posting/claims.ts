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

/**
 * What an attempt is to do. `done`: it stands at the host. `send`: nobody has tried. `look`: somebody has, and the host says whether it has arrived; only after `settleMs` may it be sent
 * again (`mayResend`), under the claim that was `seen`.
 */
export type PostTurn =
  | { readonly state: 'done'; readonly githubId: string }
  | { readonly state: 'send' }
  | { readonly state: 'look'; readonly since: Date; readonly mayResend: boolean; readonly seen: string };

/** A request whose answer was lost may still be at work at the host: who looks at once does not see what it is about to make. */
export const settleMs = 5_000;

/** Takes an attempt down before its request leaves, by the database's clock. */
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

/** Takes another attempt down, of what the host does not have. False: a later attempt has begun. */
export function resendPost(tx: TenantTransaction, key: PostKey, seen: string): Promise<boolean> {
  return retakePost(tx, key, seen);
}

/** The host has refused the request: nothing has arrived, and the next attempt need not look. */
export function withdrawPost(tx: TenantTransaction, key: PostKey): Promise<void> {
  return releasePost(tx, key);
}

/** It stands at the host. */
export async function endPost(tx: TenantTransaction, key: PostKey, githubId: number): Promise<void> {
  await settlePost(tx, key, githubId);
}

/** It stands at the host, and may be sent again at no harm: nothing was taken down before. */
export function notePosted(
  tx: TenantTransaction,
  place: PostPlace,
  { key, githubId }: { readonly key: PostKey; readonly githubId: number },
): Promise<void> {
  return keepPosted(tx, place, key, githubId);
}
