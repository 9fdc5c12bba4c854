/** What the workflow `reembed:<new base>` is told: the row of its run. Everything else stands there. */
export interface ReembedInput {
  readonly runId: string;
}

/**
 * What an attempt came to. `more`: items are left; `done`: the next stage; `paused`: until the signal `budgetChanged` or the time (ISO 8601); `stopped`: what
 * was made is to be taken back, unless the run has ended.
 */
export type ReembedStep = { readonly outcome: 'more' | 'done' | 'stopped' } | { readonly outcome: 'paused'; readonly until: string };

/** Activities of `reembedBase`, by the names under which histories record them. Each may be cut off anywhere and repeated. */
export interface ReembedActivities {
  /** Copies and embeds items behind the run's cursor, for a few minutes at most. */
  embedRange(input: ReembedInput): Promise<ReembedStep>;
  /** Builds the vector index of a large base; drops what a build before has left behind. */
  buildIndex(input: ReembedInput): Promise<void>;
  /** Makes some vectors anew and compares them. */
  verifySample(input: ReembedInput): Promise<ReembedStep>;
  /** Has the new base take the place of the old one. */
  cutOver(input: ReembedInput): Promise<ReembedStep>;
  /** Takes back what has not cut over, opens the old base, ends the run. */
  compensate(input: ReembedInput): Promise<void>;
}
