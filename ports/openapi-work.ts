import type { OpenApiReading, ReadOpenApi } from './openapi-reader.ts';
import { readOpenApi } from './openapi-rules.ts';

/** Runs in a child of the pool. */
export function work(job: ReadOpenApi): OpenApiReading {
  return readOpenApi(job);
}
