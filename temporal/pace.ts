/** Held back no longer than this at once. */
const mostPauseMs = 5_000;
/** What an idle service needs for a send, as long as nothing is known: the first ones may have to wait in line. */
const assumedMs = 10;
/** How much is held back of what is in Temporal's way. */
const gain = 9;
/** By so much what counts as quick grows with each send, so that it follows a service that has become slower for good. */
const forgetting = 1.002;

/** Holds a sender back as soon as its sends take longer than they would on a service that has time. */
export interface Pace {
  /** Takes how long sends took on average, in ms; gives how long to wait before the next ones, in ms. */
  after(tookMs: number): number;
}

/**
 * Congestion control by delay, as TCP Vegas does it (Brakmo and Peterson, 1995): the quickest send tells what an idle service needs, and
 * whatever later ones need beyond that they spend waiting in line, where they would make everybody else wait too.
 */
export function createPace(): Pace {
  let quickestMs = assumedMs;

  return {
    after(tookMs) {
      quickestMs = Math.min(quickestMs * forgetting, tookMs);
      return Math.min(mostPauseMs, tookMs * gain * (tookMs / quickestMs - 1));
    },
  };
}
