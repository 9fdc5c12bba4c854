import type { ReviewConfig, ReviewTemplates } from '../../../workflows/contracts/review/code-review.ts';
import type {
  AppKind,
  EditorConfig,
  InstallationState,
  ReviewBudgetConfig,
  ReviewRequest,
  ReviewWorkspaceConfig,
} from '../../../workflows/contracts/review/pull-requests.ts';
import type { RunStatus } from '../../../workflows/contracts/runs/runs.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** A review's run with all that determines it: its binding, its pull request, and the pinned revision of the playbook. */
export interface ReviewRun {
  readonly runId: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly status: RunStatus;
  readonly agentId: string;
  readonly review: ReviewRequest;
  /** Instructions of the person who asked, or the question of an ask; empty: none. */
  readonly text: string;
  readonly round: number | null;
  readonly playbookRevisionId: string;
  readonly templates: ReviewTemplates;
  readonly startedAt: Date | null;
  readonly binding: ReviewBinding;
  readonly pull: ReviewPull;
}

/** The part of a binding that its reviews need. */
export interface ReviewBinding {
  readonly id: string;
  readonly appKind: AppKind;
  readonly installationId: number;
  readonly installationState: InstallationState;
  readonly repoId: number;
  readonly repoFullName: string;
  readonly reviewerAgentId: string | null;
  readonly isActive: boolean;
  readonly reviewConfig: ReviewConfig;
  readonly editorConfig: EditorConfig;
  readonly budgetConfig: ReviewBudgetConfig;
  readonly workspaceConfig: ReviewWorkspaceConfig;
}

/** A pull request, and the results of its last successful review. */
export interface ReviewPull {
  readonly id: string;
  readonly pullNumber: number;
  readonly paused: boolean;
  readonly isBlockDismissed: boolean;
  readonly lastBaseRef: string | null;
  readonly lastHeadSha: string | null;
  readonly lastMergeBaseSha: string | null;
  readonly lastPlaybookRevisionId: string | null;
  /** Pushes of the editor. */
  readonly editorRounds: number;
  /** Cost of its reviews so far, in the deployment's currency. */
  readonly spent: string;
  readonly summaryReviewId: number | null;
  readonly summarySha256: string | null;
}

const reviewRunSql = `select r.id as "runId", r.organization_id as "organizationId", r.workspace_id as "workspaceId", r.status, r.agent_id as "agentId", r.review,
    case when (r.review ->> 'has_text')::boolean then coalesce(r.input ->> 'text', '') else '' end as text, r.review_round as round, r.playbook_revision_id as "playbookRevisionId", v.templates, r.started_at as "startedAt",
    jsonb_build_object('id', b.id, 'appKind', b.app_kind, 'installationId', b.installation_id, 'installationState', b.installation_state, 'repoId', b.repo_id,
      'repoFullName', b.repo_full_name, 'reviewerAgentId', b.reviewer_agent_id, 'isActive', b.is_active and b.deleted_at is null, 'reviewConfig', b.review_config,
      'editorConfig', b.editor_config,
      'budgetConfig', b.budget_config, 'workspaceConfig', b.workspace_config) as binding,
    jsonb_build_object('id', p.id, 'pullNumber', p.pull_number, 'paused', p.paused, 'isBlockDismissed', p.is_block_dismissed, 'lastBaseRef', p.last_base_ref,
      'lastHeadSha', p.last_head_sha, 'lastMergeBaseSha', p.last_merge_base_sha, 'lastPlaybookRevisionId', p.last_playbook_revision_id,
      'editorRounds', p.editor_rounds, 'spent', p.spent::text, 'summaryReviewId', p.summary_review_id, 'summarySha256', p.summary_sha256) as pull
  from runs r join repo_bindings b on b.id = r.binding_id join review_pull_requests p on p.id = r.review_pull_request_id
    join review_playbook_revisions v on v.id = r.playbook_revision_id
 where r.id = ? and r.deleted_at is null and r.review is not null`;

/** Returns a review's run of the transaction's tenant, or null when it is deleted or is not a review. */
export async function readReviewRun(tx: Pick<TenantTransaction, 'em'>, runId: string): Promise<ReviewRun | null> {
  const found = await row<Omit<ReviewRun, 'startedAt'> & { readonly startedAt: string | null }>(tx.em, reviewRunSql, [runId]);
  return found && { ...found, startedAt: found.startedAt === null ? null : new Date(found.startedAt) };
}

/** Stores the head that a run reviews. */
export async function noteReviewHead(tx: Pick<TenantTransaction, 'em'>, runId: string, headSha: string): Promise<void> {
  await row(tx.em, 'update runs set review_head_sha = ?, updated_at = now() where id = ?', [headSha, runId]);
}

/** Returns a run of the transaction's tenant that has not ended, or null when it has or there is none. */
export function liveRun(tx: Pick<TenantTransaction, 'em'>, runId: string): Promise<{ readonly status: RunStatus } | null> {
  return row(tx.em, "select r.status from runs r where r.id = ? and r.status in ('queued', 'running', 'waiting', 'cancelling')", [runId]);
}
