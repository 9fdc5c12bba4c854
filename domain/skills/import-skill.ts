import type { RowScope } from '../../db/new-row-scope.ts';
import type { Changing } from '../../db/scope.ts';
import type { StoredReferenceDoc } from '../../db/skills/reference-doc.ts';
import type { Skill } from '../../db/skills/skill.entity.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { holdSkillFiles, recordSkillFiles, type FilePlace, type NewSkillFile } from './skill-files.ts';
import type { SkillText } from './skill-text.ts';
import { changeSkillText, findSkillInScope, makeSkill } from './skills.ts';

/** The import as read from files, before the transaction. */
export interface ReadImport {
  readonly slug: string;
  readonly text: SkillText;
  /** Their bytes are stored; bytes that are not recorded in a row are swept. */
  readonly files: readonly NewSkillFile[];
  /** Where the front matter was interpreted differently from YAML. */
  readonly warnings: readonly string[];
}

export interface ImportTarget {
  readonly rowScope: RowScope;
  readonly onConflict: 'reject' | 'new_version';
  /** Who uploaded the files, and whether they are scanned before they can be used. */
  readonly uploaded: Pick<FilePlace, 'isScanned' | 'createdBy'>;
}

/**
 * Stores an import: a new pending skill, or, if requested, the next version of the skill with this slug in the row scope. A text equal to the current one
 * changes nothing. Throws 409 `already_exists`, and what `changeSkillText` throws.
 */
export async function storeImport(
  ctx: Changing,
  { slug, text: read, files }: ReadImport,
  { rowScope, onConflict, uploaded }: ImportTarget,
): Promise<{ readonly skill: Skill; readonly isNew: boolean; readonly before: number }> {
  const existing = await findSkillInScope(ctx, rowScope, slug);
  if (existing !== null && onConflict === 'reject')
    throw fail('already_exists', { detail: 'A skill with this slug already exists in this scope.' });
  const { organizationId, workspaceId } = rowScope;
  const known = existing?.referenceDocs ?? [];
  // A skill of the platform holds no files.
  const docs =
    organizationId === null ? [] : await recordSkillFiles(ctx, files, { place: { organizationId, workspaceId, ...uploaded }, known });
  const text = { ...read, referenceDocs: inOrder([...read.referenceDocs, ...docs]) };
  if (existing === null) {
    const made = { ...rowScope, slug, text, origin: 'import', ownerAgentId: null, ownerUserId: null, isActive: true } as const;
    const skill = await makeSkill(ctx, made);
    await holdSkillFiles(ctx, skill, docs);
    return { skill, isNew: true, before: 0 };
  }
  const before = existing.version;
  await changeSkillText(ctx, existing, { text, origin: 'import' });
  await holdSkillFiles(ctx, existing, docs);
  return { skill: existing, isNew: false, before };
}

/** Sorted by name, texts and files alike, so that equal bundles are equal skills. */
function inOrder(docs: readonly StoredReferenceDoc[]): StoredReferenceDoc[] {
  return docs.some(({ attachment_id: id }) => id !== undefined)
    ? docs.toSorted((left, right) => (left.name < right.name ? -1 : 1))
    : [...docs];
}
