/** Signal of `orgStop`, `wsStop` and `orgPurge`: the state in the row has changed since, look again. Carries nothing. */
export const stateChanged = 'stateChanged';

/** What one round of a stop has found and done. */
export interface StopRound {
  /** What the row says now. */
  readonly isStopped: boolean;
  /** Live runs that were told to end in this round. */
  readonly cancelled: number;
}

/** Where a purge stands: what is still to be deleted, in order. `done`: nothing is left to do. */
export interface PurgePlan {
  readonly isOpen: boolean;
  readonly tables: readonly string[];
}

/** Activities of `orgStop` and `wsStop`; the tenant is that of the signed header, without a workspace the whole organization. */
export interface StopActivities {
  /** Cancels up to 200 live runs while the place is stopped; nothing when it is not. */
  cancelRuns(): Promise<StopRound>;
}

/** Activities of `orgPurge`; each goes on where an earlier try of it has stopped. */
export interface PurgeActivities {
  /** Takes the open purge of the organization to running and gives what is to be deleted. */
  openPurge(): Promise<PurgePlan>;
  /** Locks the organization's people and programs out and tells up to 200 live runs to end; gives how many have not ended. */
  stopAll(): Promise<number>;
  /** Deletes rows of one table, at most 5,000 a transaction. False: there is more. */
  deleteRows(input: { readonly table: string }): Promise<boolean>;
  /** Removes every object that the organization ever stored. */
  deleteObjects(): Promise<void>;
  /** Without them nothing that was sealed for the organization opens any more, wherever a copy lies. */
  dropKeys(): Promise<void>;
  /** Leaves ledger, tombstone and one entry in the platform's chain. False: rows have come meanwhile, delete them first. */
  tombstone(): Promise<boolean>;
  /** The step that could not be done; the purge waits for another POST. */
  failPurge(input: { readonly step: string }): Promise<void>;
}
