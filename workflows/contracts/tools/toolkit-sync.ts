/** Whether a call of a tool only reads or also changes something. */
export const toolEffects = ['read', 'write'] as const;
/** What may run beside a call of a tool. */
export const toolConcurrencies = ['read', 'write', 'exclusive'] as const;

export const toolkitRevisionStates = ['syncing', 'unchanged', 'inactive', 'failed', 'active', 'superseded'] as const;
export type ToolkitRevisionState = (typeof toolkitRevisionStates)[number];
export const toolkitRevisionOrigins = ['sync', 'openapi', 'manual'] as const;
export type ToolkitRevisionOrigin = (typeof toolkitRevisionOrigins)[number];

/** Input of the workflow `sync:<toolkit>`: its row, which also says which revision is meant: only one is open at a time. */
export interface ToolkitSyncInput {
  readonly toolkitId: string;
}

/** Signal of `toolkitSync`: a sync was opened. Sent with each start, since the previous execution may be about to end. Carries nothing. */
export const syncOpened = 'syncOpened';

/** Activities of `toolkitSync`, by the names under which histories record them. */
export interface ToolkitSyncActivities {
  /** Asks the server for its tools and ends the open revision; does nothing without one. */
  syncToolkit(input: ToolkitSyncInput): Promise<void>;
  /** Ends the open revision of a sync that was lost on the way. */
  failSync(input: ToolkitSyncInput): Promise<void>;
}

/** How often a sync is tried; the last try ends the revision whatever its outcome. */
export const toolkitSyncTries = 3;
