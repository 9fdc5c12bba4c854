import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { ReviewBinding } from '../pulls/review-run.ts';

/** A binding with what is needed to reach its repository. */
export interface RepositoryPlaceRow {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly binding: ReviewBinding;
}

/** Returns an undeleted binding of the transaction's tenant, or null when there is none. */
export function readRepositoryPlace(tx: Pick<TenantTransaction, 'em'>, bindingId: string): Promise<RepositoryPlaceRow | null> {
  return row<RepositoryPlaceRow>(
    tx.em,
    `select b.organization_id as "organizationId", b.workspace_id as "workspaceId",
            jsonb_build_object('id', b.id, 'appKind', b.app_kind, 'installationId', b.installation_id, 'installationState', b.installation_state, 'repoId', b.repo_id,
              'repoFullName', b.repo_full_name, 'reviewerAgentId', b.reviewer_agent_id, 'isActive', b.is_active and b.deleted_at is null,
              'reviewConfig', b.review_config, 'budgetConfig', b.budget_config, 'workspaceConfig', b.workspace_config) as binding
       from repo_bindings b where b.id = ? and b.deleted_at is null`,
    [bindingId],
  );
}
