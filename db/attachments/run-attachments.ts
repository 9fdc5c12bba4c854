import { visibleToSql, type Scoped } from '../scope.ts';
import { row, rows } from '../sql.ts';
import type { AttachmentPart } from '../streams/frame-parts.schema.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { Attachment } from './attachment.entity.ts';
import { visibleAttachments, type AttachmentRow } from './attachments.ts';

/** An attachment as inputs, messages and outputs name it. */
export type AttachmentRef = AttachmentPart;

/** The facts of an attachment that a run needs to read its bytes. */
export interface RunFile {
  readonly id: string;
  readonly filename: string;
  readonly media_type: string;
  readonly size_bytes: number;
  readonly state: AttachmentRow['state'];
  readonly storage_key: string;
}

/** A file that the input of a run may name. */
export type NamedFile = RunFile & { readonly workspace_id: string };

/** Returns those of the given attachments that the caller sees, whatever their state. */
export function readNamedFiles(ctx: Scoped, ids: readonly string[]): Promise<NamedFile[]> {
  const place = visibleToSql(ctx, Attachment, 'a');
  const visible = visibleAttachments(ctx);
  return rows<NamedFile>(
    ctx.em,
    `select a.id, a.filename, a.media_type, a.size_bytes, a.state, a.storage_key, a.workspace_id from attachments a
      where a.id = any(?::uuid[]) and ${place.sql} and ${visible.sql}`,
    [ids, ...place.params, ...visible.params],
  );
}

export function toAttachmentRef(file: Pick<RunFile, 'id' | 'filename' | 'media_type' | 'size_bytes'>): AttachmentRef {
  return { attachment_id: file.id, media_type: file.media_type, name: file.filename, bytes: file.size_bytes };
}

/** Returns the files that the history of a run names, in their current state; deleted ones are omitted. */
export function readRunFiles(tx: TenantTransaction, runId: string, ids: readonly string[]): Promise<RunFile[]> {
  return rows<RunFile>(
    tx.em,
    `select a.id, a.filename, a.media_type, a.size_bytes, a.state, a.storage_key from attachments a
      where a.id = any(?::uuid[]) and ${ofConversation}`,
    [ids, runId],
  );
}

/** Returns a file that some run of this run's conversation was given or made, or null when there is none of this id. */
export function findRunFile(tx: TenantTransaction, runId: string, attachmentId: string): Promise<RunFile | null> {
  return row<RunFile>(
    tx.em,
    `select a.id, a.filename, a.media_type, a.size_bytes, a.state, a.storage_key from attachments a
      where a.id::text = lower(?) and ${ofConversation}`,
    [attachmentId, runId],
  );
}

/** Returns an attachment to be scanned, in the tenant of the transaction, or null when it is deleted. */
export function readScanned(tx: TenantTransaction, attachmentId: string): Promise<(RunFile & { readonly sha256: string }) | null> {
  return row(tx.em, 'select id, filename, media_type, size_bytes, state, storage_key, sha256 from attachments where id = ?', [
    attachmentId,
  ]);
}

const ofConversation = `exists (
  select 1 from attachment_links l join runs r on r.conversation_id = l.conversation_id
   where l.attachment_id = a.id and l.owner_kind = 'run' and r.id = ? and (l.until is null or l.until > now()))`;

/** Files that tools of the run `r` made, oldest first, as its output names them: an expression for a select list. */
export const filesMadeSql = `(select coalesce(jsonb_agg(f.part), '[]') from (
  select jsonb_build_object('attachment_id', a.id, 'media_type', a.media_type, 'name', a.filename, 'bytes', a.size_bytes) as part
    from attachment_links l join attachments a on a.id = l.attachment_id
   where l.owner_kind = 'run' and l.owner_id = r.id and a.created_by ->> 'kind' = 'agent' order by a.id limit 20) f)`;
