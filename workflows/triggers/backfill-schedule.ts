import { condition, continueAsNew, defineSignal, proxyActivities, setHandler, workflowInfo } from '@temporalio/workflow';
import { backfillRunEnded, type BackfillInput, type TriggerActivities } from '../contracts/triggers/triggers.ts';

const { advanceBackfill } = proxyActivities<Pick<TriggerActivities, 'advanceBackfill'>>({
  startToCloseTimeout: '30 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds' },
});

const maxEvents = 1_500;

export const backfillRunEndedSignal = defineSignal(backfillRunEnded);

/** Id `backfill:<id>`: starts the instants of a backfill, one run at a time or several per second. The row holds its progress. */
export async function backfillSchedule(input: BackfillInput): Promise<void> {
  let hasEnded = false;
  setHandler(backfillRunEndedSignal, () => {
    hasEnded = true;
  });

  for (;;) {
    hasEnded = false;
    const step = await advanceBackfill(input);
    if (step.state === 'ended') return;
    await condition(() => step.isEager && hasEnded, step.waitMs);
    const { historyLength, continueAsNewSuggested } = workflowInfo();
    if (historyLength >= maxEvents || continueAsNewSuggested) await continueAsNew<typeof backfillSchedule>(input);
  }
}
