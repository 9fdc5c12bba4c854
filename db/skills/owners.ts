import { fail, invalid } from '../../workflows/contracts/failure.ts';
import { rankOf, type Role } from '../../workflows/contracts/access.ts';
import { Agent } from '../agents/agent.entity.ts';
import type { Caller } from '../caller.ts';
import type { RowScope } from '../new-row-scope.ts';
import { visibleTo, type Scoped } from '../scope.ts';
import { row } from '../sql.ts';

export interface Owners {
  readonly ownerAgentId: string | null;
  readonly ownerUserId: string | null;
}

/**
 * Checks whom a new skill of a home is to belong to: an agent of the same or a wider place, and the caller, or, for an admin, any user who
 * reaches the place. 422 `reference` for others, 403 for a user that only an admin may name.
 */
export async function refuseOwners(ctx: Scoped, home: RowScope, { ownerAgentId, ownerUserId }: Owners): Promise<void> {
  if (ownerAgentId !== null && !(await hasAgent(ctx, home, ownerAgentId)))
    throw invalid('/owner_agent_id', 'reference', 'The agent does not exist in this place or a wider one.', { kind: 'agent' });
  if (ownerUserId === null) return;
  if (!(await hasUser(ctx, home, ownerUserId)))
    throw invalid('/owner_user_id', 'reference', 'The user does not exist in this place.', { kind: 'user' });
  if (ownerUserId !== ctx.caller.userId && rankOf(roleAt(ctx.caller, home)) < rankOf('admin'))
    throw fail('role_insufficient', { detail: 'Only an admin gives a skill to another user.' });
}

async function hasAgent(ctx: Scoped, home: RowScope, agentId: string): Promise<boolean> {
  const visible = visibleTo(ctx, Agent, 'a');
  const found = await row(
    ctx.em,
    `select a.id from agents a where a.id = ? and a.deleted_at is null and ${visible.sql}
       and (a.scope = 'platform' or (a.organization_id = ?::uuid and (a.workspace_id is null or a.workspace_id = ?::uuid)))`,
    [agentId, ...visible.params, home.organizationId, home.workspaceId],
  );
  return found !== null;
}

/** A user reaches a workspace by belonging to it, by a grant, or by belonging to the organization as a whole. */
async function hasUser(ctx: Scoped, home: RowScope, userId: string): Promise<boolean> {
  const found = await row(
    ctx.em,
    `select u.id from users u where u.id = ? and u.deleted_at is null and u.organization_id is not distinct from ?::uuid
       and (?::uuid is null or u.workspace_id is null or u.workspace_id = ?::uuid
         or exists (select from workspace_grants g where g.user_id = u.id and g.workspace_id = ?::uuid))`,
    [userId, home.organizationId, home.workspaceId, home.workspaceId, home.workspaceId],
  );
  return found !== null;
}

function roleAt(caller: Caller, { workspaceId }: RowScope): Role {
  if (caller.workspaces === 'all' || workspaceId === null) return caller.role;
  return caller.workspaces.get(workspaceId) ?? 'viewer';
}
