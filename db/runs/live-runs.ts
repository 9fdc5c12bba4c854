/** Live runs a workspace may have at a time. */
export const limitLiveRuns = 20_000;

/** Counting costs the more the more there are. A count up to here stands for a while: starts at full speed don't make up the rest in it. */
const farBelowLimit = limitLiveRuns / 2;
const standsMs = 1_000;
const mostStanding = 10_000;

/** Until when a count stands, by what its workspace was named by. */
const standing = new Map<string, number>();

/** Whether the live runs of the workspace that is named so have to be counted for this start. */
export function isCountDue(named: string): boolean {
  return (standing.get(named) ?? 0) < performance.now();
}

/** What counting them gave. */
export function noteCount(named: string, liveRuns: number): void {
  if (standing.size >= mostStanding) standing.clear();
  if (liveRuns <= farBelowLimit) standing.set(named, performance.now() + standsMs);
}
