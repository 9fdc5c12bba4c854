import { channelChanged, type ChannelIdentity, type ChannelKind } from '../../workflows/contracts/triggers/channels.ts';
import { taskQueues, workflowIds } from '../../workflows/contracts/queues.ts';
import { addOutbox } from '../outbox.ts';
import { change } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { query } from '../query.ts';

/** An update of what a service says of a channel. It is no change of the channel: this keeps `updatedAt`, which an update would otherwise set. */
export const notedOnChannel = query.updateTable('channels').set(({ ref }) => ({ updatedAt: ref('updatedAt') }));

interface SyncedChannel {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly kind: ChannelKind;
  readonly version: number;
  readonly isActive: boolean;
}

/** Services with which we register where their messages go. */
const registered: readonly ChannelKind[] = ['telegram', 'discord'];

/**
 * After the commit, registers with the service what the newest row says: `maint:trigger-sync:<id>`. Does nothing for services that people configure by hand.
 */
export async function syncChannel(
  tx: TenantTransaction,
  { id, organizationId, workspaceId, kind, version, isActive }: SyncedChannel,
): Promise<void> {
  if (!registered.includes(kind) || !isActive) return;
  const workflowId = workflowIds.channelSync(id);
  await addOutbox(
    tx,
    {
      kind: 'workflow.start',
      workflowType: 'channelSync',
      workflowId,
      taskQueue: taskQueues.bulk,
      args: [{ channelId: id }],
      organizationId,
      workspaceId,
      correlationId: tx.correlationId,
      reuse: 'allow_duplicate',
      signal: channelChanged,
      priority: 3,
      searchAttributes: { SourceId: id },
    },
    { dedupeKey: `channel-sync:${id}:${version}` },
  );
}

/** Records that a version of the row was registered with the service, and the channel's identity there. Returns false when the row has a newer version. */
export async function markChannelSynced(
  tx: TenantTransaction,
  { id, version, identity }: { readonly id: string; readonly version: number; readonly identity: ChannelIdentity | null },
): Promise<boolean> {
  const marked = await change(
    tx.em,
    notedOnChannel
      .set({ syncedVersion: version, ...(identity === null ? {} : { identity }), state: 'ok', lastError: null })
      .where('id', '=', id)
      .where('version', '=', version)
      .where('deletedAt', 'is', null),
  );
  return marked > 0;
}

/** Records why the service refused a version of the row. */
export async function markChannelRefused(
  tx: TenantTransaction,
  { id, version, error }: { readonly id: string; readonly version: number; readonly error: string },
): Promise<void> {
  await change(
    tx.em,
    notedOnChannel
      .set({ state: 'error', lastError: error.slice(0, 300) })
      .where('id', '=', id)
      .where('version', '=', version)
      .where('deletedAt', 'is', null),
  );
}
