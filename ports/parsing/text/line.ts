import PQueue from 'p-queue';
import { deadlineIn } from '../../deadline.ts';

/** Files that one process parses at a time. */
export const filesAtOnce = 2;
/** Files that wait in the process, so that a parser that becomes free gets its next one at once. */
const maxWaiting = 1;
/** How long such a file waits; the activity that waits has an hour in total. */
const maxWaitMs = 60_000;
/** A rejected file comes back within half a minute, or after five when it has waited for an hour: by then it no longer counts. */
const countedMs = 60_000;

/** The right to parse one file now, until it is released. */
export interface Parser {
  release(): void;
}

/** Rejected files, with the time of their rejection (`performance.now()`), oldest first. */
const turnedAway = new Map<string, number>();
const queue = new PQueue({ concurrency: filesAtOnce });

/**
 * Asks for the right to parse a file. When the maximum number of files is being parsed, the first caller waits up to a minute for it; other callers are
 * rejected and get the number of rejected files, their own included, so that they need not all come back soon. `file`: identifies it among them.
 * @throws the signal's reason when it aborts.
 */
export async function askForParser(file: string, signal: AbortSignal, waitMs = maxWaitMs): Promise<Parser | { readonly waiting: number }> {
  turnedAway.delete(file);
  if (queue.pending < filesAtOnce) return takeParser(signal);
  if (queue.size >= maxWaiting) return turnAway(file);
  const patience = deadlineIn(waitMs);
  try {
    return await takeParser(AbortSignal.any([signal, patience]));
  } catch (error) {
    if (!patience.aborted || signal.aborted) throw error;
    return turnAway(file);
  }
}

function turnAway(file: string): { readonly waiting: number } {
  const now = performance.now();
  for (const [other, at] of turnedAway) {
    if (now - at <= countedMs) break;
    turnedAway.delete(other);
  }
  turnedAway.set(file, now);
  return { waiting: turnedAway.size };
}

/** Waits until a file may be parsed. */
export async function takeParser(signal: AbortSignal | undefined): Promise<Parser> {
  const slot = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const held = queue.add(
    () => {
      begun.resolve();
      return slot.promise;
    },
    signal ? { signal } : {},
  );
  // Rejects only when it is aborted while it waits.
  held.catch((error: unknown) => begun.reject(error instanceof Error ? error : new Error(String(error))));
  await begun.promise;
  return { release: () => slot.resolve() };
}
