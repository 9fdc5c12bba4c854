import { readSchema, validateValue, type SchemaProblem, type SchemaReading } from './schema-rules.ts';

/** Check a schema that is about to be saved, or apply a saved one to a value. */
export type SchemaJob =
  | { readonly kind: 'read'; readonly schema: unknown }
  | { readonly kind: 'validate'; readonly schema: Readonly<Record<string, unknown>>; readonly value: unknown };

/** Runs in a child of the pool. Rules that a value breaks are returned as problems. */
export function work(job: SchemaJob): SchemaReading {
  if (job.kind === 'read') return readSchema(job.schema);
  const problems: SchemaProblem[] = validateValue(job.schema, job.value);
  return { problems, ignored: [] };
}
