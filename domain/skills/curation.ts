import { fail, invalid } from '../../workflows/contracts/failure.ts';
import type { Changing } from '../../db/scope.ts';
import { lockSkills, readSuccessorState } from '../../db/skills/owners.ts';
import type { Skill } from '../../db/skills/skill.entity.ts';
import type { CurationState } from '../../workflows/contracts/knowledge/curation.ts';
import { seeSkillForChange } from './skills.ts';

/** The states that lead to each state. */
const sources: Readonly<Record<CurationState, readonly CurationState[]>> = {
  reviewed: ['pending'],
  promoted: ['reviewed'],
  superseded: ['promoted'],
  retired: ['pending', 'reviewed', 'promoted', 'superseded'],
  pending: ['retired'],
};

export interface Curation {
  readonly to: CurationState;
  /** The version that the curator has read. */
  readonly version: number;
  /** The successor; only for a superseded skill. */
  readonly supersededBy: string | null;
}

/**
 * Moves a skill to another state of curation: reviewed and promoted apply to the version that was read, a superseded skill names its promoted successor, and a
 * retired one loses its promoted versions. Returns the skill and its previous state.
 * @throws 404, 403, 423; 409 `version_stale` when it has another version by now, `illegal_transition`; 422 for an invalid successor.
 */
export async function curateSkill(
  ctx: Changing,
  skillId: string,
  { to, version, supersededBy }: Curation,
): Promise<{ readonly skill: Skill; readonly from: CurationState }> {
  // If two skills are to supersede each other concurrently, one request waits and then finds the other skill superseded.
  if (supersededBy !== null) await lockSkills(ctx, [skillId, supersededBy]);
  const skill = await seeSkillForChange(ctx, skillId, { versionProperty: null });
  const from = skill.curationState;
  if (skill.version !== version)
    throw fail('state_conflict', {
      reason: 'version_stale',
      detail: 'The skill has been changed: it has another version now.',
      context: { version: skill.version },
    });
  if (!sources[to].includes(from))
    throw fail('state_conflict', { reason: 'illegal_transition', detail: `A ${from} skill cannot become ${to}.`, context: { from, to } });
  if (supersededBy !== null) await refuseNoSuccessor(ctx, skill, supersededBy);

  skill.curationState = to;
  skill.supersededBy = supersededBy;
  if (to === 'promoted') {
    skill.promotedVersion = version;
    skill.promotedVersions = [...skill.promotedVersions.filter((other) => other !== version), version];
  }
  if (to === 'retired' || to === 'pending') {
    skill.promotedVersion = null;
    skill.promotedVersions = [];
  }
  await ctx.em.flush();
  return { skill, from };
}

/** A successor must be promoted, lie in the same or a wider row scope, and not be private to another user. */
async function refuseNoSuccessor(ctx: Changing, skill: Skill, successorId: string): Promise<void> {
  if (successorId === skill.id) throw invalid('/superseded_by', 'range', 'A skill cannot supersede itself.');
  const { organizationId, workspaceId, ownerUserId } = skill;
  const state = await readSuccessorState(ctx, { successorId, organizationId, workspaceId, ownerUserId });
  if (state === null)
    throw invalid('/superseded_by', 'reference', 'The skill does not exist in this scope or a wider one.', { kind: 'skill' });
  if (state !== 'promoted') throw invalid('/superseded_by', 'range', 'Only a promoted skill can replace another.');
}
