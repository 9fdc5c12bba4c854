import type { SchemaProblem } from './schema-rules.ts';
import type { SchemaJob } from './schema-work.ts';
import type { WorkPool } from './untrusted/pool.ts';
import { WorkLimit } from './untrusted/work-errors.ts';

export type { SchemaProblem } from './schema-rules.ts';

/**
 * Compiles and applies JSON Schemas that one tenant writes (2020-12), as untrusted work: `pattern` runs on re2, and no schema can block the
 * process or bring it down. Both throw `service_unavailable` as the pool does.
 */
export interface TenantSchemas {
  /** What makes the schema unusable as the input schema of a tool; empty when it is sound. */
  check(schema: unknown): Promise<SchemaProblem[]>;
  /** What in `value` breaks `schema`, at most 50 entries; empty when it fits. One that outgrows its limits is a problem of rule `schema`. */
  validate(schema: Readonly<Record<string, unknown>>, value: unknown): Promise<SchemaProblem[]>;
}

/** The schemas of each organization; null is the platform. */
export interface SchemasByTenant {
  of(organizationId: string | null): TenantSchemas;
}

export function createSchemas(pool: Pick<WorkPool, 'run'>): SchemasByTenant {
  async function ask(organizationId: string | null, job: SchemaJob): Promise<SchemaProblem[]> {
    try {
      return await pool.run('schema', { organizationId, job, subject: () => JSON.stringify(job.schema) });
    } catch (error) {
      if (!(error instanceof WorkLimit)) throw error;
      return [{ pointer: '', rule: 'schema', message: `the schema can not be applied: it ${error.message}` }];
    }
  }

  return {
    of: (organizationId) => ({
      check: (schema) => ask(organizationId, { kind: 'check', schema }),
      validate: (schema, value) => ask(organizationId, { kind: 'validate', schema, value }),
    }),
  };
}
