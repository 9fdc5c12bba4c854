import { type Expression, sql } from 'kysely';
import type { Condition } from '../condition.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { visibleToSql, type Scoped } from '../scope.ts';
import { row, rows } from '../sql.ts';
import type { AttachmentPart } from '../streams/frame-parts.schema.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { Attachment } from './attachment.entity.ts';
import { linksOf } from './attachments.ts';
import { visibleAttachments } from '../visible-attachments.ts';

/** An attachment as inputs, messages and outputs name it. */
export type AttachmentRef = AttachmentPart;

/** The facts of an attachment that a run needs to read its bytes. */
export type RunFile = Awaited<ReturnType<typeof readRunFiles>>[number];

const columns = ['a.id', 'a.filename', 'a.mediaType', 'a.sizeBytes', 'a.state', 'a.storageKey'] as const;

const namedFiles = prepared(
  ({ ids, place, visible }: ParametersOf<{ readonly ids: readonly string[]; readonly place: Condition; readonly visible: Condition }>) =>
    query
      .selectFrom('attachments as a')
      .select(columns)
      .select('a.workspaceId')
      .where(sql<boolean>`a.id = any(${ids}::uuid[])`)
      .where(place)
      .where(visible),
);

/** Returns those of the given attachments that the caller sees, whatever their state. */
export async function readNamedFiles(ctx: Scoped, ids: readonly string[]) {
  return rows(ctx.em, namedFiles({ ids, place: visibleToSql(ctx, Attachment, 'a'), visible: visibleAttachments(ctx) }));
}

export function toAttachmentRef(file: Pick<RunFile, 'id' | 'filename' | 'mediaType' | 'sizeBytes'>): AttachmentRef {
  return { attachment_id: file.id, media_type: file.mediaType, name: file.filename, bytes: file.sizeBytes };
}

const runFiles = prepared(({ runId, ids }: ParametersOf<{ readonly runId: string; readonly ids: readonly string[] }>) =>
  filesOfConversation(runId).where(sql<boolean>`a.id = any(${ids}::uuid[])`),
);

/** Returns the files that the history of a run names, in their current state; deleted ones are omitted. */
export async function readRunFiles(tx: TenantTransaction, runId: string, ids: readonly string[]) {
  return rows(tx.em, runFiles({ runId, ids }));
}

const oneRunFile = prepared(({ runId, attachmentId }: ParametersOf<{ readonly runId: string; readonly attachmentId: string }>) =>
  filesOfConversation(runId).where(sql<boolean>`a.id::text = lower(${attachmentId})`),
);

/** Returns a file that some run of this run's conversation was given or made, or null when there is none of this id. */
export async function findRunFile(tx: TenantTransaction, runId: string, attachmentId: string): Promise<RunFile | null> {
  return row(tx.em, oneRunFile({ runId, attachmentId }));
}

function filesOfConversation(runId: Expression<string>) {
  return query
    .selectFrom('attachments as a')
    .select(columns)
    .where(({ exists, ref }) =>
      exists(
        linksOf(ref('a.id'))
          .innerJoin('runs as r', 'r.conversationId', 'l.conversationId')
          .where('l.ownerKind', '=', 'run')
          .where('r.id', '=', runId),
      ),
    );
}

/** Returns an attachment to be scanned, in the tenant of the transaction, or null when it is deleted. */
export async function readScanned(tx: TenantTransaction, attachmentId: string) {
  return row(tx.em, query.selectFrom('attachments as a').select(columns).select('a.sha256').where('a.id', '=', attachmentId));
}

/** Files that tools of a run made, oldest first, as its output names them. */
export function filesMade(runId: Expression<string>) {
  return sql<AttachmentPart[]>`(select coalesce(jsonb_agg(f.part), '[]') from (
  select jsonb_build_object('attachment_id', a.id, 'media_type', a.media_type, 'name', a.filename, 'bytes', a.size_bytes) as part
    from attachment_links l join attachments a on a.id = l.attachment_id
   where l.owner_kind = 'run' and l.owner_id = ${runId} and a.created_by ->> 'kind' = 'agent' order by a.id limit 20) f)`;
}
