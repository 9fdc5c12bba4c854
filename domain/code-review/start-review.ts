import { pullRequestMessage } from '../../db/code-review/bindings/wake.ts';
import { currentRevision, takeRound, type BindingState, type PullState } from '../../db/code-review/pulls/pulls.ts';
import { startRun, type StartedRun } from '../runs/start/start-run.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { ReviewRequest } from '../../workflows/contracts/review/pull-requests.ts';
import type { StartRun } from '../../db/runs/start/start-run.ts';

/** Who starts a run of code review, and at whose expense. */
export type ReviewStarter = Pick<StartRun, 'createdBy' | 'currency' | 'pricing' | 'starter' | 'limits' | 'metadata'>;

/** The request, without its pull request and text. */
export type ReviewAsk = Omit<ReviewRequest, 'pull_number' | 'has_text'>;

/** A run of code review to be started for a locked pull request. */
export interface ReviewStart {
  readonly binding: BindingState;
  readonly pull: Pick<PullState, 'id' | 'pullNumber' | 'headSha'>;
  readonly request: ReviewAsk;
  /** The request in words; null: nothing beyond the review. */
  readonly text: string | null;
  readonly by: ReviewStarter;
}

/** The fields that all starts by the platform share. */
export function startedByPlatform(currency: string): ReviewStarter {
  return { createdBy: { kind: 'system', id: null, actingUserId: null }, currency, limits: {}, metadata: {} };
}

/**
 * Starts a run of code review, pinned to the current revision of its playbook. It is untrusted, since it reads texts of strangers; only a fix may write. Throws
 * 409 `binding_inactive` when nothing is reviewed, `no_reviewer` without an agent for it, and what `startRun` throws.
 */
export async function startReview(tx: TenantTransaction, { binding, pull, request, text, by }: ReviewStart): Promise<StartedRun> {
  refuseStart(binding, request);
  const agentId = request.kind === 'fix' ? binding.editorAgentId : binding.reviewerAgentId;
  if (agentId === null) throw noReviewer(request.kind === 'fix' ? 'editor' : 'reviewer');
  const playbookRevisionId = await currentRevision(tx, binding);
  const round = await takeRound(tx, pull.id, request.kind === 'review');
  const asked = { ...request, pull_number: pull.pullNumber, has_text: text !== null };
  const { organizationId, workspaceId } = binding;
  const place = { organizationId, workspaceId, correlationId: tx.correlationId };
  const wake = pullRequestMessage(place, { bindingId: binding.id, pullNumber: pull.pullNumber });
  return startRun(tx, {
    ...by,
    workspaceId: binding.workspaceId,
    defaultWorkspaceId: null,
    agent: { id: agentId },
    revisionId: null,
    personaSlug: null,
    input: {
      text: text ?? `${titles[request.kind]} pull request #${pull.pullNumber} of ${binding.repoFullName}.`,
      json: { binding_id: binding.id, repo_full_name: binding.repoFullName, pull_number: pull.pullNumber, kind: request.kind },
    },
    sessionKey: null,
    subject: null,
    source: 'code_review',
    onBusy: 'enqueue',
    review: { bindingId: binding.id, pullRequestId: pull.id, round, headSha: pull.headSha, playbookRevisionId, request: asked, wake },
    cause: { untrusted: true, maxEffect: request.kind === 'fix' ? 'write' : 'read' },
  });
}

/** Throws 409 when a binding accepts no run of this kind now. */
export function refuseStart(binding: BindingState, { kind }: Pick<ReviewRequest, 'kind'>): void {
  if (!binding.isReviewed)
    throw fail('state_conflict', {
      reason: 'binding_inactive',
      detail: 'The repository is not being reviewed: the binding is not active, or its installation is suspended or removed.',
    });
  if (kind === 'fix' && binding.editorConfig.mode === 'off') throw noReviewer('editor');
}

const titles = { review: 'Review', fix: 'Repair the findings of', ask: 'Answer a question about' } as const;

function noReviewer(role: 'reviewer' | 'editor') {
  return fail('state_conflict', { reason: 'no_reviewer', detail: `The binding has no ${role} agent.` });
}
