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

/** Workflow `maint:write:<tool_call_id>`: a write of an agent that met a base which is being copied, tried for a day. */
export async function writeItem(input: WriteItemInput): Promise<void> {
  let waitMs = firstWaitMs;
  for (let waitedMs = 0; waitedMs < givenUpAfterMs; waitedMs += waitMs, waitMs = Math.min(waitMs * 2, maxWaitMs)) {
    await sleep(waitMs);
    // A database that is away longer than a try waits is the next one's business.
    if (!(await writeKnowledge(input).catch(() => true))) return;
  }
}
