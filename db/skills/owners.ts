import { Agent } from '../agents/agent.entity.ts';
import type { RowScope } from '../new-row-scope.ts';
import { query } from '../query.ts';
import { visibleTo, type Scoped } from '../scope.ts';
import { row } from '../sql.ts';
import { usableIn } from '../usable-in.ts';
import type { CurationState } from '../../workflows/contracts/knowledge/curation.ts';
import { visibleSkills } from './visible-skills.ts';

type Place = Pick<RowScope, 'organizationId' | 'workspaceId'>;

/** Whether the caller sees an agent in this organization or workspace, or in a wider scope. */
export async function hasAgent(ctx: Scoped, place: Place, agentId: string): Promise<boolean> {
  const agents = query
    .selectFrom('agents as a')
    .select('a.id')
    .where('a.id', '=', agentId)
    .where('a.deletedAt', 'is', null)
    .where(visibleTo(ctx, Agent, 'a'))
    .where(usableIn(place, 'a'));
  return (await row(ctx.em, agents)) !== null;
}

/** Whether a user belongs to an organization, or has access to a workspace: by belonging to it, by a grant, or by belonging to the organization as a whole. */
export async function hasUser(ctx: Scoped, { organizationId, workspaceId }: Place, userId: string): Promise<boolean> {
  const users = query
    .selectFrom('users as u')
    .select('u.id')
    .where('u.id', '=', userId)
    .where('u.deletedAt', 'is', null)
    .where('u.organizationId', 'is not distinct from', organizationId);
  if (workspaceId === null) return (await row(ctx.em, users)) !== null;

  const granted = query.selectFrom('workspace_grants as g').select('g.userId').where('g.workspaceId', '=', workspaceId);
  const reaching = users.where((eb) =>
    eb.or([eb('u.workspaceId', 'is', null), eb('u.workspaceId', '=', workspaceId), eb('u.id', 'in', granted)]),
  );
  return (await row(ctx.em, reaching)) !== null;
}

export interface Succession extends Place {
  readonly successorId: string;
  readonly ownerUserId: string | null;
}

/**
 * Returns the state of a skill that could succeed one of this row scope and owner: it has the same or a wider scope, and is not private to another user.
 * Otherwise null.
 */
export async function readSuccessorState(ctx: Scoped, { successorId, ownerUserId, ...place }: Succession): Promise<CurationState | null> {
  const skills = query
    .selectFrom('skills as s')
    .select('s.curationState')
    .where('s.id', '=', successorId)
    .where('s.deletedAt', 'is', null)
    .where(visibleSkills(ctx))
    .where(usableIn(place, 's'))
    .where((eb) => eb.or([eb('s.ownerUserId', 'is', null), eb('s.ownerUserId', '=', ownerUserId)]));
  return (await row(ctx.em, skills))?.curationState ?? null;
}

/** Locks two skills, always in the same order. */
export async function lockSkills(ctx: Scoped, ids: readonly string[]): Promise<void> {
  await row(ctx.em, query.selectFrom('skills as s').select('s.id').where('s.id', 'in', ids).orderBy('s.id').forUpdate());
}
