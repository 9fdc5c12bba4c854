/** Activities of the workflow `delayedStart`, by the names under which histories record them: never rename. */
export interface DelayedStartActivities {
  /** Makes a run that is due active, or lets it stand in line; one that has ended, or did so before, is left as it is. Repeatable. */
  admitRun(input: { runId: string }): Promise<AdmitRunResult>;
}

export interface AdmitRunResult {
  readonly done: boolean;
  /** When to ask again: the run is not due, or its line is full. 0 when done. */
  readonly dueInMs: number;
}
