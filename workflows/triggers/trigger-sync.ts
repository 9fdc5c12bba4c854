import { defineSignal, proxyActivities, setHandler } from '@temporalio/workflow';
import { scheduleChanged, type ScheduleInput, type TriggerActivities } from '../contracts/triggers/triggers.ts';

const { syncSchedule } = proxyActivities<Pick<TriggerActivities, 'syncSchedule'>>({
  startToCloseTimeout: '30 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

export const scheduleChangedSignal = defineSignal(scheduleChanged);

/** Id `maint:trigger-sync:<schedule>`: upserts Temporal's schedule from the newest row until the row no longer changes meanwhile. */
export async function triggerSync({ scheduleId }: ScheduleInput): Promise<void> {
  let isDue = true;
  setHandler(scheduleChangedSignal, () => {
    isDue = true;
  });

  while (isDue) {
    isDue = false;
    if (!(await syncSchedule({ scheduleId }))) isDue = true;
  }
}
