import { fail, invalid } from '../../workflows/contracts/failure.ts';
import type { Changing } from '../scope.ts';
import { row, rows } from '../sql.ts';
import type { Skill, CurationState } from './skill.entity.ts';
import { seeSkillForChange, visibleSkills } from './visible-skills.ts';

/** Which states lead to a state. */
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
  /** The successor; only of a superseded one. */
  readonly supersededBy: string | null;
}

/**
 * Moves a skill to another state of curation: reviewed and promoted hold for the version that was read, a superseded one names its promoted
 * successor, and a retired one forgets what was promoted. Gives the skill and the state that it had.
 * @throws 404, 403, 423; 409 `version_stale` when it has another version by now, `illegal_transition`; 422 for a successor that is none.
 */
export async function curateSkill(
  ctx: Changing,
  skillId: string,
  { to, version, supersededBy }: Curation,
): Promise<{ readonly skill: Skill; readonly from: CurationState }> {
  if (supersededBy !== null) await lockInOrder(ctx, [skillId, supersededBy]);
  const skill = await seeSkillForChange(ctx, skillId, { versionProperty: null });
  const from = skill.curationState;
  if (skill.version !== version)
    throw fail('state_conflict', {
      reason: 'version_stale',
      detail: 'The skill has another version by now.',
      context: { version: skill.version },
    });
  if (!sources[to].includes(from))
    throw fail('state_conflict', { reason: 'illegal_transition', detail: `A ${from} skill does not become ${to}.`, context: { from, to } });
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

/** Of two skills that are to supersede each other at once, one waits and then finds the other superseded. */
async function lockInOrder(ctx: Changing, ids: readonly string[]): Promise<void> {
  await rows(ctx.em, 'select s.id from skills s where s.id = any(?::uuid[]) order by s.id for update', [ids]);
}

/** A successor is promoted, lies in the same or a wider place, and is not private to somebody else. */
async function refuseNoSuccessor(ctx: Changing, skill: Skill, successorId: string): Promise<void> {
  if (successorId === skill.id) throw invalid('/superseded_by', 'range', 'A skill does not supersede itself.');
  const visible = visibleSkills(ctx);
  const found = await row<{ curation_state: CurationState }>(
    ctx.em,
    `select s.curation_state from skills s where s.id = ? and s.deleted_at is null and ${visible.sql}
       and (s.scope = 'platform' or (s.organization_id = ?::uuid and (s.workspace_id is null or s.workspace_id = ?::uuid)))
       and (s.owner_user_id is null or s.owner_user_id = ?::uuid)`,
    [successorId, ...visible.params, skill.organizationId, skill.workspaceId, skill.ownerUserId],
  );
  if (!found) throw invalid('/superseded_by', 'reference', 'The skill does not exist in this place or a wider one.', { kind: 'skill' });
  if (found.curation_state !== 'promoted') throw invalid('/superseded_by', 'range', 'Only a promoted skill can take the place of another.');
}
