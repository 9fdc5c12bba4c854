export interface BulkCancelInput {
  readonly cancelId: string;
}

/** Activities of `bulkCancel`, by the names under which histories record them: never rename. */
export interface BulkCancelActivities {
  /** Cancels the next matching runs. Repeatable: a cancelled run no longer matches. `more` false: none was left. */
  cancelMatching(input: BulkCancelInput): Promise<{ readonly more: boolean }>;
}
