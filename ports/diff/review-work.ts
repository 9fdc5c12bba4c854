import type { WorkPool } from '../untrusted/pool.ts';
import { WorkLimit, WorkProblem } from '../untrusted/work-errors.ts';
import type { HashedPatch } from './patch-work.ts';
import type { PathReading } from './paths-work.ts';

/** What reviews read from strangers, as untrusted work of one organization. All throw `service_unavailable` as the pool does. */
export interface ReviewWork {
  /** Throws ReviewWorkError for bytes that are no patch, or that exceed the limits of a job. */
  readPatch(bytes: Uint8Array): Promise<HashedPatch[]>;
  /** Throws ReviewWorkError for globs that can't be read, or that exceed the limits of a job. */
  readPaths(paths: readonly string[], lists: readonly (readonly string[])[]): Promise<PathReading[]>;
  /** Whether one of several RE2 patterns matches in a text. A pattern that can't be read, or takes too long, does not match. */
  findAny(patterns: readonly string[], text: string): Promise<boolean>;
}

/** A stranger's input exceeds a limit, or does not have the expected form. */
export class ReviewWorkError extends Error {
  override readonly name = 'ReviewWorkError';
}

/** The work of one organization. */
export function createReviewWork(
  pool: Pick<WorkPool, 'run'>,
  { organizationId, signal }: { organizationId: string; signal: AbortSignal },
): ReviewWork {
  return {
    readPatch: (bytes) => refused(pool.run('patch', { organizationId, signal, job: { bytes } })),
    readPaths: (paths, lists) =>
      refused(pool.run('paths', { organizationId, signal, job: { paths, lists }, subject: () => JSON.stringify(lists) })),
    async findAny(patterns, text) {
      for (const pattern of patterns) {
        const job = { pattern, flags: '', text };
        const reading = await pool.run('pattern', { organizationId, signal, job, subject: () => `/${pattern}` }).catch((error: unknown) => {
          if (error instanceof WorkLimit) return 'unreadable' as const;
          throw error;
        });
        if (reading === 'found') return true;
      }
      return false;
    },
  };
}

async function refused<R>(work: Promise<R>): Promise<R> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof WorkLimit || error instanceof WorkProblem) throw new ReviewWorkError(error.message);
    throw error;
  }
}
