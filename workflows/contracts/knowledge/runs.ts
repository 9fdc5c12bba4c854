/** What the workflow `maint:<run>` is told: the row of its run. Everything else stands there. */
export interface KnowledgeRunInput {
  readonly runId: string;
}

/** Signals of workflows that work on a run of knowledge. They carry nothing: whoever gets one reads the row. */
export const knowledgeRunSignals = {
  /** Somebody cancels the run; its row says `cancelling`. */
  cancel: 'cancelKnowledgeRun',
  /** A budget of the workspace was written. */
  budgetChanged: 'budgetChanged',
} as const;

/** What some batches of a run came to. `more`: it goes on; `ended`: its row says how; `paused`: until the signal or the time (ISO 8601). */
export type KnowledgeRunStep = { readonly outcome: 'more' | 'ended' } | { readonly outcome: 'paused'; readonly until: string };

/** Activities of `knowledgeRun`, by the names under which histories record them. Each may be cut off anywhere and repeated. */
export interface KnowledgeRunActivities {
  /** Does batches of a run for a while, each in a transaction with the cursor behind it; ends the run after its last one, or when it is cancelled. */
  advanceKnowledgeRun(input: KnowledgeRunInput): Promise<KnowledgeRunStep>;
  /** Ends a run that is cancelled, or that was given up; one that has ended stays as it is. */
  endKnowledgeRun(input: KnowledgeRunInput): Promise<void>;
}

/** Whose policy it is. */
export interface PolicyInput {
  readonly kbId: string;
}

/** Signal of `policySync`: the policy has changed since, look again. Carries nothing. */
export const policyChanged = 'policyChanged';

/** Activities of the workflows of maintenance policies, by the names under which histories record them. */
export interface PolicyActivities {
  /** Makes the schedule `maint:policy:<kb>` what the newest policy says. False: the policy has changed meanwhile. */
  syncPolicy(input: PolicyInput): Promise<boolean>;
  /** Starts the run that a policy asks for, once an occasion, unless its last one is still at work. */
  startPolicyRun(input: PolicyInput & { readonly occasion: string }): Promise<void>;
}
