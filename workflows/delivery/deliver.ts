import { proxyActivities, sleep } from '@temporalio/workflow';
import type { DeliverInput, NoticeActivities } from '../contracts/notices.ts';

// A try takes 15 s at most. What is repeated here is a try whose worker or database was lost: the receiver gets it again under the same id.
const { attemptDelivery } = proxyActivities<NoticeActivities>({
  startToCloseTimeout: '40 seconds',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

/** Workflow `delivery:<id>`: one delivery of a source, tried until it is taken, refused, or its table of tries is at its end. */
export async function deliver(input: DeliverInput): Promise<void> {
  for (;;) {
    const step = await attemptDelivery(input);
    if (step.isOver) return;
    await sleep(step.waitMs);
  }
}
