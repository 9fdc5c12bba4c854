import type { ChannelRoute } from '../../workflows/contracts/triggers/channels.ts';
import { row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { ChannelMessage } from './channel-message.entity.ts';

/** A message as it is answered. */
export interface AnsweredMessage {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly channelId: string;
  readonly threadId: string;
  readonly route: ChannelRoute;
  readonly tokenEnc: Buffer | null;
  readonly status: ChannelMessage['status'];
  readonly reason: string | null;
  readonly runId: string | null;
}

/** Returns the message, or null when it is deleted. */
export function readAnswered(tx: Pick<TenantTransaction, 'em'>, messageId: string): Promise<AnsweredMessage | null> {
  return row<AnsweredMessage>(
    tx.em,
    `select id, organization_id as "organizationId", workspace_id as "workspaceId", channel_id as "channelId", thread_id as "threadId", route,
            token_enc as "tokenEnc", status, reason, run_id as "runId" from channel_messages where id = ?`,
    [messageId],
  );
}

/** Returns the files of a run's messages that are not stored yet. */
export function filesToFetch(
  tx: Pick<TenantTransaction, 'em'>,
  runId: string,
): Promise<
  {
    readonly channelId: string;
    readonly attachmentId: string;
    readonly source: string;
    readonly name: string;
    readonly storageKey: string;
  }[]
> {
  return rows(
    tx.em,
    `select m.channel_id as "channelId", a.id as "attachmentId", f ->> 'source' as source, f ->> 'name' as name, a.storage_key as "storageKey"
       from channel_messages m cross join jsonb_array_elements(m.attachments) f join attachments a on a.id = (f ->> 'attachmentId')::uuid
      where m.run_id = ? and a.state = 'scanning' and a.sha256 = '' order by a.id`,
    [runId],
  );
}
