import { insertAttachment, type NewAttachment } from '../attachments/insert-attachment.ts';
import { newId } from '../ids.ts';
import { row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { StoredReferenceDoc } from './reference-doc.ts';

/** A file of a skill whose bytes are stored. */
export interface NewSkillFile {
  /** Relative path, as the skill's documents have. */
  readonly name: string;
  /** Characters of a text; null: it is none. */
  readonly chars: number | null;
  readonly stored: Pick<NewAttachment, 'filename' | 'mediaType' | 'sizeBytes' | 'sha256' | 'storageKey'>;
}

type Place = Pick<NewAttachment, 'organizationId' | 'workspaceId' | 'isScanned' | 'createdBy'>;

/**
 * Writes the rows of files that a skill is to hold, and gives the documents that name them. `known`: documents that the skill has; a file of the
 * same path and bytes stays the one that it is.
 */
export async function insertSkillFiles(
  tx: TenantTransaction,
  files: readonly NewSkillFile[],
  { place, known }: { readonly place: Place; readonly known: readonly StoredReferenceDoc[] },
): Promise<StoredReferenceDoc[]> {
  const docs: StoredReferenceDoc[] = [];
  for (const { name, chars, stored } of files) {
    const same = known.find((doc) => doc.name === name && doc.sha256 === stored.sha256 && doc.attachment_id !== undefined);
    const id = same?.attachment_id ?? (await insertAttachment(tx, { ...stored, ...place, purpose: 'skill' })).id;
    const facts = { media_type: stored.mediaType, size_chars: chars ?? stored.sizeBytes, sha256: stored.sha256 };
    docs.push({ name, ...facts, content: null, attachment_id: id });
  }
  return docs;
}

/** Makes a skill hold the files that its documents name: who sees it sees them, and they stay as long as it does, for all its versions. */
export async function linkSkillFiles(
  tx: TenantTransaction,
  skill: { readonly id: string; readonly organizationId: string | null; readonly workspaceId: string | null },
  docs: readonly StoredReferenceDoc[],
): Promise<void> {
  const links = docs.flatMap(({ attachment_id: attachment }) => (attachment === undefined ? [] : [{ id: newId(), attachment }]));
  if (links.length === 0) return;
  await rows(
    tx.em,
    `with asked as (select * from jsonb_to_recordset(?::jsonb) as l(id uuid, attachment uuid)),
     held as (update attachments set expires_at = null where id in (select attachment from asked))
     insert into attachment_links (id, attachment_id, organization_id, workspace_id, owner_kind, owner_id, conversation_id, until, created_at)
     select l.id, l.attachment, ?, ?, 'skill', ?, null, null, now() from asked l on conflict do nothing`,
    [JSON.stringify(links), skill.organizationId, skill.workspaceId, skill.id],
  );
}

/** Lets go of the files of a skill that is deleted: what nothing else holds is erased by the next sweep. */
export async function dropSkillFiles(tx: Pick<TenantTransaction, 'em'>, skillId: string): Promise<void> {
  await rows(
    tx.em,
    `with unlinked as (delete from attachment_links where owner_kind = 'skill' and owner_id = ? returning id, attachment_id)
     update attachments a set expires_at = now() where a.id in (select attachment_id from unlinked)
        and not exists (select from attachment_links l where l.attachment_id = a.id and l.id not in (select id from unlinked))`,
    [skillId],
  );
}

/** Lets a run read a file of a skill that it has loaded: it stays as long as one of the two does. False: the file is gone, or not to be used. */
export async function lendSkillFile(tx: Pick<TenantTransaction, 'em'>, runId: string, attachmentId: string): Promise<boolean> {
  await rows(
    tx.em,
    `insert into attachment_links (id, attachment_id, organization_id, workspace_id, owner_kind, owner_id, conversation_id, until, created_at)
     select ?::uuid, a.id, r.organization_id, r.workspace_id, 'run', r.id, r.conversation_id, null, now()
       from runs r join attachments a on a.id = ? and a.state = 'ready' and a.organization_id = r.organization_id where r.id = ? on conflict do nothing`,
    [newId(), attachmentId, runId],
  );
  const lent = await row(
    tx.em,
    `select l.id from attachment_links l where l.attachment_id = ? and l.owner_kind = 'run' and l.owner_id = ?`,
    [attachmentId, runId],
  );
  return lent !== null;
}
