import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { rows } from '../sql.ts';

/** A key of an endpoint whose group should have closed a minute ago. */
export interface OverdueGroup {
  readonly endpointId: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly hash: Buffer;
}

/** At most `limit` keys whose groups are 60 s overdue: the signal that should have closed them is lost. Sweeper's pool. */
export function overdueGroups(em: SqlEntityManager, limit: number): Promise<OverdueGroup[]> {
  return rows<OverdueGroup>(
    em,
    `select d.endpoint_id as "endpointId", d.organization_id as "organizationId", d.workspace_id as "workspaceId", d.coalesce_hash as hash
       from webhook_deliveries d join webhook_endpoints e on e.id = d.endpoint_id
      where d.status = 'coalescing'
      group by d.endpoint_id, d.organization_id, d.workspace_id, d.coalesce_hash, e.coalescing
     having case when e.coalescing ->> 'mode' = 'debounce'
              then least(max(d.received_at) + make_interval(secs => (e.coalescing ->> 'windowSeconds')::int),
                         min(d.received_at) + make_interval(secs => (e.coalescing ->> 'maxWaitSeconds')::int))
              else min(d.received_at) + make_interval(secs => coalesce((e.coalescing ->> 'windowSeconds')::int, 0)) end < now() - interval '60 seconds'
      limit ?`,
    [limit],
  );
}
