import { createBoundedThread, ThreadLimit, type BoundedThread } from './bounded-thread.ts';

/** What the thread is asked: a password of at most 100 characters, and what is known about its owner. */
export interface StrengthJob {
  readonly password: string;
  readonly known: readonly string[];
}

let thread: BoundedThread<StrengthJob, number> | null = null;

/**
 * How hard a password is to guess, by zxcvbn: 0 to 4. Rated in a thread, since a text made for it takes a second of computing, in which nobody
 * else would be answered. Null when even that took too long.
 */
export async function ratePassword(job: StrengthJob): Promise<number | null> {
  // Made on first use: the dictionaries take 30 MB and a third of a second to load.
  thread ??= createBoundedThread<StrengthJob, number>(new URL('./password-strength-worker.ts', import.meta.url), { limitMs: 3_000, heapMb: 256 });
  try {
    return await thread.ask(job);
  } catch (error) {
    if (error instanceof ThreadLimit) return null;
    throw error;
  }
}
