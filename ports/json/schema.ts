import type { SchemaProblem, SchemaReading } from './schema-rules.ts';
import type { SchemaJob } from './schema-work.ts';
import type { WorkPool } from '../untrusted/pool.ts';
import { WorkLimit } from '../untrusted/work-errors.ts';

export type { SchemaProblem, SchemaReading } from './schema-rules.ts';

/**
 * Compiles and applies JSON Schemas that one tenant writes, each by the rules of its draft (04 to 2020-12), as untrusted work: `pattern` runs on re2, and no
 * schema can block the process or bring it down. All throw `service_unavailable` as the pool does.
 */
export interface TenantSchemas {
  /** Reads the input schema of a tool by another author: it is accepted as far as it can be read. */
  read(schema: unknown): Promise<SchemaReading>;
  /** Returns what the author must fix in a schema: errors that make it unusable, and patterns that would be ignored. */
  check(schema: unknown): Promise<SchemaProblem[]>;
  /** Returns the rules of `schema` that `value` breaks, at most 50; empty when it fits. A validation that exceeds its limits is a problem of rule `schema`. */
  validate(schema: Readonly<Record<string, unknown>>, value: unknown): Promise<SchemaProblem[]>;
}

/** The schemas of each organization; null is the platform. */
export interface SchemasByTenant {
  of(organizationId: string | null): TenantSchemas;
}

export function createSchemas(pool: Pick<WorkPool, 'run'>): SchemasByTenant {
  async function ask(organizationId: string | null, job: SchemaJob): Promise<SchemaReading> {
    try {
      return await pool.run('schema', { organizationId, job, subject: () => JSON.stringify(job.schema) });
    } catch (error) {
      if (!(error instanceof WorkLimit)) throw error;
      return { problems: [{ pointer: '', rule: 'schema', message: `the schema cannot be applied: it ${error.message}` }], ignored: [] };
    }
  }

  return {
    of: (organizationId) => ({
      read: (schema) => ask(organizationId, { kind: 'read', schema }),
      check: async (schema) => toMend(await ask(organizationId, { kind: 'read', schema })),
      validate: async (schema, value) => [...(await ask(organizationId, { kind: 'validate', schema, value })).problems],
    }),
  };
}

/** Returns what the author of a schema must fix: an unknown `$schema` may stay. */
export function toMend({ problems, ignored }: SchemaReading): SchemaProblem[] {
  return [...problems, ...ignored.filter(({ rule }) => rule === 'pattern')];
}
