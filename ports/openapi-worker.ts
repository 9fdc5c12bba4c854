import { parentPort } from 'node:worker_threads';
import type { ThreadAnswer } from './bounded-thread.ts';
import type { OpenApiReading, ReadOpenApi } from './openapi-reader.ts';
import { readOpenApi } from './openapi-rules.ts';

parentPort?.on('message', ({ id, job }: { id: number; job: ReadOpenApi }) => {
  const answer: ThreadAnswer<OpenApiReading> = { id, result: readOpenApi(job) };
  parentPort?.postMessage(answer);
});
parentPort?.postMessage('ready');
