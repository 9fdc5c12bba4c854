import { sql } from 'kysely';
import { query } from '../query.ts';
import { isUnbounded, organizationOf, workspacesOf } from '../caller-scope.ts';
import type { Scoped } from '../scope.ts';
import { row } from '../sql.ts';

/** Returns whether the organization and workspace where a client is to act exist and are visible to the caller. */
export async function findRowScopeOfClient(
  ctx: Scoped,
  { organizationId, workspaceId }: { organizationId: string; workspaceId: string | null },
): Promise<{ hasOrganization: boolean; hasWorkspace: boolean }> {
  const isReached = isUnbounded(ctx.caller) || organizationOf(ctx.caller) === organizationId;
  const workspaces = workspacesOf(ctx.caller);
  const found = await row(
    ctx.em,
    query
      .selectFrom('organizations as o')
      .select(({ exists, selectFrom }) =>
        exists(
          selectFrom('workspaces as w')
            .select(sql.lit(1).as('one'))
            .where('w.id', '=', sql<string>`${workspaceId}::uuid`)
            .whereRef('w.organizationId', '=', 'o.id'),
        )
          .$castTo<boolean>()
          .as('hasWorkspace'),
      )
      .where('o.id', '=', organizationId)
      .where('o.purgedAt', 'is', null),
  );

  const isWorkspaceReached = workspaces === null || (workspaceId !== null && workspaces.includes(workspaceId));
  return { hasOrganization: isReached && found !== null, hasWorkspace: isWorkspaceReached && (found?.hasWorkspace ?? false) };
}
