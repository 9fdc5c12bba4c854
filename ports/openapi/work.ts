import type { OpenApiReading, ReadOpenApi } from './reader.ts';
import { readOpenApi } from './rules.ts';

/** Runs in a child of the pool. */
export function work(job: ReadOpenApi): OpenApiReading {
  return readOpenApi(job);
}
