import { fail, type Violation } from '../../workflows/contracts/failure.ts';
import type { DatasetJob, DatasetLine } from './dataset-work.ts';
import type { WorkPool } from '../untrusted/pool.ts';
import { WorkLimit } from '../untrusted/work-errors.ts';

/** Reads data sets that tenants send, as untrusted work. */
export interface DatasetReader {
  /** Returns the items of a text. Throws 422 with the number of each bad line, at most 50; `service_unavailable` as the pool does. */
  read(organizationId: string | null, job: DatasetJob, pointer: string): Promise<readonly DatasetLine[]>;
}

export function createDatasetReader(pool: Pick<WorkPool, 'run'>): DatasetReader {
  return {
    async read(organizationId, job, pointer) {
      const { items, problems } = await pool.run('dataset', { organizationId, job, subject: () => job.text }).catch((error: unknown) => {
        if (!(error instanceof WorkLimit)) throw error;
        return { items: [], problems: [{ line: 1, pointer: '', rule: 'too_large', message: `the data set ${error.message}` }] };
      });
      if (problems.length > 0) throw refused(problems.map((problem) => violationAt(pointer, problem)));
      return items;
    },
  };
}

interface LocatedProblem {
  readonly line: number;
  readonly pointer: string;
  readonly rule: string;
  readonly message: string;
}

/** Returns the violation of a line, for the error reply. */
export function violationAt(pointer: string, { line, pointer: field, rule, message }: LocatedProblem): Violation {
  const where = field === '' ? '' : `${field.slice(1)} `;
  return {
    in: 'body',
    pointer,
    name: null,
    rule,
    message: `line ${line}: ${where}${message}`,
    params: { line, ...(field ? { field } : {}) },
  };
}

/** Returns a 422 for a data set, with at most 50 violations. */
export function refused(errors: readonly Violation[]): Error {
  return fail('validation_failed', { errors: errors.slice(0, 50) });
}
