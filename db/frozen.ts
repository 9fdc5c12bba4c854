import { fail } from '../workflows/contracts/failure.ts';

/** Throws 423 inside a suspended or deleting organization or an archived workspace, with the reason. Pass null where there is no organization or workspace. */
export function assertScopeActive(organizationStatus: string | null, isWorkspaceActive: boolean | null = null): void {
  if (organizationStatus !== null && organizationStatus !== 'active')
    throw fail('resource_frozen', { reason: `organization_${organizationStatus}` });
  if (isWorkspaceActive === false) throw fail('resource_frozen', { reason: 'workspace_archived' });
}
