/** Activities of the maintenance workflows, by the names under which histories record them. They act on no single tenant. */
export interface MaintenanceActivities {
  reconcileRuns(): Promise<ReconcileReport>;
  /** Deletes replies to idempotent requests and results of tool tests past their 24 hours; gives how many. */
  sweepIdempotency(): Promise<number>;
  /** Deletes outbox rows sent more than 24 hours ago; gives how many. */
  sweepOutbox(): Promise<number>;
  /** Merges the chunks of ended runs and compacts those that ended 30 days ago; gives how many frames and chunks it saved. */
  tendFrames(): Promise<number>;
  /** Seals what is due of the audit log; gives how many entries. */
  sealAudit(): Promise<number>;
  /** Ends what is past the days of its organization: runs, notices of alerts, audit entries, failed logins; gives how many audit entries. */
  runRetention(): Promise<number>;
  /** Deletes what is past its end of sign-in and OAuth, and starts the purge of knowledge about deleted persons; gives how many rows and purges. */
  sweepIdentity(): Promise<number>;
  /** Does what is due of the signing keys' rotation; gives what it did. */
  turnSigningKeys(): Promise<'none' | 'published' | 'replaced'>;
  /** Starts the purge of up to 500 organizations past their grace; gives how many. */
  startDuePurges(): Promise<number>;
  /** Removes up to 500 archived workspaces past theirs; gives how many. */
  purgeWorkspaces(): Promise<number>;
  /** Starts the syncs of up to 500 MCP toolkits that are due; gives how many. */
  startDueSyncs(): Promise<number>;
  /** Deletes files that nothing holds, and bytes that no row names; gives how many. */
  sweepAttachments(): Promise<number>;
  /** Repairs schedules: versions that did not reach Temporal, instants that nobody fired, clock changes that came nearer; gives how many. */
  tendTriggers(): Promise<number>;
  /** Gives back what lost calls held of budgets and rolls windows past their end; gives how many. */
  tendBudgets(): Promise<number>;
  /** Builds the vector indexes that large bases lack and drops those of small and deleted ones; gives how many. */
  tendVectorIndexes(): Promise<number>;
  /** Takes back re-embeds that nothing works on any more; other runs of knowledge and indexes of bases get their workflow again, or end. Gives how many. */
  tendReembeds(): Promise<number>;
  /** The next organizations with rules that are measured, each signed; none after the last (`after`: the one before, signed; null: from the start). Before the first it has lost deliveries started again. */
  dueAlertOrganizations(page: { readonly after: string | null }): Promise<readonly string[]>;
  /** Judges the alert rules of an organization at a tick; a tick that is not newer than the last one changes nothing. Gives how many rules it judged. */
  judgeAlerts(tick: AlertTick): Promise<number>;
  /** Deletes alerts that were resolved 400 days ago; gives how many. */
  sweepAlerts(): Promise<number>;
  /** Deletes vectors of the embedding cache that nobody has used for 30 days; gives how many. */
  sweepEmbeddings(): Promise<number>;
  /** Asks the Git host once more for deliveries that failed and that no endpoint has taken; gives how many. */
  redeliverGithub(): Promise<number>;
  /** Wakes what waits of code review without a workflow, deletes old events and mirrors that nobody uses; gives how many. */
  sweepReviews(): Promise<number>;
}

/** One tick of one organization. */
export interface AlertTick {
  /** As `dueAlertOrganizations` has signed it: an argument alone says nobody's tenant. */
  readonly organization: string;
  /** ISO 8601: when the tick began; what is measured ends then. */
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
