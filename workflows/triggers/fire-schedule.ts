import { proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { ScheduleInput, TriggerActivities } from '../contracts/triggers/triggers.ts';

const { fireOccurrence } = proxyActivities<Pick<TriggerActivities, 'fireOccurrence'>>({
  startToCloseTimeout: '10 seconds',
  retry: { initialInterval: '500 milliseconds', backoffCoefficient: 2, maximumInterval: '30 seconds' },
});

/** One instant of a schedule, started by Temporal's own schedule `trigger:<id>`: the search attribute holds the instant, without jitter. */
export async function fireSchedule({ scheduleId }: ScheduleInput): Promise<void> {
  const { searchAttributes, startTime } = workflowInfo();
  const scheduled: unknown = searchAttributes['TemporalScheduledStartTime']?.[0];
  const nominal = scheduled instanceof Date ? scheduled : startTime;

  await fireOccurrence({ scheduleId, nominalAt: nominal.toISOString() });
}
