import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { rows } from '../sql.ts';
import { groupTables, type GroupKey, type GroupTable } from './group-queries.ts';

/** A key of an endpoint or event trigger whose group should have closed a minute ago. */
export interface OverdueGroup extends GroupKey {
  readonly organizationId: string;
  readonly workspaceId: string;
}

const owners = { webhook_deliveries: 'webhook_endpoints', event_matches: 'event_triggers' } as const;

/** Returns at most `limit` keys of a table whose groups are 60 s overdue: the signal that should have closed them is lost. Sweeper's pool. */
export async function overdueGroups(em: SqlEntityManager, table: GroupTable, limit: number): Promise<OverdueGroup[]> {
  const { owner, state, came } = groupTables[table];
  const found = await rows<Omit<OverdueGroup, 'table'>>(
    em,
    `select d.${owner} as "ownerId", d.organization_id as "organizationId", d.workspace_id as "workspaceId", d.coalesce_hash as hash
       from ${table} d join ${owners[table]} e on e.id = d.${owner}
      where d.${state} = 'coalescing'
      group by d.${owner}, d.organization_id, d.workspace_id, d.coalesce_hash, e.coalescing
     having case when e.coalescing ->> 'mode' = 'debounce'
              then least(max(d.${came}) + make_interval(secs => (e.coalescing ->> 'windowSeconds')::int),
                         min(d.${came}) + make_interval(secs => (e.coalescing ->> 'maxWaitSeconds')::int))
              else min(d.${came}) + make_interval(secs => coalesce((e.coalescing ->> 'windowSeconds')::int, 0)) end < now() - interval '60 seconds'
      limit ?`,
    [limit],
  );
  return found.map((group) => ({ ...group, table }));
}
