import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { rows } from '../sql.ts';

/** An archived workspace whose retention is over. */
export interface DueWorkspace {
  readonly id: string;
  readonly organizationId: string;
}

/** Returns archived workspaces past their `purge_after`, longest due first. Sweeper's pool, like everything here. */
export function dueWorkspaces(em: SqlEntityManager, limit: number): Promise<DueWorkspace[]> {
  return rows<DueWorkspace>(
    em,
    `select w.id, w.organization_id as "organizationId" from workspaces w join organizations o on o.id = w.organization_id
      where not w.is_active and w.purge_after <= now() and o.purged_at is null
      order by w.purge_after limit ?`,
    [limit],
  );
}
