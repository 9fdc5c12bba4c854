import { sql } from 'kysely';
import { newId } from '../ids.ts';
import { query } from '../query.ts';
import { queueStatement, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** The run that an attachment is linked to, with its tenant and conversation. */
export interface AttachingRun {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly conversationId: string;
}

/** Locks attachments of an organization; returns how many of them exist. */
export async function lockAttachments(tx: TenantTransaction, organizationId: string, ids: readonly string[]): Promise<number> {
  const held = await rows(
    tx.em,
    query
      .selectFrom('attachments as a')
      .select('a.id')
      .where(sql<boolean>`a.id = any(${ids}::uuid[])`)
      .where('a.organizationId', '=', organizationId)
      .orderBy('a.id')
      .forNoKeyUpdate(),
  );
  return held.length;
}

/** Links locked attachments, each named once, to a run; existing links are no error. The attachments no longer expire. Goes with the next statement. */
export async function linkLocked(tx: TenantTransaction, run: AttachingRun, ids: readonly string[]): Promise<void> {
  const links = ids.map((id) => ({ id: newId(), attachment: id }));
  await queueStatement(
    tx.em,
    `with held as (update attachments set expires_at = null where id = any(?::uuid[]))
     insert into attachment_links (id, attachment_id, organization_id, workspace_id, owner_kind, owner_id, conversation_id, created_at)
     select l.id, l.attachment, ?, ?, 'run', ?, ?, now() from jsonb_to_recordset(?::jsonb) as l(id uuid, attachment uuid)
     on conflict do nothing`,
    [ids, run.organizationId, run.workspaceId, run.id, run.conversationId, JSON.stringify(links)],
  );
}

/** Lets a run read files of another, which stay as long as one of the two. Existing links and deleted files are left as they are. */
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
