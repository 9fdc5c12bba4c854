import { cancellationSignal } from '@temporalio/activity';
import type { ReviewRun } from '../../../db/code-review/pulls/review-run.ts';
import { runMarker, summaryOrdinal } from '../../../domain/code-review/pipeline/markers.ts';
import type { PlannedReview } from '../../../domain/code-review/pipeline/plan.ts';
import { summaryDigest } from '../../../domain/code-review/pipeline/summary-text.ts';
import { withdrawReview } from '../../../domain/code-review/posting/claims.ts';
import { keepEditedSummary, keepPostedFindings } from '../../../domain/code-review/posting/posted-findings.ts';
import type { RepositoryClient } from '../../../ports/github/client.ts';
import { HostError } from '../../../ports/github/host-error.ts';
import { editReview } from '../../../ports/github/reviews.ts';
import type { ActivityDeps } from '../../deps.ts';
import { transactAsSystem } from '../../support/as-system.ts';
import { onHost } from './host-failure.ts';
import { openRepository } from '../read/open-repository.ts';
import { postComments } from './post-comments.ts';
import { readHostPull } from '../read/read-pull.ts';
import { readPlannedReview } from '../read/read-plan.ts';

/** The outcome of posting. `stale`: the pull request has another head; `closed`: it is closed. In both cases nothing is posted, and the run is cancelled. */
export interface PostOutcome {
  readonly outcome: 'posted' | 'stale' | 'closed';
}

/**
 * Posts a review by its plan. The first review of a pull request has the summary as its body; later ones edit that in place if it has changed. Each part is
 * posted to the host once; findings enter the ledger with their comments. Host errors are thrown as the workflow's failures.
 */
export async function postReview(deps: ActivityDeps, { runId }: { readonly runId: string }): Promise<PostOutcome> {
  const { run, plan } = await readPlannedReview(deps, runId);
  const summary = summaryOf(run, plan);
  if (summary.kind === 'same' && plan.comments.length === 0) return { outcome: 'posted' };

  const client = await openRepository(deps, run);
  const pull = await readHostPull(client, run.pull.pullNumber, cancellationSignal());
  if (!pull.isOpen || pull.headSha !== plan.headSha) {
    const outcome = pull.isOpen ? 'stale' : 'closed';
    await transactAsSystem(deps, (tx) => withdrawReview(tx, runId, { isSuperseded: outcome === 'stale' }));
    return { outcome };
  }

  const isEdited = summary.kind === 'edit' && (await editSummary(deps, { run, plan, client, reviewId: summary.reviewId }));
  const hasBody = summary.kind === 'new' || (summary.kind === 'edit' && !isEdited);
  await post(deps, { run, plan, client, body: hasBody ? plan.summary : null });
  return { outcome: 'posted' };
}

/** `same`: the text has not changed, or there is none. */
type SummaryChange = { readonly kind: 'same' | 'new' } | { readonly kind: 'edit'; readonly reviewId: number };

function summaryOf({ pull }: ReviewRun, { summary, conclusion }: PlannedReview): SummaryChange {
  const { mode, fixed, outdated, back } = conclusion;
  if (summary === '' || (mode === 'no_change' && fixed.length + outdated.length + back.length === 0)) return { kind: 'same' };
  if (pull.summaryReviewId === null) return { kind: 'new' };
  return summaryDigest(summary) === pull.summarySha256 ? { kind: 'same' } : { kind: 'edit', reviewId: pull.summaryReviewId };
}

interface Posting {
  readonly run: ReviewRun;
  readonly plan: PlannedReview;
  readonly client: RepositoryClient;
}

/** Replaces the summary. False: its review no longer exists. Repeating the edit changes nothing. */
async function editSummary(deps: ActivityDeps, { run, plan, client, reviewId }: Posting & { readonly reviewId: number }): Promise<boolean> {
  const body = `${plan.summary}\n\n${runMarker(run.runId, summaryOrdinal)}`;
  const isThere = await onHost(async () => {
    try {
      await editReview(client, { pullNumber: run.pull.pullNumber, reviewId, body }, cancellationSignal());
      return true;
    } catch (error) {
      if (error instanceof HostError && error.kind === 'gone') return false;
      throw error;
    }
  });
  if (!isThere) return false;
  const edited = { place: run, runId: run.runId, pullRequestId: run.pull.id, reviewId, text: plan.summary };
  await transactAsSystem(deps, (tx) => keepEditedSummary(tx, edited));
  return true;
}

async function post(deps: ActivityDeps, { run, plan, client, body }: Posting & { readonly body: string | null }): Promise<void> {
  const { runId, pull, binding } = run;
  await postComments(deps, {
    place: run,
    ownerId: runId,
    bindingId: binding.id,
    client,
    pullNumber: pull.pullNumber,
    commitSha: plan.headSha,
    comments: plan.comments,
    body,
    event: plan.event,
    keep: (tx, { reviewId, hasBody, comments }) =>
      keepPostedFindings(tx, {
        runId,
        pullRequestId: pull.id,
        headSha: plan.headSha,
        findings: plan.conclusion.findings,
        comments,
        summary: hasBody && reviewId !== null ? { reviewId, text: plan.summary } : null,
      }),
  });
}
