import { invalid } from '../../workflows/contracts/failure.ts';
import type { SkillBundle } from './bundle.ts';
import type { SkillJob } from './work.ts';
import type { WorkPool } from '../untrusted/pool.ts';
import { WorkLimit } from '../untrusted/work-errors.ts';

/** Reads the skills that tenants upload, as untrusted work. 422 at the job's pointer; `service_unavailable` as the pool does. */
export interface SkillReader {
  /** Reads for an organization; null is the platform. */
  read(organizationId: string | null, job: SkillJob): Promise<SkillBundle>;
}

export function createSkillReader(pool: Pick<WorkPool, 'run'>): SkillReader {
  return {
    async read(organizationId, job) {
      try {
        const subject = () => (job.kind === 'bundle' ? job.bytes : job.source);
        return await pool.run('skill', { organizationId, job, subject });
      } catch (error) {
        if (!(error instanceof WorkLimit)) throw error;
        throw invalid(job.pointer, 'too_large', `The skill cannot be read: it ${error.message}.`);
      }
    },
  };
}
