import { Condition } from './condition.ts';
import type { RowScope } from './new-row-scope.ts';

/** A workspace with its organization. */
export interface Place {
  readonly organizationId: string;
  readonly workspaceId: string;
}

/** Returns a condition for the rows of a scoped table that an organization or workspace may use: its own, and those of a wider scope. */
export function usableIn({ organizationId, workspaceId }: Pick<RowScope, 'organizationId' | 'workspaceId'>, alias: string): Condition {
  return new Condition(
    `(${alias}.scope = 'platform' or (${alias}.organization_id = ?::uuid and (${alias}.workspace_id is null or ${alias}.workspace_id = ?::uuid)))`,
    [organizationId, workspaceId],
  );
}
