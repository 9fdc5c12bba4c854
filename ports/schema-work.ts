import { checkSchema, validateValue, type SchemaProblem } from './schema-rules.ts';

/** To judge a schema that is about to be saved, or to apply a saved one to a value. */
export type SchemaJob =
  | { readonly kind: 'check'; readonly schema: unknown }
  | { readonly kind: 'validate'; readonly schema: Readonly<Record<string, unknown>>; readonly value: unknown };

/** Runs in a child of the pool. */
export function work(job: SchemaJob): SchemaProblem[] {
  return job.kind === 'check' ? checkSchema(job.schema) : validateValue(job.schema, job.value);
}
