import { putReadingOff, readAgainAfter, storeReactions, type CommentReactions } from '../../db/code-review/findings/reactions.ts';
import { lockPullRow } from '../../db/code-review/findings/write-ledger.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';

/** People look at a pull request for so many days after it was closed. */
const daysRead = 7;
/** Where the host can't be asked at their end, it is asked for another day. */
const daysTried = 8;

/** What the host says of the reactions to a closed pull request. `unknown`: it could not be asked, and may be later. */
export type ReadReactions = { readonly kind: 'known'; readonly comments: readonly CommentReactions[] } | { readonly kind: 'unknown' };

/** Writes down what was read of a closed pull request's reactions, and when they are read next: once more a week after it was closed. A repeat counts the same again. */
export async function keepReactions(tx: TenantTransaction, pullRequestId: string, read: ReadReactions): Promise<void> {
  await lockPullRow(tx, pullRequestId);
  if (read.kind === 'unknown') return putReadingOff(tx, pullRequestId, daysTried);
  await storeReactions(tx, pullRequestId, read.comments);
  await readAgainAfter(tx, pullRequestId, daysRead);
}
