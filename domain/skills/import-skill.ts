import type { RowScope } from '../../db/new-row-scope.ts';
import type { Changing } from '../../db/scope.ts';
import type { StoredReferenceDoc } from '../../db/skills/reference-doc.ts';
import type { Skill } from '../../db/skills/skill.entity.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { holdSkillFiles, recordSkillFiles, type FilePlace, type NewSkillFile } from './skill-files.ts';
import type { SkillText } from './skill-text.ts';
import { changeSkillText, findSkillOfHome, makeSkill } from './skills.ts';

/** What was read out of files, before the transaction. */
export interface ReadImport {
  readonly slug: string;
  readonly text: SkillText;
  /** Their bytes are stored; what is not recorded then is swept. */
  readonly files: readonly NewSkillFile[];
  /** What the front matter was taken for otherwise than YAML takes it. */
  readonly warnings: readonly string[];
}

export interface ImportTarget {
  readonly home: RowScope;
  readonly onConflict: 'reject' | 'new_version';
  /** Who uploaded the files, and whether somebody looks at them before they can be used. */
  readonly uploaded: Pick<FilePlace, 'isScanned' | 'createdBy'>;
}

/**
 * Stores what was read: a new pending skill, or, where the place has one of this slug and it is asked for, its next version. A text that it has
 * already changes nothing. Throws 409 `already_exists`, and what `changeSkillText` throws.
 */
export async function storeImport(
  ctx: Changing,
  { slug, text: read, files }: ReadImport,
  { home, onConflict, uploaded }: ImportTarget,
): Promise<{ readonly skill: Skill; readonly isNew: boolean; readonly before: number }> {
  const existing = await findSkillOfHome(ctx, home, slug);
  if (existing !== null && onConflict === 'reject')
    throw fail('already_exists', { detail: 'A skill with this slug already exists in this scope.' });
  const { organizationId, workspaceId } = home;
  const known = existing?.referenceDocs ?? [];
  // A skill of the platform has kept no files.
  const docs =
    organizationId === null ? [] : await recordSkillFiles(ctx, files, { place: { organizationId, workspaceId, ...uploaded }, known });
  const text = { ...read, referenceDocs: inOrder([...read.referenceDocs, ...docs]) };
  if (existing === null) {
    const made = { ...home, slug, text, origin: 'import', ownerAgentId: null, ownerUserId: null, isActive: true } as const;
    const skill = await makeSkill(ctx, made);
    await holdSkillFiles(ctx, skill, docs);
    return { skill, isNew: true, before: 0 };
  }
  const before = existing.version;
  await changeSkillText(ctx, existing, { text, origin: 'import' });
  await holdSkillFiles(ctx, existing, docs);
  return { skill: existing, isNew: false, before };
}

/** By name, whatever is a text and what is a file: equal bundles are equal skills. */
function inOrder(docs: readonly StoredReferenceDoc[]): StoredReferenceDoc[] {
  return docs.some(({ attachment_id: id }) => id !== undefined)
    ? docs.toSorted((left, right) => (left.name < right.name ? -1 : 1))
    : [...docs];
}
