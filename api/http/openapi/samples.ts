import type { Json } from './schemas.ts';
import type { RegisteredOperation } from '../operation/operation.ts';
import { curlSample } from './samples/curl.ts';
import { pythonSample } from './samples/python.ts';
import { sampleRequest } from './samples/request.ts';
import { typescriptSample } from './samples/typescript.ts';

/**
 * `x-codeSamples` of an operation, made from its declaration and its example. They run as they stand where the environment holds the
 * credential (`LONGHAUL_KEY`, or `ACCESS_TOKEN` where only a session will do) and the ids of the path (`RUN_ID`, …).
 */
export function codeSamplesOf(operation: RegisteredOperation, publicUrl: string): Json[] {
  const request = sampleRequest(operation, publicUrl);
  return [
    { lang: 'Shell', label: 'curl', source: curlSample(request) },
    { lang: 'TypeScript', label: 'TypeScript', source: typescriptSample(request) },
    { lang: 'Python', label: 'Python', source: pythonSample(request) },
  ];
}
