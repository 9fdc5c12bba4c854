import { sql } from 'kysely';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { StoredChannelFile } from './channel-message.entity.ts';

/** A message as it is answered. */
export type AnsweredMessage = NonNullable<Awaited<ReturnType<typeof readAnswered>>>;

const answered = prepared(({ messageId }: ParametersOf<{ readonly messageId: string }>) =>
  query
    .selectFrom('channel_messages')
    .where('id', '=', messageId)
    .select(['id', 'organizationId', 'workspaceId', 'channelId', 'threadId', 'route', 'tokenEnc', 'status', 'reason', 'runId']),
);

/** Returns the message, or null when it is deleted. */
export function readAnswered(tx: Pick<TenantTransaction, 'em'>, messageId: string) {
  return row(tx.em, answered({ messageId }));
}

const unfetched = prepared(({ runId }: ParametersOf<{ readonly runId: string }>) =>
  query
    .selectFrom('channel_messages as m')
    .crossJoin(sql<{ file: StoredChannelFile }>`jsonb_array_elements(m.attachments)`.as<'f'>(sql`f (file)`))
    .innerJoin('attachments as a', (join) => join.on('a.id', '=', sql<string>`(f.file ->> 'attachmentId')::uuid`))
    .where('m.runId', '=', runId)
    .where('a.state', '=', 'scanning')
    .where('a.sha256', '=', '')
    .select(['m.channelId', 'a.id as attachmentId', 'a.storageKey'])
    .select([sql<string>`f.file ->> 'source'`.as('source'), sql<string>`f.file ->> 'name'`.as('name')])
    .orderBy('a.id'),
);

/** Returns the files of a run's messages that are not stored yet. */
export function filesToFetch(tx: Pick<TenantTransaction, 'em'>, runId: string) {
  return rows(tx.em, unfetched({ runId }));
}
