import { area } from '../http/operation/operation.ts';
import { findingOperations } from './findings.operations.ts';
import { policyOperations } from './policy.operations.ts';
import { purgeOperations } from './purge.operations.ts';
import { runOperations } from './runs.operations.ts';

/** What keeps knowledge bases true: runs, findings, policies. */
export const knowledgeMaintenance = area('Knowledge maintenance', {
  ...runOperations,
  ...policyOperations,
  ...findingOperations,
  ...purgeOperations,
});
