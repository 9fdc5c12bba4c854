export interface BulkCancelInput {
  readonly cancelId: string;
}

/** Activities of `bulkCancel`, by the names under which histories record them: never rename. */
export interface BulkCancelActivities {
  /** Cancels the next of the runs that match. Repeatable: what is cancelled matches no more. `more` false: none was left. */
  cancelMatching(input: BulkCancelInput): Promise<{ readonly more: boolean }>;
}
