import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import type { ChannelRoute } from '../../workflows/contracts/triggers/channels.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { amongRows } from '../expressions.ts';
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

const inserting = prepared(({ route, ...message }: ParametersOf<Omit<NewChannelMessage, 'route'> & { readonly route: string }>) =>
  query
    .insertInto('channel_messages')
    .values({
      ...message,
      attachments: sql<StoredChannelFile[]>`'[]'`,
      route: sql<ChannelRoute>`${route}::jsonb`,
      status: 'ignored',
      tokenEnc: null,
      runId: null,
      reason: null,
      createdAt: sql<string>`clock_timestamp()`,
    })
    .onConflict((conflict) => conflict.columns(['channelId', 'externalId']).doNothing()),
);

/** Stores a message with status `ignored` for now. Returns false when it was stored before, even by a concurrent transaction. */
export async function insertMessage(tx: TenantTransaction, { route, ...message }: NewChannelMessage): Promise<boolean> {
  const written = await change(tx.em, inserting({ ...message, route: JSON.stringify(route) }));
  return written > 0;
}

interface Answering {
  readonly channelId: string;
  /** Nearest first. */
  readonly externalIds: readonly string[];
  readonly partIds: readonly string[];
  readonly senderId: string;
}

const nearestThread = prepared(({ channelId, externalIds, partIds, senderId }: ParametersOf<Answering>) => {
  const answeredPart = query
    .selectFrom('channel_outbound as o')
    .where('o.channelId', '=', channelId)
    .where(sql<boolean>`o.id = any (${partIds}::uuid[])`)
    .select(['o.threadId', sql<number | null>`0`.as('nearness')]);
  const answeredMessage = query
    .selectFrom('channel_messages as m')
    .where('m.channelId', '=', channelId)
    .where(sql<boolean>`m.external_id = any (${externalIds}::text[])`)
    .select(['m.threadId', sql<number | null>`array_position(${externalIds}::text[], m.external_id)`.as('nearness')]);
  return query
    .selectFrom(answeredPart.unionAll(answeredMessage).as('t'))
    .select([
      't.threadId',
      ({ exists, selectFrom }) =>
        exists(
          selectFrom('channel_messages as s')
            .where('s.channelId', '=', channelId)
            .whereRef('s.threadId', '=', 't.threadId')
            .where('s.senderId', '=', senderId)
            .where('s.status', '=', 'received')
            .select('s.id'),
        ).as('isSenders'),
    ])
    .orderBy('t.nearness')
    .limit(1);
});

/**
 * Returns the thread of the nearest message or part that a message answers; `isSenders`: its sender has an answered message in that thread. Null: none of them
 * was received or sent here.
 */
export function findThread(tx: Pick<TenantTransaction, 'em'>, { channelId, externalIds, partIds, senderId }: Answering) {
  return row(tx.em, nearestThread({ channelId, externalIds, partIds, senderId }));
}

interface MessageOutcome {
  readonly status: ChannelMessage['status'];
  readonly runId: string | null;
  readonly reason: string | null;
}

const settling = prepared(({ id, status, runId, reason }: ParametersOf<MessageOutcome & { readonly id: string }>) =>
  query.updateTable('channel_messages').set({ status, runId, reason }).where('id', '=', id),
);

/** Stores the outcome of a message. */
export async function settleMessage(tx: TenantTransaction, id: string, { status, runId, reason }: MessageOutcome): Promise<void> {
  await change(tx.em, settling({ id, status, runId, reason }));
}

const storingToken = prepared(({ id, tokenEnc }: ParametersOf<{ readonly id: string; readonly tokenEnc: Buffer }>) =>
  query.updateTable('channel_messages').set({ tokenEnc }).where('id', '=', id),
);

/** Stores the encrypted token that an answer to the message must carry. */
export async function storeToken(tx: TenantTransaction, id: string, tokenEnc: Buffer): Promise<void> {
  await change(tx.em, storingToken({ id, tokenEnc }));
}

const storingFiles = prepared(({ id, files }: ParametersOf<{ readonly id: string; readonly files: string }>) =>
  query
    .updateTable('channel_messages')
    .set({ attachments: sql<StoredChannelFile[]>`${files}::jsonb` })
    .where('id', '=', id),
);

/** Stores which attachments the files of a message become. */
export async function storeFiles(tx: TenantTransaction, id: string, files: readonly StoredChannelFile[]): Promise<void> {
  await change(tx.em, storingFiles({ id, files: JSON.stringify(files) }));
}

interface ThreadMessage {
  readonly channelId: string;
  readonly threadId: string;
  readonly messageId: string;
}

const countBots = prepared(({ channelId, threadId, messageId }: ParametersOf<ThreadMessage>) =>
  query
    .selectFrom('channel_messages as b')
    .where('b.channelId', '=', channelId)
    .where('b.threadId', '=', threadId)
    .where('b.isBot', '=', sql.lit(true))
    .where('b.status', '=', 'received')
    .where('b.id', '<>', messageId)
    .where(({ eb, fn, selectFrom }) => {
      const lastOfPerson = selectFrom('channel_messages as p')
        .whereRef('p.channelId', '=', 'b.channelId')
        .whereRef('p.threadId', '=', 'b.threadId')
        .where('p.isBot', '=', sql.lit(false))
        .select((of) => of.fn.max('p.createdAt').as('at'));
      return eb('b.createdAt', '>', fn.coalesce(lastOfPerson, sql<string>`'-infinity'`));
    })
    .select(sql<number>`count(*)::int`.as('n')),
);

/** Returns how many messages of bots a thread has received since a person last wrote there, without this one. */
export async function botsInARow(tx: TenantTransaction, { channelId, threadId, messageId }: ThreadMessage): Promise<number> {
  const found = await row(tx.em, countBots({ channelId, threadId, messageId }));
  return found?.n ?? 0;
}

const lastInLine = prepared(
  ({ conversationId, channelId }: ParametersOf<{ readonly conversationId: string; readonly channelId: string }>) =>
    query
      .selectFrom('runs as r')
      .where('r.conversationId', '=', conversationId)
      .where('r.status', '=', sql.lit('queued'))
      .where('r.queueNo', 'is not', null)
      .where('r.triggerId', '=', channelId)
      .where('r.deletedAt', 'is', null)
      .select('r.id')
      .orderBy('r.queueNo', 'desc')
      .limit(1),
);

/** Returns the last queued run of a locked conversation that a channel has started, which a message may join, or null when none waits there. */
export async function findRunInLine(tx: TenantTransaction, conversationId: string, channelId: string): Promise<string | null> {
  const found = await row(tx.em, lastInLine({ conversationId, channelId }));
  return found?.id ?? null;
}

const past = sql<string>`now() - interval '90 days'`;

/** Deletes at most `limit` messages older than 90 days; returns how many. Sweeper's pool. */
export function eraseMessagesByAge(em: SqlEntityManager, limit: number): Promise<number> {
  const old = query.selectFrom('channel_messages as x').where('x.createdAt', '<', past).limit(limit);
  return change(em, query.deleteFrom('channel_messages').where(amongRows(old)));
}

/** The same for parts. Sweeper's pool. */
export function erasePartsByAge(em: SqlEntityManager, limit: number): Promise<number> {
  const old = query.selectFrom('channel_outbound as x').where('x.createdAt', '<', past).limit(limit);
  return change(em, query.deleteFrom('channel_outbound').where(amongRows(old)));
}
