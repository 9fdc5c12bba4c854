import type { ReviewKind } from './code-review.ts';

/** A run of code review, and the step of it that an activity is. */
export interface ReviewStepInput {
  readonly runId: string;
  readonly step: number;
}

/** What reading the pull request has come to. */
export interface FetchedDiff {
  readonly kind: ReviewKind;
  /** Whether anything is written to the host and the ledger. */
  readonly posts: boolean;
  /** Whether the host shows a check of it. */
  readonly checks: boolean;
}

/** A call of a model: what it is for, and the step that it is. */
export interface PlannedStageCall {
  readonly stage: string;
  readonly ordinal: number;
  readonly step: number;
}

/** The calls that come next, or none: then the plan is written. `nextStep`: the first step that no call has. */
export interface NextCalls {
  readonly calls: readonly PlannedStageCall[];
  readonly nextStep: number;
}

/** Activities of `codeReviewRun`, by the names under which histories record them: never rename. Each may be cut off anywhere and repeated. */
export interface ReviewRunActivities {
  /** Judges whether the pull request is reviewed now, reads its diff and keeps all that the review is made of. */
  fetchDiff(input: ReviewStepInput): Promise<FetchedDiff>;
  /** Plans the next calls of models; without any left, keeps what the review has come to. */
  nextCalls(input: { readonly runId: string }): Promise<NextCalls>;
  /** Makes some calls at once; an answer that is kept is not asked for again. */
  askStages(input: { readonly runId: string; readonly calls: readonly PlannedStageCall[] }): Promise<void>;
  /** Shows at the host that the review has begun. */
  openCheck(input: ReviewStepInput): Promise<void>;
  /** Posts what the plan holds. `stale`: the pull request has another head; `closed`: it is closed: then nothing is posted. */
  postReview(input: ReviewStepInput): Promise<{ readonly outcome: 'posted' | 'stale' | 'closed' }>;
  /** Posts the text of an ask, below its command. */
  postAnswer(input: ReviewStepInput): Promise<void>;
  /** Brings the host's threads to what the plan holds. */
  settleThreads(input: ReviewStepInput): Promise<void>;
  /** Ends the check of a review as its plan has it. */
  concludeCheck(input: ReviewStepInput): Promise<void>;
  /** Ends the check of a run that posts nothing any more, if it has one. */
  abandonCheck(input: { readonly runId: string }): Promise<void>;
  /** Writes ledger, judged hunks and the run's last message in one transaction. */
  finishReview(input: ReviewStepInput): Promise<void>;
  /** Drops what was kept for a run that has ended, however it did. */
  endReview(input: { readonly runId: string }): Promise<void>;
}

/** Input of `codeReviewRun`. `goesOn`: another execution of it has begun the run. */
export interface CodeReviewRunState {
  readonly runId: string;
  readonly goesOn?: FetchedDiff;
}
