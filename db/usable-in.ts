import { Condition } from './condition.ts';

/** A workspace with its organization. */
export interface Place {
  readonly organizationId: string;
  readonly workspaceId: string;
}

/** Returns a condition for the rows of a scoped table that a workspace may use: its own, its organization's, and the platform's. */
export function usableIn({ organizationId, workspaceId }: Place, alias: string): Condition {
  return new Condition(
    `(${alias}.scope = 'platform' or (${alias}.organization_id = ?::uuid and (${alias}.workspace_id is null or ${alias}.workspace_id = ?::uuid)))`,
    [organizationId, workspaceId],
  );
}
