import type { WorkPool } from '../untrusted/pool.ts';
import { WorkLimit } from '../untrusted/work-errors.ts';

/** The unified diff of two texts, null when they are equal; or nothing, because it took too long. */
export interface LineDiff {
  readonly text: string | null;
  readonly isLeftOut: boolean;
}

/** Compares texts of tenants line by line, as untrusted work. */
export interface LineComparison {
  /** Compares for an organization; null is the platform. Throws `service_unavailable` as the pool does. */
  compare(organizationId: string | null, texts: { readonly before: string; readonly after: string }): Promise<LineDiff>;
}

export function createLineComparison(pool: Pick<WorkPool, 'run'>): LineComparison {
  return {
    async compare(organizationId, job) {
      if (job.before === job.after) return { text: null, isLeftOut: false };
      try {
        const subject = () => `${job.before}\0${job.after}`;
        return { text: await pool.run('diff', { organizationId, job, subject }), isLeftOut: false };
      } catch (error) {
        if (error instanceof WorkLimit) return { text: null, isLeftOut: true };
        throw error;
      }
    },
  };
}
