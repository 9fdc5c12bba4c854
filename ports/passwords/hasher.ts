import { availableParallelism } from 'node:os';
import PQueue from 'p-queue';
import { fail } from '../../workflows/contracts/failure.ts';
import { createBoundedThread, type BoundedThread } from '../untrusted/bounded-thread.ts';

/** Parameters of Argon2; memory in KiB. */
export interface HashParameters {
  readonly algorithm: number;
  readonly memoryCost: number;
  readonly timeCost: number;
  readonly parallelism: number;
}

/** A request to a thread: whether a password matches a hash, or to create a new hash. */
export type PasswordJob =
  | { readonly kind: 'verify'; readonly storedHash: string; readonly password: string }
  | { readonly kind: 'hash'; readonly password: string; readonly parameters: HashParameters };

/**
 * Runs Argon2 in separate threads with a lower priority than request handling; a bounded number at a time, since each run takes 19 MiB and a core for ten
 * milliseconds. Throws 429 when too many wait.
 */
export interface PasswordHasher {
  verify(storedHash: string, password: string): Promise<boolean>;
  hash(password: string, parameters: HashParameters): Promise<string>;
  close(): Promise<void>;
}

type HashingThread = BoundedThread<PasswordJob, boolean | string>;

/** At most 4, and one core stays free for other requests. */
const runningMax = Math.max(1, Math.min(4, availableParallelism() - 1));
const waitingMax = 64;

const script = new URL('./hasher-worker.ts', import.meta.url);
/** A hundred times what a run takes, in processor time. */
const limits = { maxMs: 1_000, heapMb: 32 };

/** A thread starts when it is first needed, which takes as long as a few runs. */
export function createPasswordHasher({ atOnce = runningMax }: { atOnce?: number } = {}): PasswordHasher {
  const threads = Array.from({ length: atOnce }, (): HashingThread => createBoundedThread(script, limits));
  const onFreeThread = createThreadQueue(threads);

  return {
    // The kind of the job determines which of the two results a thread returns.
    verify: async (storedHash, password) => (await onFreeThread((thread) => thread.ask({ kind: 'verify', storedHash, password }))) === true,
    hash: async (password, parameters) => String(await onFreeThread((thread) => thread.ask({ kind: 'hash', password, parameters }))),
    close: async () => void (await Promise.all(threads.map((thread) => thread.close()))),
  };
}

/** Runs each work with exclusive use of one thread. Throws `rate_limited` when too many wait. */
function createThreadQueue(threads: readonly HashingThread[]) {
  const queue = new PQueue({ concurrency: threads.length });
  const idle = [...threads];

  return async <Result>(work: (thread: HashingThread) => Promise<Result>): Promise<Result> => {
    if (queue.size >= waitingMax) {
      throw fail('rate_limited', {
        retryAfterS: 1,
        context: { violated_policies: ['password_hashing'] },
        detail: 'too many sign-ins at once',
      });
    }
    return queue.add(async () => {
      const thread = idle.pop();
      if (thread === undefined) throw new Error('more work than threads');
      return work(thread).finally(() => idle.push(thread));
    });
  };
}
