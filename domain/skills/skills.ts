import { creatorOf, type ActorRef } from '../../db/actor-ref.ts';
import type { RowScope } from '../../db/new-row-scope.ts';
import { seeForChange, type ChangeOptions, type Changing } from '../../db/scope.ts';
import { insertSkill, insertVersion } from '../../db/skills/insert-skill.ts';
import { dropSkillFiles } from '../../db/skills/skill-files.ts';
import { Skill, type CurationState, type SkillOrigin } from '../../db/skills/skill.entity.ts';
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
  /** Default: who acts. */
  readonly createdBy?: ActorRef;
}

/** Another text for a skill, where it comes from, and who wrote it (default: who acts). */
export interface NewText {
  readonly text: SkillText;
  readonly origin: SkillOrigin;
  readonly createdBy?: ActorRef;
}

/** Loads and locks a skill that is about to change. Like `seeForChange`; a private skill of somebody else is the same 404. */
export async function seeSkillForChange(ctx: Changing, skillId: string, options: ChangeOptions = {}): Promise<Skill> {
  await requireSkill(ctx, skillId);
  return seeForChange(ctx, Skill, skillId, options);
}

/** The skill that holds a slug in this very place, locked; null when the slug is free. 409 when it is one that the caller does not see. */
export async function findSkillOfHome(ctx: Changing, home: RowScope, slug: string): Promise<Skill | null> {
  const found = await readSkillOfSlug(ctx, home, slug);
  if (!found) return null;
  if (!found.isVisible) throw fail('already_exists');
  return seeForChange(ctx, Skill, found.id, { versionProperty: null });
}

/** Makes a pending skill and its first version. Gives the skill. */
export async function makeSkill(tx: TenantTransaction, { text, createdBy = creatorOf(tx.actor), ...made }: NewSkill): Promise<Skill> {
  return insertSkill(tx, { ...made, ...columnsOf(text), createdBy });
}

/**
 * Gives a skill, which the caller has locked, another text: a new version, pending. False when it says the same already.
 * @throws 409 `illegal_transition` for a superseded or retired one.
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

/** Deletes a skill, which the caller has locked, at a time: no agent loads it any more, and its files go with it. */
export async function deleteSkill(tx: TenantTransaction, skill: Skill, at: Date): Promise<void> {
  skill.deletedAt = at;
  await tx.em.flush();
  await dropSkillFiles(tx, skill.id);
}
