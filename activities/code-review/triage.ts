import type { ReviewRun } from '../../db/code-review/pulls/review-run.ts';
import { openBudgetCaps } from '../../domain/code-review/run-work.ts';
import { skipReasonOf } from '../../domain/code-review/pipeline/triage.ts';
import type { ReviewWork } from '../../ports/diff/review-work.ts';
import type { SkipReason, TextFilter } from '../../workflows/contracts/review/code-review.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAsSystem } from '../support/as-system.ts';
import type { HostPull } from './read/read-pull.ts';

/** Whether a pull request is reviewed, and whether by a model. */
export interface Triage {
  readonly skipReason: SkipReason | null;
  readonly isSummaryOnly: boolean;
}

/** Judges a pull request by the rules of its binding, then by what remains of its budgets. */
export async function triage(
  deps: ActivityDeps,
  run: ReviewRun,
  { pull, work }: { readonly pull: HostPull; readonly work: ReviewWork },
): Promise<Triage> {
  const { reviewConfig: config, reviewerAgentId, budgetConfig } = run.binding;
  const { titles, branches } = config.filters;
  const [title, branch] = await Promise.all([
    hits(titles, (list) => work.findAny(list, pull.title)),
    hits(branches, async (list) => (await work.readPaths([pull.baseRef], [list]))[0]?.taken[0] === true),
  ]);
  const facts = {
    isDraft: pull.isDraft,
    isPaused: run.pull.paused,
    labels: pull.labels,
    author: pull.author,
    headRef: pull.headRef,
    baseRef: pull.baseRef,
    changedFiles: pull.changedFiles,
    hasReviewer: reviewerAgentId !== null,
    isAsked: !run.review.is_automatic,
  };
  const skipReason = skipReasonOf(facts, config, { title, branch });
  if (skipReason !== null) return { skipReason, isSummaryOnly: false };

  const hasSlot = await transactAsSystem(deps, (tx) => openBudgetCaps(tx, run, deps.env.billingCurrency));
  if (hasSlot) return { skipReason: null, isSummaryOnly: false };
  return budgetConfig.on_exceed === 'summary_only'
    ? { skipReason: null, isSummaryOnly: true }
    : { skipReason: 'budget', isSummaryOnly: false };
}

/** A question is answered whatever prevents reviews. The caps of the binding apply to its model call, whose budget check finds them full or not. */
export async function triageAsk(deps: ActivityDeps, run: ReviewRun): Promise<Triage> {
  await transactAsSystem(deps, (tx) => openBudgetCaps(tx, run, deps.env.billingCurrency));
  return { skipReason: null, isSummaryOnly: false };
}

async function hits(
  { include, exclude }: TextFilter,
  fits: (list: readonly string[]) => Promise<boolean>,
): Promise<{ readonly include: boolean; readonly exclude: boolean }> {
  return {
    include: include.length > 0 && (await fits(include)),
    exclude: exclude.length > 0 && (await fits(exclude)),
  };
}
