import type { NewAttachment } from '../../db/attachments/write-attachment.ts';
import type { StoredReferenceDoc } from '../../db/skills/reference-doc.ts';
import { linkSkillFiles } from '../../db/skills/skill-files.ts';
import type { Skill } from '../../db/skills/skill.entity.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { insertAttachment } from '../attachments/attachments.ts';

/** A file of a skill whose bytes are stored. */
export interface NewSkillFile {
  /** Relative path, as in the skill's documents. */
  readonly name: string;
  /** Characters of a text; null: it is not a text. */
  readonly chars: number | null;
  readonly stored: Pick<NewAttachment, 'filename' | 'mediaType' | 'sizeBytes' | 'sha256' | 'storageKey'>;
}

export type FilePlace = Pick<NewAttachment, 'organizationId' | 'workspaceId' | 'isScanned' | 'createdBy'>;

/**
 * Records the files of a skill, and returns the documents that name them. `known`: the skill's current documents; a file of the same path and bytes stays the
 * same file.
 */
export async function recordSkillFiles(
  tx: TenantTransaction,
  files: readonly NewSkillFile[],
  { place, known }: { readonly place: FilePlace; readonly known: readonly StoredReferenceDoc[] },
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

/** Links the files that documents name to a skill. A skill of the platform belongs to no organization, and holds none. */
export async function holdSkillFiles(tx: TenantTransaction, skill: Skill, docs: readonly StoredReferenceDoc[]): Promise<void> {
  const { id, organizationId, workspaceId } = skill;
  if (organizationId === null) return;
  const attachmentIds = docs.flatMap(({ attachment_id: attachmentId }) => (attachmentId === undefined ? [] : [attachmentId]));
  await linkSkillFiles(tx, { id, organizationId, workspaceId }, attachmentIds);
}
