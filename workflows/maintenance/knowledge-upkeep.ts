import { proxyActivities } from '@temporalio/workflow';
import type { MaintenanceActivities } from '../contracts/upkeep/maintenance.ts';

const { sweepEmbeddings } = proxyActivities<Pick<MaintenanceActivities, 'sweepEmbeddings'>>({
  startToCloseTimeout: '30 minutes',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute', maximumAttempts: 5 },
});

/** Handles one index after another, each by itself: those that are not done are done the next day. */
const { tendVectorIndexes } = proxyActivities<Pick<MaintenanceActivities, 'tendVectorIndexes'>>({
  startToCloseTimeout: '12 hours',
  heartbeatTimeout: '30 seconds',
  retry: { initialInterval: '1 minute', backoffCoefficient: 2, maximumInterval: '10 minutes', maximumAttempts: 3 },
});

/** Schedule `maint:knowledge`: deletes unused vectors of the embedding cache and maintains the indexes of large bases. Running either twice is harmless. */
export async function knowledgeUpkeep(): Promise<void> {
  await sweepEmbeddings();
  await tendVectorIndexes();
}
