import { createBoundedThread, ThreadLimit } from './bounded-thread.ts';
import type { SchemaProblem } from './schema-rules.ts';

export type { SchemaProblem } from './schema-rules.ts';

/**
 * Compiles and applies JSON Schemas that tenants write (2020-12). `pattern` runs on re2, and everything in a thread that is replaced when a
 * schema outlives its time: no schema can block the process or bring it down.
 */
export interface TenantSchemas {
  /** What makes the schema unusable as the input schema of a tool; empty when it is sound. */
  check(schema: unknown): Promise<SchemaProblem[]>;
  /** What in `value` breaks `schema`, at most 50 entries; empty when it fits. The schema has passed `check`. */
  validate(schema: Readonly<Record<string, unknown>>, value: unknown): Promise<SchemaProblem[]>;
  close(): Promise<void>;
}

export type SchemaJob =
  | { readonly kind: 'check'; readonly schema: unknown }
  | { readonly kind: 'validate'; readonly schema: Readonly<Record<string, unknown>>; readonly value: unknown };

export function createTenantSchemas(): TenantSchemas {
  const thread = createBoundedThread<SchemaJob, SchemaProblem[]>(new URL('./schema-worker.ts', import.meta.url), {
    limitMs: 1_000,
    heapMb: 128,
  });

  async function ask(job: SchemaJob): Promise<SchemaProblem[]> {
    try {
      return await thread.ask(job);
    } catch (error) {
      if (!(error instanceof ThreadLimit)) throw error;
      return [{ pointer: '', rule: 'schema', message: `the schema can not be applied: it ${error.message}` }];
    }
  }

  return {
    check: (schema) => ask({ kind: 'check', schema }),
    validate: (schema, value) => ask({ kind: 'validate', schema, value }),
    close: () => thread.close(),
  };
}
