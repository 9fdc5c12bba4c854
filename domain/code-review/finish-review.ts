import { readAnswer } from '../../db/code-review/findings/answers.ts';
import { addSpent, hasClosingMessage, insertClosingMessage } from '../../db/code-review/pulls/closing-message.ts';
import { readPosted } from '../../db/code-review/posts/read-posts.ts';
import { readLedger, type LedgerRow } from '../../db/code-review/findings/ledger.ts';
import { keepFindings, keepReviewedHead, lockPullRow, type FindingToKeep } from '../../db/code-review/findings/write-ledger.ts';
import { readReviewRun, type ReviewRun } from '../../db/code-review/pulls/review-run.ts';
import { lockRun } from '../../db/runs/run-state.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { Measurement } from '../../workflows/contracts/measurements.ts';
import type { CodeReviewOutput, OutputFinding, Severity } from '../../workflows/contracts/review/code-review.ts';
import { fitOutput } from './pipeline/output.ts';
import type { PlacedFinding } from './pipeline/finding.ts';
import { planAnswer, type PlannedReview, type ReviewPlan } from './pipeline/plan.ts';

export interface ReviewOutcome {
  readonly runId: string;
  readonly step: number;
}

/**
 * Ends the work of a review, in one transaction: writes the ledger and the judged hunks, its cost, and the run's last message with its output. Returns false
 * when the run is cancelling or has ended: nothing is written then. A repeat writes nothing more.
 */
export async function finishReview(tx: TenantTransaction, { runId, step }: ReviewOutcome): Promise<boolean> {
  const found = await readReviewRun(tx, runId);
  if (found === null) return false;
  await lockPullRow(tx, found.pull.id);
  const locked = await lockRun(tx, runId);
  if (locked === null || locked.status !== 'running') return false;
  if (await hasClosingMessage(tx, runId, step)) return true;

  // Only `nextCalls` stores a plan, in this shape.
  const plan = (await readAnswer(tx, runId, planAnswer)) as ReviewPlan | null;
  if (plan === null) return false;
  if (plan.kind === 'review' && found.review.post) await keepLedger(tx, found, plan);
  tx.outgoing.measurements.push(measurementOf(plan));
  await addSpent(tx, found.pull.id, locked);
  const ledger = await readLedger(tx, found.pull.id);
  const output = await outputOf(tx, found, { plan, ledger });
  const text = plan.kind === 'review' ? plan.conclusion.summary : plan.text;
  await insertClosingMessage(tx, locked, {
    step,
    content: [
      { type: 'text', text },
      { type: 'json', value: output },
    ],
  });
  return true;
}

function measurementOf(plan: ReviewPlan): Measurement {
  if (plan.kind !== 'review') return { kind: 'review_ended', outcome: plan.kind, findings: {} };
  const { findings, skipReason } = plan.conclusion;
  const bySeverity: Partial<Record<Severity, number>> = {};
  for (const { severity } of findings) bySeverity[severity] = (bySeverity[severity] ?? 0) + 1;
  return { kind: 'review_ended', outcome: skipReason === null ? 'reviewed' : 'skipped', findings: bySeverity };
}

/** A skipped review has judged nothing, and leaves the ledger as it is. */
async function keepLedger(
  tx: TenantTransaction,
  run: ReviewRun,
  { conclusion, headSha, mergeBaseSha, baseRef }: PlannedReview,
): Promise<void> {
  if (conclusion.skipReason !== null) return;
  const pullRequestId = run.pull.id;
  const { carried, fixed, outdated, findings } = conclusion;
  await keepFindings(tx, { runId: run.runId, pullRequestId, headSha, carried, fixed, outdated, findings: findings.map(findingToKeep) });
  if (mergeBaseSha === null) return;
  const { playbookRevisionId } = run;
  await keepReviewedHead(tx, { pullRequestId, headSha, mergeBaseSha, baseRef, playbookRevisionId, hashes: conclusion.hashes });
}

/** A finding as the ledger stores it. */
export function findingToKeep(finding: PlacedFinding): FindingToKeep {
  const {
    anchor,
    saidLine,
    fingerprint,
    ruleId,
    category,
    severity,
    confidence,
    path,
    side,
    title,
    scenario,
    evidence,
    suggestion,
    placement,
    alsoAt,
  } = finding;
  return {
    fingerprint,
    ruleId,
    category,
    severity,
    confidence,
    path,
    side: anchor?.side ?? side,
    startLine: anchor?.startLine ?? saidLine,
    endLine: anchor?.line ?? saidLine,
    title,
    scenario,
    evidence,
    suggestion,
    placement,
    alsoAt,
  };
}

