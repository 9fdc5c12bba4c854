import { putReadingOff, readAgainAfter, storeReactions, type CommentReactions } from '../../db/code-review/findings/reactions.ts';
import { lockPullRow } from '../../db/code-review/findings/write-ledger.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';

/** The number of days for which people react to a pull request after it was closed. */
const daysRead = 7;
/** If the host can't be asked on the last of these days, it is asked for one more day. */
const daysTried = 8;

/** The reactions to a closed pull request. `unknown`: the host could not be asked, and may be asked later. */
export type ReadReactions = { readonly kind: 'known'; readonly comments: readonly CommentReactions[] } | { readonly kind: 'unknown' };

/** Stores the reactions to a closed pull request, and when they are read next: once more a week after it was closed. A repeat counts the same again. */
export async function keepReactions(tx: TenantTransaction, pullRequestId: string, read: ReadReactions): Promise<void> {
  await lockPullRow(tx, pullRequestId);
  if (read.kind === 'unknown') return putReadingOff(tx, pullRequestId, daysTried);
  await storeReactions(tx, pullRequestId, read.comments);
  await readAgainAfter(tx, pullRequestId, daysRead);
}
