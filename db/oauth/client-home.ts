import { row } from '../sql.ts';
import { isUnbounded, organizationOf, workspacesOf } from '../reach.ts';
import type { Scoped } from '../scope.ts';

/** Returns whether the organization and workspace where a client is to act exist and are visible to the caller. */
export async function homeOfClient(
  ctx: Scoped,
  { organizationId, workspaceId }: { organizationId: string; workspaceId: string | null },
): Promise<{ hasOrganization: boolean; hasWorkspace: boolean }> {
  const isReached = isUnbounded(ctx.caller) || organizationOf(ctx.caller) === organizationId;
  const workspaces = workspacesOf(ctx.caller);
  const found = await row<{ has_workspace: boolean }>(
    ctx.em,
    `select exists (select from workspaces w where w.id = ?::uuid and w.organization_id = o.id) as has_workspace
     from organizations o where o.id = ?::uuid and o.purged_at is null`,
    [workspaceId, organizationId],
  );

  const isWorkspaceReached = workspaces === null || (workspaceId !== null && workspaces.includes(workspaceId));
  return { hasOrganization: isReached && found !== null, hasWorkspace: isWorkspaceReached && (found?.has_workspace ?? false) };
}
