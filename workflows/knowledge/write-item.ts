import { proxyActivities, sleep } from '@temporalio/workflow';
import type { WriteItemActivities, WriteItemInput } from '../contracts/knowledge/items.ts';

const { writeKnowledge } = proxyActivities<WriteItemActivities>({
  startToCloseTimeout: '1 minute',
  scheduleToCloseTimeout: '10 minutes',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

const firstWaitMs = 5_000;
const maxWaitMs = 300_000;
const givenUpAfterMs = 24 * 3_600_000;

/** Workflow `maint:write:<tool_call_id>`: retries for a day an agent's write to a base that is being copied. */
export async function writeItem(input: WriteItemInput): Promise<void> {
  let waitMs = firstWaitMs;
  for (let waitedMs = 0; waitedMs < givenUpAfterMs; waitedMs += waitMs, waitMs = Math.min(waitMs * 2, maxWaitMs)) {
    await sleep(waitMs);
    // If the database is unavailable longer than one try waits, the next try covers it.
    if (!(await writeKnowledge(input).catch(() => true))) return;
  }
}
