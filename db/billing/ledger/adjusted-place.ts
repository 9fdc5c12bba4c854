import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** The run, or the whole workspace, that an adjustment is for. */
export interface AdjustedPlace {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly runId: string | null;
  readonly agentId: string | null;
  readonly agentRevisionId: string | null;
  readonly userId: string | null;
  readonly serviceKeyId: string | null;
  readonly lineage: readonly string[];
  readonly evaluationRunId: string | null;
}

/** Returns a workspace in the transaction's tenant, with its run; null when either does not exist. */
export async function readAdjustedPlace(
  tx: Pick<TenantTransaction, 'em'>,
  { workspaceId, runId }: { readonly workspaceId: string; readonly runId: string | null },
): Promise<AdjustedPlace | null> {
  return row<AdjustedPlace>(
    tx.em,
    `select w.organization_id as "organizationId", w.id as "workspaceId", r.id as "runId", r.agent_id as "agentId", r.agent_revision_id as "agentRevisionId",
            coalesce(r.created_by_acting_user_id, case when r.created_by_kind = 'user' then r.created_by_id end) as "userId",
            case when r.created_by_kind = 'service_key' then r.created_by_id end as "serviceKeyId", coalesce(r.lineage, '{}') as lineage, r.evaluation_run_id as "evaluationRunId"
       from workspaces w left join runs r on r.id = ?::uuid and r.workspace_id = w.id
      where w.id = ? and (?::uuid is null or r.id is not null)`,
    [runId, workspaceId, runId],
  );
}
