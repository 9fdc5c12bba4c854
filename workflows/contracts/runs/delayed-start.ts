/** Activities of the workflow `delayedStart`, by the names under which histories record them: never rename. */
export interface DelayedStartActivities {
  /** Makes a due run active, or leaves it queued; one that has ended, or was already activated, is left as it is. Repeatable. */
  admitRun(input: { runId: string }): Promise<AdmitRunResult>;
}

export interface AdmitRunResult {
  readonly done: boolean;
  /** When to ask again: the run is not due, or its queue is full. 0 when done. */
  readonly dueInMs: number;
}
