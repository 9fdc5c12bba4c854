import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { storeChannelState } from '../../db/channels/outbound.ts';
import { overdueReplies } from '../../db/channels/replies.ts';
import { markChannelRefused, markChannelSynced } from '../../db/channels/sync.ts';
import { wakeReply, type AnsweredPlace } from '../../db/channels/wake.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { ChannelIdentity } from '../../workflows/contracts/triggers/channels.ts';

/** Notes how a test of a channel went; `fault` null: well. */
export async function noteTest(tx: TenantTransaction, channelId: string, fault: string | null): Promise<void> {
  await storeChannelState(tx, channelId, { state: fault === null ? 'ok' : 'error', lastError: fault });
}

/** Notes that a service was told of a version of a channel, and who the channel is there. False: the row has a newer one. */
export function noteSynced(
  tx: TenantTransaction,
  synced: { readonly id: string; readonly version: number; readonly identity: ChannelIdentity | null },
): Promise<boolean> {
  return markChannelSynced(tx, synced);
}

/** Notes why a service did not take a version of a channel. */
export async function noteRefused(
  tx: TenantTransaction,
  refused: { readonly id: string; readonly version: number; readonly error: string },
): Promise<void> {
  await markChannelRefused(tx, refused);
}

/** Answers of which a try is overdue, whose workflows Temporal may have lost. Sweeper's pool. */
export function findLostReplies(em: SqlEntityManager, limit: number): Promise<AnsweredPlace[]> {
  return overdueReplies(em, limit);
}

/** Has the workflow of an answer look again. */
export async function wakeLostReply(tx: TenantTransaction, reply: AnsweredPlace): Promise<void> {
  await wakeReply(tx, reply);
}
