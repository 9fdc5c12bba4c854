import type { Caller } from '../../db/caller.ts';
import type { RowScope } from '../../db/new-row-scope.ts';
import type { Scoped } from '../../db/scope.ts';
import { hasAgent, hasUser } from '../../db/skills/owners.ts';
import { rankOf, type Role } from '../../workflows/contracts/access.ts';
import { fail, invalid } from '../../workflows/contracts/failure.ts';

export interface Owners {
  readonly ownerAgentId: string | null;
  readonly ownerUserId: string | null;
}

/**
 * Checks the owners of a new skill in its row scope: an agent must lie in the same or a wider scope; a user must be the caller or, for an admin, any user with
 * access to the scope. Throws 422 `reference` for others, 403 for a user that only an admin may name.
 */
export async function refuseOwners(ctx: Scoped, rowScope: RowScope, { ownerAgentId, ownerUserId }: Owners): Promise<void> {
  if (ownerAgentId !== null && !(await hasAgent(ctx, rowScope, ownerAgentId)))
    throw invalid('/owner_agent_id', 'reference', 'The agent does not exist in this scope or a wider one.', { kind: 'agent' });
  if (ownerUserId === null) return;
  if (!(await hasUser(ctx, rowScope, ownerUserId)))
    throw invalid('/owner_user_id', 'reference', 'The user does not exist in this scope.', { kind: 'user' });
  if (ownerUserId !== ctx.caller.userId && rankOf(roleAt(ctx.caller, rowScope)) < rankOf('admin'))
    throw fail('role_insufficient', { detail: 'Only an admin can give a skill to another user.' });
}

function roleAt(caller: Caller, { workspaceId }: RowScope): Role {
  if (caller.workspaces === 'all' || workspaceId === null) return caller.role;
  return caller.workspaces.get(workspaceId) ?? 'viewer';
}
