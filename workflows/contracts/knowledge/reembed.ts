/** Input of the workflow `reembed:<new base>`: the row of its run, which holds everything else. */
export interface ReembedInput {
  readonly runId: string;
}

/**
 * Outcome of an attempt. `more`: items are left; `done`: the next stage follows; `paused`: until the signal `budgetChanged` or the time (ISO 8601); `stopped`:
 * what was made has to be undone, unless the run has ended.
 */
export type ReembedStep = { readonly outcome: 'more' | 'done' | 'stopped' } | { readonly outcome: 'paused'; readonly until: string };

/** Activities of `reembedBase`, by the names under which histories record them. Each may be interrupted anywhere and repeated. */
export interface ReembedActivities {
  /** Copies and embeds items behind the run's cursor, for a few minutes at most. */
  embedRange(input: ReembedInput): Promise<ReembedStep>;
  /** Builds the vector index of a large base; drops what an earlier build has left behind. */
  buildIndex(input: ReembedInput): Promise<void>;
  /** Recomputes some vectors and compares them. */
  verifySample(input: ReembedInput): Promise<ReembedStep>;
  /** Replaces the old base by the new one. */
  cutOver(input: ReembedInput): Promise<ReembedStep>;
  /** Undoes what has not cut over, unfreezes the old base and ends the run. */
  compensate(input: ReembedInput): Promise<void>;
}
