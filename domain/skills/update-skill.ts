import type { StoredReferenceDoc } from '../../db/skills/reference-doc.ts';
import type { AuditSubject } from '../../db/audit/audit.ts';
import type { Skill } from '../../db/skills/skill.entity.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { invalid } from '../../workflows/contracts/failure.ts';
import { changeSkillText } from './skills.ts';
import { skillDocuments } from './skill-text.ts';

/** The changes in a body; an absent field stays as it is. */
interface SkillChange {
  readonly description?: string;
  readonly instructions?: string;
  readonly reference_docs?: readonly StoredReferenceDoc[];
  readonly is_active?: boolean;
}

/** Writes changes to a locked skill, and returns what has changed, for the audit entry: of its texts only the description. */
export async function updateSkill(tx: TenantTransaction, skill: Skill, change: SkillChange): Promise<AuditSubject['changes']> {
  const before = fieldsOf(skill);
  const texts = { instructions: skill.instructions, reference_docs: hashesOf(skill.referenceDocs) };
  if (change.is_active !== undefined) skill.isActive = change.is_active;
  const text = {
    description: change.description ?? skill.description,
    instructions: change.instructions ?? skill.instructions,
    referenceDocs: change.reference_docs === undefined ? skill.referenceDocs : withFiles(change.reference_docs, skill.referenceDocs),
    frontMatter: skill.frontMatter,
  };
  if (!(await changeSkillText(tx, skill, { text, origin: 'human' }))) await tx.em.flush();

  const changes: Record<string, { from?: unknown; to?: unknown; changed?: true }> = {};
  for (const [field, to] of Object.entries(fieldsOf(skill))) if (before[field] !== to) changes[field] = { from: before[field], to };
  if (skill.instructions !== texts.instructions) changes['instructions'] = { changed: true };
  if (hashesOf(skill.referenceDocs) !== texts.reference_docs) changes['reference_docs'] = { changed: true };
  return changes;
}

/** A body can name only texts: the skill's files stay, unless a text takes the name. Throws 422 when that makes too many documents. */
function withFiles(sent: readonly StoredReferenceDoc[], before: readonly StoredReferenceDoc[]): StoredReferenceDoc[] {
  const files = before.filter(({ name, attachment_id: id }) => id !== undefined && !sent.some((doc) => doc.name === name));
  if (sent.length + files.length > skillDocuments)
    throw invalid('/reference_docs', 'maxItems', `A skill can have at most ${skillDocuments} documents.`, { limit: skillDocuments });
  return [...sent, ...files];
}

function fieldsOf(skill: Skill): Record<string, unknown> {
  return {
    description: skill.description,
    is_active: skill.isActive,
    version: skill.version,
    curation_state: skill.curationState,
  };
}

function hashesOf(docs: readonly StoredReferenceDoc[]): string {
  return JSON.stringify(docs.map(({ name, media_type, sha256 }) => [name, media_type, sha256]));
}
