import { area } from '../http/operation/operation.ts';
import { contractOperations } from './contract.operations.ts';
import { healthOperations } from './health.operations.ts';
import { statusOperations } from './status.operations.ts';
import { versionOperations } from './version.operations.ts';

const { getMetrics, getSystemStatus } = statusOperations;
const { getVersion, getCapabilities } = versionOperations;

/** In the order of the contract. */
export const system = area('System', {
  ...healthOperations,
  getMetrics,
  getVersion,
  ...contractOperations,
  getCapabilities,
  getSystemStatus,
});
