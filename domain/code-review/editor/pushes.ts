import { claimPost, countPush, settlePost, type PostPlace } from '../../../db/code-review/posts/posts.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';

/** A push of an editor that is about to leave, or has arrived. */
export interface EditorPush {
  readonly runId: string;
  readonly pullRequestId: string;
  readonly attempt: number;
  readonly commitSha: string;
}

const keyOf = ({ runId, attempt }: EditorPush) => ({ ownerId: runId, kind: 'push', ordinal: attempt }) as const;

/** Notes that a push is about to leave: whoever takes over looks for it at the host first. */
export async function notePushLeaves(tx: TenantTransaction, place: PostPlace, push: EditorPush): Promise<void> {
  await claimPost(tx, place, keyOf(push));
}

/** Notes that a push has arrived. It counts once among those that a pull request's editor may make, however often that is noted. */
export async function notePushArrived(tx: TenantTransaction, push: EditorPush): Promise<void> {
  if (await settlePost(tx, keyOf(push), push.commitSha)) await countPush(tx, push.pullRequestId);
}
