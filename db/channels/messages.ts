import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { ChannelRoute } from '../../workflows/contracts/triggers/channels.ts';
import { change, row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { ChannelMessage, StoredChannelFile } from './channel-message.entity.ts';

/** A received message. */
export interface NewChannelMessage {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly channelId: string;
  readonly externalId: string;
  readonly threadId: string;
  readonly senderId: string;
  readonly senderName: string | null;
  readonly isBot: boolean;
  readonly text: string;
  readonly route: ChannelRoute;
}

/** Stores a message with status `ignored` for now. Returns false when it was stored before, even by a concurrent transaction. */
export async function insertMessage(tx: TenantTransaction, message: NewChannelMessage): Promise<boolean> {
  const written = await change(
    tx.em,
    `insert into channel_messages (id, organization_id, workspace_id, channel_id, external_id, thread_id, sender_id, sender_name, is_bot, text, route, status, created_at)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?::jsonb, 'ignored', clock_timestamp()) on conflict (channel_id, external_id) do nothing`,
    [
      message.id,
      message.organizationId,
      message.workspaceId,
      message.channelId,
      message.externalId,
      message.threadId,
      message.senderId,
      message.senderName,
      message.isBot,
      message.text,
      JSON.stringify(message.route),
    ],
  );
  return written > 0;
}

/**
 * Returns the thread of the nearest message or part that a message answers; `isSenders`: its sender has an answered message in that thread. Null: none of them
 * was received or sent here.
 */
export function findThread(
  tx: Pick<TenantTransaction, 'em'>,
  asked: {
    readonly channelId: string;
    /** Nearest first. */
    readonly externalIds: readonly string[];
    readonly partIds: readonly string[];
    readonly senderId: string;
  },
): Promise<{ readonly threadId: string; readonly isSenders: boolean } | null> {
  const { channelId, externalIds, partIds, senderId } = asked;
  return row(
    tx.em,
    `select t.thread_id as "threadId", exists (select from channel_messages s
         where s.channel_id = ? and s.thread_id = t.thread_id and s.sender_id = ? and s.status = 'received') as "isSenders"
       from (select o.thread_id, 0 as nearness from channel_outbound o where o.channel_id = ? and o.id = any (?::uuid[])
             union all
             select m.thread_id, array_position(?::text[], m.external_id) from channel_messages m where m.channel_id = ? and m.external_id = any (?::text[])) t
      order by t.nearness limit 1`,
    [channelId, senderId, channelId, partIds, externalIds, channelId, externalIds],
  );
}

/** Stores the outcome of a message. */
export async function settleMessage(
  tx: TenantTransaction,
  id: string,
  { status, runId, reason }: { readonly status: ChannelMessage['status']; readonly runId: string | null; readonly reason: string | null },
): Promise<void> {
  await change(tx.em, 'update channel_messages set status = ?, run_id = ?, reason = ? where id = ?', [status, runId, reason, id]);
}

/** Stores the encrypted token that an answer to the message must carry. */
export async function storeToken(tx: TenantTransaction, id: string, tokenEnc: Buffer): Promise<void> {
  await change(tx.em, 'update channel_messages set token_enc = ? where id = ?', [tokenEnc, id]);
}

/** Stores which attachments the files of a message become. */
export async function storeFiles(tx: TenantTransaction, id: string, files: readonly StoredChannelFile[]): Promise<void> {
  await change(tx.em, 'update channel_messages set attachments = ?::jsonb where id = ?', [JSON.stringify(files), id]);
}

/** Returns how many messages of bots a thread has received since a person last wrote there, without this one. */
export async function botsInARow(
  tx: TenantTransaction,
  { channelId, threadId, messageId }: { readonly channelId: string; readonly threadId: string; readonly messageId: string },
): Promise<number> {
  const found = await row<{ n: number }>(
    tx.em,
    `select count(*)::int as n from channel_messages b
      where b.channel_id = ? and b.thread_id = ? and b.is_bot and b.status = 'received' and b.id <> ?
        and b.created_at > coalesce((select max(p.created_at) from channel_messages p where p.channel_id = b.channel_id and p.thread_id = b.thread_id and not p.is_bot), '-infinity')`,
    [channelId, threadId, messageId],
  );
  return found?.n ?? 0;
}

/** Returns the last queued run of a locked conversation that a channel has started, which a message may join, or null when none waits there. */
export async function findRunInLine(tx: TenantTransaction, conversationId: string, channelId: string): Promise<string | null> {
  const found = await row<{ id: string }>(
    tx.em,
    `select r.id from runs r where r.conversation_id = ? and r.status = 'queued' and r.queue_no is not null and r.trigger_id = ? and r.deleted_at is null
      order by r.queue_no desc limit 1`,
    [conversationId, channelId],
  );
  return found?.id ?? null;
}

/** Deletes at most `limit` messages older than 90 days; returns how many. Sweeper's pool. */
export function eraseMessagesByAge(em: SqlEntityManager, limit: number): Promise<number> {
  return change(
    em,
    "delete from channel_messages where ctid = any (array(select x.ctid from channel_messages x where x.created_at < now() - interval '90 days' limit ?))",
    [limit],
  );
}

/** The same for parts. Sweeper's pool. */
export function erasePartsByAge(em: SqlEntityManager, limit: number): Promise<number> {
  return change(
    em,
    "delete from channel_outbound where ctid = any (array(select x.ctid from channel_outbound x where x.created_at < now() - interval '90 days' limit ?))",
    [limit],
  );
}
