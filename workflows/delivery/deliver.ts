import { proxyActivities, sleep } from '@temporalio/workflow';
import type { DeliverInput, NoticeActivities, DeliveryActivities, DeliveryInput, DeliveryResult } from '../contracts/upkeep/delivery.ts';

// A try takes 15 s at most. Temporal retries only a try whose worker or database was lost: the receiver then gets it again under the same id.
const { attemptDelivery } = proxyActivities<NoticeActivities>({
  startToCloseTimeout: '40 seconds',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

/** Workflow `delivery:<id>`: tries one delivery of a source until it is taken, refused, or its table of tries is exhausted. */
export async function deliver(input: DeliverInput): Promise<void> {
  for (;;) {
    const step = await attemptDelivery(input);
    if (step.isOver) return;
    await sleep(step.waitMs);
  }
}

// Eight tries: at once, after 10 s, 1, 4, 18 and 76 minutes, 5.5 and 24 hours. The activity itself stops when the token expires.
const { sendMail } = proxyActivities<DeliveryActivities>({
  startToCloseTimeout: '30 seconds',
  scheduleToCloseTimeout: '25 hours',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '10 seconds', backoffCoefficient: 4.33, maximumInterval: '24 hours', maximumAttempts: 8 },
});

/** Workflow `delivery:<outbox id>`: sends one mail. Fails when no try succeeded. */
export async function delivery(input: DeliveryInput): Promise<DeliveryResult> {
  return sendMail(input);
}
