import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { storeChannelState } from '../../db/channels/outbound.ts';
import { overdueReplies } from '../../db/channels/replies.ts';
import { markChannelRefused, markChannelSynced } from '../../db/channels/sync.ts';
import { wakeReply, type AnsweredPlace } from '../../db/channels/wake.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { ChannelIdentity } from '../../workflows/contracts/triggers/channels.ts';

/** Records the result of a channel's test; `fault` null: success. */
export async function recordTest(tx: TenantTransaction, channelId: string, fault: string | null): Promise<void> {
  await storeChannelState(tx, channelId, { state: fault === null ? 'ok' : 'error', lastError: fault });
}

/** Records that a service has accepted a version of a channel, and the channel's identity there. Returns false when the row has a newer version. */
export function recordSynced(
  tx: TenantTransaction,
  synced: { readonly id: string; readonly version: number; readonly identity: ChannelIdentity | null },
): Promise<boolean> {
  return markChannelSynced(tx, synced);
}

/** Records why a service did not accept a version of a channel. */
export async function recordRefused(
  tx: TenantTransaction,
  refused: { readonly id: string; readonly version: number; readonly error: string },
): Promise<void> {
  await markChannelRefused(tx, refused);
}

/** Returns answers with an overdue try, whose workflows Temporal may have lost. Uses the sweeper's pool. */
export function findLostReplies(em: SqlEntityManager, limit: number): Promise<AnsweredPlace[]> {
  return overdueReplies(em, limit);
}

/** Makes the workflow of an answer check it again. */
export async function wakeLostReply(tx: TenantTransaction, reply: AnsweredPlace): Promise<void> {
  await wakeReply(tx, reply);
}
