import { proxyActivities } from '@temporalio/workflow';
import type { DeliveryActivities, DeliveryInput, DeliveryResult } from '../contracts/delivery.ts';

// Eight tries: at once, after 10 s, 1, 4, 18 and 76 minutes, 5.5 and 24 hours. The activity itself stops at the token's end.
const { sendMail } = proxyActivities<DeliveryActivities>({
  startToCloseTimeout: '30 seconds',
  scheduleToCloseTimeout: '25 hours',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '10 seconds', backoffCoefficient: 4.33, maximumInterval: '24 hours', maximumAttempts: 8 },
});

/** Workflow `delivery:<outbox id>`: one mail. Fails when no try got through. */
export async function delivery(input: DeliveryInput): Promise<DeliveryResult> {
  return sendMail(input);
}
