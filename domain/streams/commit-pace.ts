/** Limits a process to one commit per interval on average; short bursts are allowed, so that urgent frames in a quiet process never wait. */
export interface CommitPace {
  /** Milliseconds until the next commit is allowed. */
  waitMs(now: number): number;
  spend(now: number): void;
}

const burst = 4;

export function createCommitPace(intervalMs: number): CommitPace {
  let saved = burst;
  let at = 0;

  function refill(now: number): void {
    saved = Math.min(burst, saved + (now - at) / intervalMs);
    at = now;
  }

  return {
    waitMs(now) {
      refill(now);
      return saved >= 1 ? 0 : (1 - saved) * intervalMs;
    },
    spend(now) {
      refill(now);
      saved -= 1;
    },
  };
}
