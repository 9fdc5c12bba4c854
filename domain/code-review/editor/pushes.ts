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

/** Records that a push is about to leave, so that a worker that takes over checks the host for it first. */
export async function recordPushLeaves(tx: TenantTransaction, place: PostPlace, push: EditorPush): Promise<void> {
  await claimPost(tx, place, keyOf(push));
}

/** Records that a push has arrived. It counts once towards the limit of the pull request's editor, however often it is recorded. */
export async function recordPushArrived(tx: TenantTransaction, push: EditorPush): Promise<void> {
  if (await settlePost(tx, keyOf(push), push.commitSha)) await countPush(tx, push.pullRequestId);
}
