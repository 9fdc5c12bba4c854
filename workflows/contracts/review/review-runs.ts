import type { ReviewKind } from './code-review.ts';

/** A run of code review, and the step of it that an activity stands for. */
export interface ReviewStepInput {
  readonly runId: string;
  readonly step: number;
}

/** The result of reading the pull request. */
export interface FetchedDiff {
  readonly kind: ReviewKind;
  /** Whether anything is written to the host and the ledger. */
  readonly posts: boolean;
  /** Whether the host shows a check for the run. */
  readonly checks: boolean;
}

/** A model call: its purpose, and the step that it is. */
export interface PlannedStageCall {
  readonly stage: string;
  readonly ordinal: number;
  readonly step: number;
}

/** The calls that come next; when there are none, the plan is written. `nextStep`: the first step that no call has taken. */
export interface NextCalls {
  readonly calls: readonly PlannedStageCall[];
  readonly nextStep: number;
}

/** Activities of `codeReviewRun`, by the names under which histories record them: never rename. Each may be interrupted anywhere and repeated. */
export interface ReviewRunActivities {
  /** Decides whether the pull request is reviewed now, reads its diff and stores all input of the review. */
  fetchDiff(input: ReviewStepInput): Promise<FetchedDiff>;
  /** Plans the next model calls; when none is left, stores the result of the review. */
  nextCalls(input: { readonly runId: string }): Promise<NextCalls>;
  /** Makes some calls concurrently; a stored answer is not asked for again. */
  askStages(input: { readonly runId: string; readonly calls: readonly PlannedStageCall[] }): Promise<void>;
  /** Shows on the host that the review has begun. */
  openCheck(input: ReviewStepInput): Promise<void>;
  /** Posts what the plan holds. `stale`: the pull request has another head; `closed`: it is closed. In both cases nothing is posted. */
  postReview(input: ReviewStepInput): Promise<{ readonly outcome: 'posted' | 'stale' | 'closed' }>;
  /** Posts the text of an ask, below its command. */
  postAnswer(input: ReviewStepInput): Promise<void>;
  /** Brings the host's threads in line with the plan. */
  settleThreads(input: ReviewStepInput): Promise<void>;
  /** Ends the check of a review as its plan says. */
  concludeCheck(input: ReviewStepInput): Promise<void>;
  /** Ends the check of a run that will post nothing more, if it has one. */
  abandonCheck(input: { readonly runId: string }): Promise<void>;
  /** Writes the ledger, the judged hunks and the run's last message in one transaction. */
  finishReview(input: ReviewStepInput): Promise<void>;
  /** Deletes what was stored for a run that has ended, whatever its outcome. */
  endReview(input: { readonly runId: string }): Promise<void>;
}

/** Input of `codeReviewRun`. `goesOn`: an earlier execution has begun the run. */
export interface CodeReviewRunState {
  readonly runId: string;
  readonly goesOn?: FetchedDiff;
}
