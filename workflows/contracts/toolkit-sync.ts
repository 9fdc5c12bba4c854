/** What the workflow `sync:<toolkit>` is told: its rows. */
export interface ToolkitSyncInput {
  readonly toolkitId: string;
  readonly revisionId: string;
}

/** Activities of `toolkitSync`, by the names under which histories record them. */
export interface ToolkitSyncActivities {
  /** Asks the server for its tools and ends the revision; one that has ended is left as it is. */
  syncToolkit(input: ToolkitSyncInput): Promise<void>;
  /** Ends a revision whose sync was lost on the way. */
  failSync(input: ToolkitSyncInput): Promise<void>;
}

/** How often a sync is tried; the last try ends the revision whatever comes of it. */
export const toolkitSyncTries = 3;
