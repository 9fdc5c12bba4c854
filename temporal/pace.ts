/** Longest delay at once. */
const maxPauseMs = 3_000;
/** Duration of a send on an idle service that is assumed until one is measured: the first sends may already have to queue. */
const assumedMs = 10;
/** How strongly senders are held back by what queues at Temporal. */
const gain = 9;
/** The duration that counts as quick doubles in this time, so that a service which is slow by itself, or far away, is not held back for long. */
const doublingMs = 120_000;

/** Holds a sender back as soon as its sends take longer than they would on an idle service. */
export interface Pace {
  /** Takes the average duration of sends in ms; returns how long to wait before the next ones, in ms. */
  after(tookMs: number): number;
}

/**
 * Congestion control by delay, as in TCP Vegas (Brakmo and Peterson, 1995): the quickest send shows what an idle service needs; the extra time of later ones is
 * spent in a queue, where they would make all other senders wait too. `now` is a clock in ms.
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
