import type { ActorRef } from '../actor-ref.ts';
import { newId } from '../ids.ts';
import type { RowScope } from '../new-row-scope.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { SkillVersion } from './skill-version.entity.ts';
import { Skill, type SkillOrigin } from './skill.entity.ts';

/** The part of a skill that has versions. */
export type SkillColumns = Pick<Skill, 'description' | 'instructions' | 'referenceDocs' | 'frontMatter' | 'contentHash'>;

export interface NewSkillRow extends RowScope, SkillColumns {
  readonly slug: string;
  readonly origin: SkillOrigin;
  readonly ownerAgentId: string | null;
  readonly ownerUserId: string | null;
  readonly isActive: boolean;
  readonly createdBy: ActorRef;
}

/** Stores a pending skill and its first version. Returns the skill. */
export async function insertSkill(tx: TenantTransaction, made: NewSkillRow): Promise<Skill> {
  const states = {
    version: 1,
    promotedVersion: null,
    supersededBy: null,
    curationState: 'pending',
    lastUsedAt: null,
    deletedAt: null,
  } as const;
  const skill = tx.em.create(Skill, { id: newId(), ...made, ...states });
  await insertVersion(tx, skill, made);
  return skill;
}

/** Stores a skill as it is, and its text as a version. */
export async function insertVersion(
  tx: TenantTransaction,
  skill: Skill,
  { origin, createdBy }: { readonly origin: SkillOrigin; readonly createdBy: ActorRef },
): Promise<void> {
  const { organizationId, workspaceId, version, description, instructions, referenceDocs, frontMatter, contentHash } = skill;
  const text = { description, instructions, referenceDocs, frontMatter, contentHash };
  const row = tx.em.create(SkillVersion, {
    id: newId(),
    skillId: skill.id,
    organizationId,
    workspaceId,
    version,
    ...text,
    origin,
    createdBy,
  });
  await tx.em.persist([skill, row]).flush();
}
