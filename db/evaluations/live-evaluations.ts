import type { LiveWork, WorkPage } from '../knowledge/live-work.ts';
import { rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** Evaluations without an end, and whether the start of their workflow waits to be sent. Sweeper's pool. */
export function liveEvaluations(tx: Pick<TenantTransaction, 'em'>, { after, limit }: WorkPage): Promise<LiveWork[]> {
  return rows<LiveWork>(
    tx.em,
    `select e.id, e.organization_id as "organizationId", e.workspace_id as "workspaceId",
            exists (select from outbox o where o.target = 'eval:' || e.id and o.kind = 'workflow.start' and o.sent_at is null) as "isUnsent"
       from evaluation_runs e
      where e.finished_at is null and e.created_at < now() - interval '1 minute' and e.id > coalesce(?::uuid, '00000000-0000-0000-0000-000000000000')
      order by e.id limit ?`,
    [after, limit],
  );
}
