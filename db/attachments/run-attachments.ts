import { followedTime } from '../database-clock.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { newId } from '../ids.ts';
import { inSightOf, type Scoped } from '../scope.ts';
import { row, rows, queueStatement } from '../sql.ts';
import type { AttachmentPart } from '../streams/frame-parts.schema.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { Attachment } from './attachment.entity.ts';
import { refuseNotReady, unknownAttachment, visibleAttachments, type AttachmentRow } from './attachments.ts';

/** An attachment as inputs, messages and outputs name it. */
export type AttachmentRef = AttachmentPart;

/** Where a run lives, and what an attachment of it belongs to. */
export interface AttachingRun {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly conversationId: string;
}

/** The bytes of an attachment as far as a run may read them. */
export interface RunFile {
  readonly id: string;
  readonly filename: string;
  readonly media_type: string;
  readonly size_bytes: number;
  readonly state: AttachmentRow['state'];
  readonly storage_key: string;
}

/**
 * Attachments that the inputs of runs name, looked up together; the function gives those of the n-th, in its order. One that is still looked at is
 * taken: the run waits for it.
 * @throws by that function: 422 `reference` for what the caller does not see in the run's workspace, 409 `attachment_not_ready` for a rejected one.
 */
export async function attachmentsForRuns(
  ctx: Scoped,
  asked: readonly { readonly ids: readonly string[]; readonly workspaceId: string | null }[],
  pointer = '/input/attachments',
): Promise<(n: number) => readonly AttachmentRef[]> {
  const place = inSightOf(ctx, Attachment, 'a');
  const visible = visibleAttachments(ctx);
  const found = await rows<RunFile & { workspace_id: string }>(
    ctx.em,
    `select a.id, a.filename, a.media_type, a.size_bytes, a.state, a.storage_key, a.workspace_id from attachments a
      where a.id = any(?::uuid[]) and ${place.sql} and ${visible.sql}`,
    [asked.flatMap(({ ids }) => ids), ...place.params, ...visible.params],
  );
  const byId = new Map(found.map((file) => [file.id, file]));
  return (n) =>
    (asked[n]?.ids ?? []).map((id, at) => {
      const file = byId.get(id);
      if (!file || file.workspace_id !== asked[n]?.workspaceId) throw unknownAttachment(`${pointer}/${at}/attachment_id`);
      if (file.state === 'rejected') refuseNotReady(file.state);
      return toAttachmentRef(file);
    });
}

export function toAttachmentRef(file: Pick<RunFile, 'id' | 'filename' | 'media_type' | 'size_bytes'>): AttachmentRef {
  return { attachment_id: file.id, media_type: file.media_type, name: file.filename, bytes: file.size_bytes };
}

/** Makes a run hold attachments: it shows them, and they stay as long as it does. All or, with 422, none of them; what it holds already is no fault. */
export async function linkToRun(tx: TenantTransaction, run: AttachingRun, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const unique = [...new Set(ids)];
  // Locked first and by itself: one that another transaction was changing would be missing from a statement that both locks and writes.
  const held = await rows(
    tx.em,
    'select a.id from attachments a where a.id = any(?::uuid[]) and a.organization_id = ? order by a.id for no key update',
    [unique, run.organizationId],
  );
  // One that the sweep has just taken away.
  if (held.length < unique.length) throw unknownAttachment('/input/attachments');
  const links = unique.map((id) => ({ id: newId(), attachment: id }));
  await queueStatement(
    tx.em,
    `with held as (update attachments set expires_at = null where id = any(?::uuid[]))
     insert into attachment_links (id, attachment_id, organization_id, workspace_id, owner_kind, owner_id, conversation_id, created_at)
     select l.id, l.attachment, ?, ?, 'run', ?, ?, now() from jsonb_to_recordset(?::jsonb) as l(id uuid, attachment uuid)
     on conflict do nothing`,
    [unique, run.organizationId, run.workspaceId, run.id, run.conversationId, JSON.stringify(links)],
  );
}

/** Lets a run read files of another, which stay as long as one of the two does. What it has already, or what is gone, is left as it is. */
export async function shareWithRun(tx: TenantTransaction, run: AttachingRun, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const links = ids.map((id) => ({ id: newId(), attachment: id }));
  await rows(
    tx.em,
    `insert into attachment_links (id, attachment_id, organization_id, workspace_id, owner_kind, owner_id, conversation_id, created_at)
     select l.id, a.id, ?, ?, 'run', ?, ?, now() from jsonb_to_recordset(?::jsonb) as l(id uuid, attachment uuid)
       join attachments a on a.id = l.attachment and a.organization_id = ?
     on conflict do nothing`,
    [run.organizationId, run.workspaceId, run.id, run.conversationId, JSON.stringify(links), run.organizationId],
  );
}

/** Files that the history of a run names, as they are now; what is gone is left out. */
export function readRunFiles(tx: TenantTransaction, runId: string, ids: readonly string[]): Promise<RunFile[]> {
  return rows<RunFile>(
    tx.em,
    `select a.id, a.filename, a.media_type, a.size_bytes, a.state, a.storage_key from attachments a
      where a.id = any(?::uuid[]) and ${ofConversation}`,
    [ids, runId],
  );
}

/** A file that some run of this run's conversation was given or made; null when there is none of this id. */
export function findRunFile(tx: TenantTransaction, runId: string, attachmentId: string): Promise<RunFile | null> {
  return row<RunFile>(
    tx.em,
    `select a.id, a.filename, a.media_type, a.size_bytes, a.state, a.storage_key from attachments a
      where a.id::text = lower(?) and ${ofConversation}`,
    [attachmentId, runId],
  );
}

const ofConversation = `exists (
  select 1 from attachment_links l join runs r on r.conversation_id = l.conversation_id
   where l.attachment_id = a.id and l.owner_kind = 'run' and r.id = ? and (l.until is null or l.until > now()))`;

/** Files that tools of the run `r` made, oldest first, as its output names them: an expression for a select list. */
export const filesMadeSql = `(select coalesce(jsonb_agg(f.part), '[]') from (
  select jsonb_build_object('attachment_id', a.id, 'media_type', a.media_type, 'name', a.filename, 'bytes', a.size_bytes) as part
    from attachment_links l join attachments a on a.id = l.attachment_id
   where l.owner_kind = 'run' and l.owner_id = r.id and a.created_by ->> 'kind' = 'agent' order by a.id limit 20) f)`;

const waitForScanMs = 120_000;

/**
 * Names of the run's input files that can't be used. While one of them is still looked at, a run that has just become active waits: throws
 * `service_unavailable`, which is tried again; after two minutes it goes on without it.
 */
export async function unusableInputs(
  tx: TenantTransaction,
  run: { readonly id: string; readonly activatedAt: Date },
  refs: readonly AttachmentRef[],
): Promise<string[]> {
  if (refs.length === 0) return [];
  const files = await readRunFiles(
    tx,
    run.id,
    refs.map((ref) => ref.attachment_id),
  );
  const isWaiting = followedTime(tx.em).getTime() - run.activatedAt.getTime() < waitForScanMs;
  if (isWaiting && files.some((file) => file.state === 'scanning'))
    throw fail('service_unavailable', { reason: 'attachment_scanning', detail: 'An attachment of the input is being looked at.' });

  const ready = new Set(files.filter((file) => file.state === 'ready').map((file) => file.id));
  return refs.filter((ref) => !ready.has(ref.attachment_id)).map((ref) => ref.name);
}
