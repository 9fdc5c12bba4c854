/** Activities of the maintenance workflows, by the names under which histories record them. They act on no single tenant. */
export interface MaintenanceActivities {
  reconcileRuns(): Promise<ReconcileReport>;
  /** Deletes replies to idempotent requests and results of tool tests past their 24 hours; returns how many. */
  sweepIdempotency(): Promise<number>;
  /** Deletes outbox rows sent more than 24 hours ago; returns how many. */
  sweepOutbox(): Promise<number>;
  /** Merges the chunks of ended runs and compacts those of runs that ended 30 days ago; returns how many frames and chunks it saved. */
  tendFrames(): Promise<number>;
  /** Seals what is due of the audit log; returns the number of entries. */
  sealAudit(): Promise<number>;
  /** Ends what is past its organization's retention: runs, notices of alerts, audit entries, failed logins; returns the number of audit entries. */
  runRetention(): Promise<number>;
  /** Deletes expired rows of sign-in and OAuth, and starts the purge of knowledge about deleted persons; returns how many rows and purges. */
  sweepIdentity(): Promise<number>;
  /** Does what is due of the signing keys' rotation; returns what it did. */
  turnSigningKeys(): Promise<'none' | 'published' | 'replaced'>;
  /** Starts the purge of up to 500 organizations past their grace period; returns how many. */
  startDuePurges(): Promise<number>;
  /** Removes up to 500 archived workspaces past theirs; returns how many. */
  purgeWorkspaces(): Promise<number>;
  /** Starts up to 500 due syncs of MCP toolkits; returns how many. */
  startDueSyncs(): Promise<number>;
  /** Deletes files that nothing references, and bytes that no row names; returns how many. */
  sweepAttachments(): Promise<number>;
  /** Repairs schedules: versions that did not reach Temporal, instants that did not fire, approaching clock changes; returns how many. */
  tendTriggers(): Promise<number>;
  /** Releases the budget holds of lost calls and rolls windows past their end; returns how many. */
  tendBudgets(): Promise<number>;
  /** Builds the vector indexes that large bases lack and drops those of small and deleted ones; returns how many. */
  tendVectorIndexes(): Promise<number>;
  /** Undoes re-embeds that no workflow works on any more; other knowledge runs and indexing of bases get their workflow again, or end. Returns how many. */
  tendReembeds(): Promise<number>;
  /**
   * Returns the next organizations with measured rules, each signed, or none after the last (`after`: the previous one, signed; null: from the start). Before
   * the first page it starts lost deliveries again.
   */
  dueAlertOrganizations(page: { readonly after: string | null }): Promise<readonly string[]>;
  /** Judges the alert rules of an organization at a tick; a tick that is not newer than the last one changes nothing. Returns the number of rules judged. */
  judgeAlerts(tick: AlertTick): Promise<number>;
  /** Deletes alerts that were resolved 400 days ago; returns how many. */
  sweepAlerts(): Promise<number>;
  /** Deletes vectors of the embedding cache unused for 30 days; returns how many. */
  sweepEmbeddings(): Promise<number>;
  /** Asks the Git host to redeliver deliveries that failed and that no endpoint has taken; returns how many. */
  redeliverGithub(): Promise<number>;
  /** Wakes code-review work that waits without a workflow, and deletes old events and unused mirrors; returns how many. */
  sweepReviews(): Promise<number>;
}

/** One tick of one organization. */
export interface AlertTick {
  /** As signed by `dueAlertOrganizations`: an unsigned argument proves no tenant. */
  readonly organization: string;
  /** ISO 8601: when the tick began; measurements end then. */
  readonly at: string;
}

/** What one pass of the reconciler repaired. All zero when nothing was wrong. */
export interface ReconcileReport {
  readonly examined: number;
  readonly started: number;
  readonly finished: number;
  readonly terminated: number;
  readonly activated: number;
}

export const maintenanceActivityNames = [
  'reconcileRuns',
  'sweepIdempotency',
  'sweepOutbox',
  'tendFrames',
  'sealAudit',
  'runRetention',
  'sweepIdentity',
  'turnSigningKeys',
  'startDuePurges',
  'purgeWorkspaces',
  'startDueSyncs',
  'sweepAttachments',
  'tendTriggers',
  'tendBudgets',
  'tendReembeds',
  'tendVectorIndexes',
  'dueAlertOrganizations',
  'judgeAlerts',
  'sweepAlerts',
  'sweepEmbeddings',
  'redeliverGithub',
  'sweepReviews',
] as const satisfies readonly (keyof MaintenanceActivities)[];
