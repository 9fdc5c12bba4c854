import { creatorOf, type ActorRef } from '../../db/actor-ref.ts';
import type { RowScope } from '../../db/new-row-scope.ts';
import { seeForChange, type ChangeOptions, type Changing } from '../../db/scope.ts';
import { insertSkill, insertVersion } from '../../db/skills/insert-skill.ts';
import { dropSkillFiles } from '../../db/skills/skill-files.ts';
import { Skill, type SkillOrigin } from '../../db/skills/skill.entity.ts';
import type { CurationState } from '../../workflows/contracts/knowledge/curation.ts';
import { readSkillOfSlug, requireSkill } from '../../db/skills/visible-skills.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { columnsOf, type SkillText } from './skill-text.ts';

export interface NewSkill extends RowScope {
  readonly slug: string;
  readonly text: SkillText;
  readonly origin: SkillOrigin;
  readonly ownerAgentId: string | null;
  readonly ownerUserId: string | null;
  readonly isActive: boolean;
  /** Default: the actor. */
  readonly createdBy?: ActorRef;
}

/** A new text of a skill, its origin, and its author (default: the actor). */
export interface NewText {
  readonly text: SkillText;
  readonly origin: SkillOrigin;
  readonly createdBy?: ActorRef;
}

/** Loads and locks a skill that is about to change. Like `seeForChange`; another user's private skill is the same 404. */
export async function seeSkillForChange(ctx: Changing, skillId: string, options: ChangeOptions = {}): Promise<Skill> {
  await requireSkill(ctx, skillId);
  return seeForChange(ctx, Skill, skillId, options);
}

/** Returns the skill with a slug in exactly this row scope, locked; null when the slug is free. Throws 409 when the caller does not see the skill. */
export async function findSkillInScope(ctx: Changing, rowScope: RowScope, slug: string): Promise<Skill | null> {
  const found = await readSkillOfSlug(ctx, rowScope, slug);
  if (!found) return null;
  if (!found.isVisible) throw fail('already_exists');
  return seeForChange(ctx, Skill, found.id, { versionProperty: null });
}

/** Creates a pending skill and its first version. Returns the skill. */
export async function makeSkill(tx: TenantTransaction, { text, createdBy = creatorOf(tx.actor), ...made }: NewSkill): Promise<Skill> {
  return insertSkill(tx, { ...made, ...columnsOf(text), createdBy });
}

/**
 * Changes the text of a skill, which the caller has locked: creates a new pending version. Returns false when the text is the same.
 * @throws 409 `illegal_transition` for a superseded or retired skill.
 */
export async function changeSkillText(
  tx: TenantTransaction,
  skill: Skill,
  { text, origin, createdBy = creatorOf(tx.actor) }: NewText,
): Promise<boolean> {
  const next = columnsOf(text);
  if (next.contentHash === skill.contentHash) return false;
  if (skill.curationState === 'superseded' || skill.curationState === 'retired')
    throw fail('state_conflict', {
      reason: 'illegal_transition',
      detail: `The text of a ${skill.curationState} skill cannot be changed.`,
    });

  Object.assign(skill, next, { version: skill.version + 1, curationState: 'pending' satisfies CurationState });
  await insertVersion(tx, skill, { origin, createdBy });
  return true;
}

/** Deletes a skill, which the caller has locked, as of `at`: no agent loads it any more, and its files expire with it. */
export async function deleteSkill(tx: TenantTransaction, skill: Skill, at: Date): Promise<void> {
  skill.deletedAt = at;
  await tx.em.flush();
  await dropSkillFiles(tx, skill.id);
}
