/** Signal of `closeGroups`: more of its key have come. Carries nothing. */
export const deliveriesCame = 'deliveriesCame';

/** One key of an endpoint, or of an event trigger, that coalesces. */
export type GroupInput = ({ readonly endpointId: string } | { readonly triggerId: string }) & {
  /** Hex of the SHA-256 of the key. */
  readonly key: string;
};

/**
 * What of a key is to be done: nothing, or look again after a while. `isEager`: a signal may end the wait, since enough deliveries close a group.
 */
export type GroupStep =
  | { readonly state: 'idle' }
  | { readonly state: 'closed' }
  | { readonly state: 'waiting'; readonly waitMs: number; readonly isEager: boolean };

/** Activities of `closeGroups`, by the names under which histories record them: never rename. */
export interface GroupActivities {
  /** Closes a group of deliveries or events that is due: starts its one run. Repeatable anywhere. */
  closeGroup(input: GroupInput): Promise<GroupStep>;
}
