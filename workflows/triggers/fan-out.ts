import { proxyActivities } from '@temporalio/workflow';
import type { EventActivities, FanOutInput } from '../contracts/triggers/events.ts';

const { fanOutEvent } = proxyActivities<EventActivities>({
  startToCloseTimeout: '10 seconds',
  retry: { initialInterval: '500 milliseconds', backoffCoefficient: 2, maximumInterval: '30 seconds' },
});

/** Id `event:<id>`: starts the runs of the triggers that an event matches. The rows say which triggers are left. */
export async function fanOut({ eventId }: FanOutInput): Promise<void> {
  let isDone = false;
  while (!isDone) isDone = await fanOutEvent({ eventId });
}
