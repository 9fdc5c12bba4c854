import { closePush, countPush, openPush, type EditorPush } from '../../../db/code-review/pushes.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';

/** Notes that a push is about to leave: whoever takes over looks for it at the host first. */
export async function notePushLeaves(tx: TenantTransaction, push: EditorPush): Promise<void> {
  await openPush(tx, push);
}

/** Notes that a push has arrived. It counts once among those that a pull request's editor may make, however often that is noted. */
export async function notePushArrived(tx: TenantTransaction, push: EditorPush): Promise<void> {
  if (await closePush(tx, push)) await countPush(tx, push);
}
