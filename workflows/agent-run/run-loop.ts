import { condition } from '@temporalio/workflow';
import type { RunBounds } from './activity-options.ts';

/** What one execution of a run's loop knows beside the rows. */
export interface RunLoop {
  readonly runId: string;
  readonly bounds: RunBounds;
  /** Signals so far. Whoever waits counts them before it reads its rows, so that none comes too early. */
  wakes: number;
  /** Something of this run may have waited, which does not count as its time. */
  hasWaited: boolean;
  /** Waits that are over. */
  waitsEnded: number;
  /** The run itself was cancelled, not only what it was about. */
  readonly isCancelled: () => boolean;
}

/** A wait looks at its rows at least this often, should a signal ever be lost for good. */
const maxSilentMs = 3_600_000;
/** The database's clock may be behind: who comes too early need not come again at once. */
const minPauseMs = 250;

/** Waits for a signal after the `seen` one, for `nextMs` (the first expiry), or for something else. */
export async function untilWoken(
  loop: RunLoop,
  { seen, nextMs, orWhen }: { readonly seen: number; readonly nextMs: number; readonly orWhen?: () => boolean },
): Promise<void> {
  const isWoken = () => loop.wakes !== seen || orWhen?.() === true;

  if (!isWoken()) await condition(isWoken, Math.min(Math.max(nextMs, minPauseMs), maxSilentMs));
}
