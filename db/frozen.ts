import { fail } from '../workflows/contracts/failure.ts';

/** 423 inside a suspended or deleting organization or an archived workspace, with the reason; nulls where there is neither. */
export function assertScopeActive(organizationStatus: string | null, isWorkspaceActive: boolean | null = null): void {
  if (organizationStatus !== null && organizationStatus !== 'active')
    throw fail('resource_frozen', { reason: `organization_${organizationStatus}` });
  if (isWorkspaceActive === false) throw fail('resource_frozen', { reason: 'workspace_archived' });
}
