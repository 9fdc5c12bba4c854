/** Held back no longer than this at once. */
const maxPauseMs = 3_000;
/** What an idle service needs for a send, as long as nothing is known: the first ones may have to wait in line. */
const assumedMs = 10;
/** How much is held back of what is in Temporal's way. */
const gain = 9;
/** In this time what counts as quick doubles, so that a service which is slow by itself, or far away, is not held back for long. */
const doublingMs = 120_000;

/** Holds a sender back as soon as its sends take longer than they would on a service that has time. */
export interface Pace {
  /** Takes how long sends took on average, in ms; gives how long to wait before the next ones, in ms. */
  after(tookMs: number): number;
}

/**
 * Congestion control by delay, as TCP Vegas does it (Brakmo and Peterson, 1995): the quickest send tells what an idle service needs, and
 * whatever later ones need beyond that they spend waiting in line, where they would make everybody else wait too. `now` is a clock in ms.
 */
export function createPace(now: () => number = () => performance.now()): Pace {
  let quickestMs = assumedMs;
  let askedAt = now();

  return {
    after(tookMs) {
      const at = now();
      quickestMs = Math.max(1, Math.min(quickestMs * 2 ** ((at - askedAt) / doublingMs), tookMs));
      askedAt = at;
      return Math.min(maxPauseMs, Math.max(0, tookMs * gain * (tookMs / quickestMs - 1)));
    },
  };
}
