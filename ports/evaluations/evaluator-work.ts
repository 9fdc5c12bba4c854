import type { SchemasByTenant, SchemaProblem } from '../json/schema.ts';
import type { PatternReading } from '../json/pattern-work.ts';
import type { WorkPool } from '../untrusted/pool.ts';
import { WorkLimit } from '../untrusted/work-errors.ts';

/** Patterns and schemas of evaluators, as untrusted work. Both throw `service_unavailable` as the pool does. */
export interface EvaluatorWork {
  /** Whether a pattern matches in a text (with null: whether it can be read at all). `limit`: it exceeded the limits of a job. */
  find(pattern: string, flags: string, text: string | null): Promise<PatternReading | 'limit'>;
  /** Returns what must be fixed in a schema before it validates outputs. */
  checkSchema(schema: Readonly<Record<string, unknown>>): Promise<SchemaProblem[]>;
}

/** The work of one organization. */
export function createEvaluatorWork(pool: Pick<WorkPool, 'run'>, schemas: SchemasByTenant, organizationId: string | null): EvaluatorWork {
  return {
    find: (pattern, flags, text) =>
      pool
        .run('pattern', { organizationId, job: { pattern, flags, text }, subject: () => `${flags}/${pattern}` })
        .catch((error: unknown) => {
          if (error instanceof WorkLimit) return 'limit' as const;
          throw error;
        }),
    // Schemas of tools are objects at their root, those of outputs may be anything: except for its references, what is reported about one as a property of an
    // object holds for it alone.
    async checkSchema(schema) {
      const inObject = await schemas.of(organizationId).check({ type: 'object', properties: { output: schema } });
      const applied = await schemas.of(organizationId).validate(schema, null);
      return [...inObject.filter(({ rule }) => rule !== 'schema'), ...applied.filter(({ rule }) => rule === 'schema')];
    },
  };
}