interface Concluded {
  readonly plan: ReviewPlan;
  readonly ledger: readonly LedgerRow[];
}

async function outputOf(tx: TenantTransaction, run: ReviewRun, { plan, ledger }: Concluded): Promise<CodeReviewOutput> {
  const posts = await readPosted(tx, run.runId);
  const idsOf = (kind: string) =>
    posts.filter((post) => post.kind === kind && post.githubId !== null).map(({ githubId }) => Number(githubId));
  const common = {
    schema_version: 1,
    kind: run.review.kind,
    binding_id: run.binding.id,
    playbook_revision_id: run.playbookRevisionId,
    repo_full_name: run.binding.repoFullName,
    pull_number: run.pull.pullNumber,
    head_sha: plan.headSha,
    posted: {
      review_ids: posts
        .filter(({ kind, ordinal }) => kind === 'review' && ordinal < firstFileComment)
        .flatMap(({ githubId }) => (githubId === null ? [] : [Number(githubId)])),
      summary_review_id: idsOf('summary')[0] ?? run.pull.summaryReviewId,
      check_run_id: idsOf('check')[0] ?? null,
      commit_sha: null,
      branch: null,
    },
  } as const;
  if (plan.kind === 'ask') return { ...common, ...nothingFound };
  if (plan.kind === 'fix')
    return { ...common, ...nothingFound, posted: { ...common.posted, commit_sha: plan.commitSha, branch: plan.branch } };
  const { conclusion, baseSha, mergeBaseSha } = plan;
  return fitOutput({
    ...common,
    base_sha: baseSha,
    merge_base_sha: mergeBaseSha,
    mode: conclusion.mode,
    verdict: conclusion.verdict,
    skip_reason: conclusion.skipReason,
    counts: conclusion.counts,
    files: {
      changed: conclusion.files.changed,
      reviewed: conclusion.files.reviewed,
      unread: conclusion.files.unread,
      unread_total: conclusion.files.unread.length,
    },
    findings: findingsOf(conclusion.findings, { ledger, headSha: plan.headSha }),
  });
}

/** The first ordinal of comments on files among the posts of a review. */
const firstFileComment = 1_000;

const nothingFound = {
  base_sha: null,
  merge_base_sha: null,
  mode: 'full',
  verdict: 'clean',
  skip_reason: null,
  counts: { raw: 0, gated: 0, refuted: 0, inline: 0, file: 0, folded: 0, carried: 0, fixed: 0, dismissed: 0 },
  files: { changed: 0, reviewed: 0, unread: [], unread_total: 0 },
  findings: [],
} as const;

/** New findings as this review placed them, then those of the ledger. If the review does not post, the new ones are not in the ledger. */
function findingsOf(
  placed: readonly PlacedFinding[],
  { ledger, headSha }: { readonly ledger: readonly LedgerRow[]; readonly headSha: string },
): OutputFinding[] {
  const known = new Map(ledger.map((row) => [row.fingerprint, row]));
  const own = placed.map((finding): OutputFinding => {
    const row = known.get(finding.fingerprint);
    const { ruleId, startLine, endLine, alsoAt, evidence: _evidence, ...kept } = findingToKeep(finding);
    return {
      ...kept,
      id: row?.id ?? finding.fingerprint,
      rule_id: ruleId,
      start_line: startLine,
      end_line: endLine,
      state: row?.state ?? 'open',
      comment_id: row?.commentId ?? null,
      also_at: alsoAt,
      first_head_sha: row?.firstHeadSha ?? headSha,
      last_head_sha: headSha,
    };
  });
  const told = new Set(placed.map(({ fingerprint }) => fingerprint));
  return [...own, ...ledger.filter(({ fingerprint }) => !told.has(fingerprint)).map(ledgerFinding)];
}

function ledgerFinding(row: LedgerRow): OutputFinding {
  return {
    id: row.id,
    fingerprint: row.fingerprint,
    rule_id: row.ruleId,
    category: row.category,
    severity: row.severity,
    confidence: row.confidence,
    path: row.path,
    side: row.side,
    start_line: row.startLine,
    end_line: row.endLine,
    title: row.title,
    scenario: row.scenario,
    suggestion: row.suggestion,
    state: row.state,
    placement: row.placement,
    comment_id: row.commentId,
    also_at: row.alsoAt,
    first_head_sha: row.firstHeadSha,
    last_head_sha: row.lastHeadSha,
  };
}
