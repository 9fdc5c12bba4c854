/** Signal of `closeGroups`: more deliveries with its key have arrived. Carries nothing. */
export const deliveriesCame = 'deliveriesCame';

/** One key of a coalescing endpoint or event trigger. */
export type GroupInput = ({ readonly endpointId: string } | { readonly triggerId: string }) & {
  /** Hex of the SHA-256 of the key. */
  readonly key: string;
};

/** What a key has to do next: nothing, or check again after a while. `isEager`: a signal may end the wait, since enough deliveries close a group. */
export type GroupStep =
  | { readonly state: 'idle' }
  | { readonly state: 'closed' }
  | { readonly state: 'waiting'; readonly waitMs: number; readonly isEager: boolean };

/** Activities of `closeGroups`, by the names under which histories record them: never rename. */
export interface GroupActivities {
  /** Closes a due group of deliveries or events by starting its one run. Repeatable anywhere. */
  closeGroup(input: GroupInput): Promise<GroupStep>;
}
