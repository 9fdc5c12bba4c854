import { parentPort } from 'node:worker_threads';
import type { ThreadAnswer } from './bounded-thread.ts';
import type { SchemaJob } from './json-schema.ts';
import { checkSchema, validateValue, type SchemaProblem } from './schema-rules.ts';

parentPort?.on('message', ({ id, job }: { id: number; job: SchemaJob }) => parentPort?.postMessage(answer(id, job)));
parentPort?.postMessage('ready');

function answer(id: number, job: SchemaJob): ThreadAnswer<SchemaProblem[]> {
  return { id, result: job.kind === 'check' ? checkSchema(job.schema) : validateValue(job.schema, job.value) };
}
