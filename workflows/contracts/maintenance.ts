/** Activities of the maintenance workflows, by the names under which histories record them. They act on no single tenant. */
export interface MaintenanceActivities {
  reconcileRuns(): Promise<ReconcileReport>;
  /** Deletes replies to idempotent requests past their 24 hours; gives how many. */
  sweepIdempotency(): Promise<number>;
  /** Deletes outbox rows sent more than 24 hours ago; gives how many. */
  sweepOutbox(): Promise<number>;
  /** Merges the chunks of ended runs and compacts those that ended 30 days ago; gives how many frames and chunks it saved. */
  tendFrames(): Promise<number>;
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
] as const satisfies readonly (keyof MaintenanceActivities)[];
