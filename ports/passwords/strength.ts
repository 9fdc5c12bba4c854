import { createBoundedThread, ThreadLimit } from '../untrusted/bounded-thread.ts';

/** A request to the thread: a password of at most 100 characters, and what is known about its owner. */
export interface StrengthJob {
  readonly password: string;
  readonly known: readonly string[];
}

/** Rates passwords in a worker thread: a hostile text takes a second of computing, which would block all other requests. */
export interface PasswordStrength {
  /** Returns how hard a password is to guess, by zxcvbn: 0 to 4. Null when that took too long. */
  rate(job: StrengthJob): Promise<number | null>;
  close(): Promise<void>;
}

/** The thread starts on first use: its dictionaries take a third of a second to load. */
export function createPasswordStrength(): PasswordStrength {
  const thread = createBoundedThread<StrengthJob, number>(new URL('./strength-worker.ts', import.meta.url), {
    maxMs: 3_000,
    heapMb: 256,
  });

  return {
    async rate(job) {
      try {
        return await thread.ask(job);
      } catch (error) {
        if (error instanceof ThreadLimit) return null;
        throw error;
      }
    },
    close: () => thread.close(),
  };
}
