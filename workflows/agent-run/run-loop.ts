import { condition } from '@temporalio/workflow';
import type { RunBounds } from './activity-options.ts';

/** What one execution of a run's loop knows beyond the rows. */
export interface RunLoop {
  readonly runId: string;
  readonly bounds: RunBounds;
  /** Number of signals so far. A waiting loop reads this count before it reads its rows, so that it misses no signal. */
  wakes: number;
  /** Part of this run may have waited; waiting does not count as its time. */
  hasWaited: boolean;
  /** Number of waits that are over. */
  waitsEnded: number;
  /** The run itself was cancelled, not only the work it was doing. */
  readonly isCancelled: () => boolean;
}

/** A wait checks its rows at least this often, in case a signal is lost. */
const maxSilentMs = 3_600_000;
/** The database's clock may be behind: a loop that wakes too early must not wake again at once. */
const minPauseMs = 250;

/** Waits for a signal after the `seen` one, for `nextMs` (the first expiry), or for the condition `orWhen`. */
export async function untilWoken(
  loop: RunLoop,
  { seen, nextMs, orWhen }: { readonly seen: number; readonly nextMs: number; readonly orWhen?: () => boolean },
): Promise<void> {
  const isWoken = () => loop.wakes !== seen || orWhen?.() === true;

  if (!isWoken()) await condition(isWoken, Math.min(Math.max(nextMs, minPauseMs), maxSilentMs));
}
