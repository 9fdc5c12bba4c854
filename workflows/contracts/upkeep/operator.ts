/** Signal of `orgStop`, `wsStop` and `orgPurge`: the state in the row has changed and must be read again. Carries nothing. */
export const stateChanged = 'stateChanged';

/** What one round of a stop has found and done. */
export interface StopRound {
  /** What the row says now. */
  readonly isStopped: boolean;
  /** Live runs that this round has cancelled. */
  readonly cancelled: number;
}

/** Progress of a purge. `isOpen` false: no purge is open. `tables`: what is still to be deleted, in order. */
export interface PurgePlan {
  readonly isOpen: boolean;
  readonly tables: readonly string[];
}

/** Activities of `orgStop` and `wsStop`; the tenant is that of the signed header: without a workspace, the whole organization. */
export interface StopActivities {
  /** Cancels up to 200 live runs while the organization or workspace is stopped; does nothing when it is not. */
  cancelRuns(): Promise<StopRound>;
}

/** Activities of `orgPurge`; each continues where an earlier try has stopped. */
export interface PurgeActivities {
  /** Sets the organization's open purge to running and returns what is to be deleted. */
  openPurge(): Promise<PurgePlan>;
  /** Locks the organization's people and programs out and cancels up to 200 live runs; returns how many have not ended. */
  stopAll(): Promise<number>;
  /** Deletes rows of one table, at most 5,000 per transaction. Returns false when there are more. */
  deleteRows(input: { readonly table: string }): Promise<boolean>;
  /** Removes every object that the organization ever stored. */
  deleteObjects(): Promise<void>;
  /** Deletes the organization's keys: nothing that was encrypted for it can be decrypted any more, wherever a copy lies. */
  dropKeys(): Promise<void>;
  /** Leaves the ledger, a tombstone and one entry in the platform's chain. Returns false when rows have come meanwhile, which must be deleted first. */
  tombstone(): Promise<boolean>;
  /** Records the step that failed; the purge waits for another POST. */
  failPurge(input: { readonly step: string }): Promise<void>;
}
