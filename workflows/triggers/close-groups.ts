import { condition, continueAsNew, defineSignal, proxyActivities, setHandler, workflowInfo } from '@temporalio/workflow';
import { deliveriesCame, type GroupActivities, type GroupInput } from '../contracts/triggers/webhooks.ts';

const { closeGroup } = proxyActivities<GroupActivities>({
  startToCloseTimeout: '10 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds' },
});

const maxEvents = 1_500;

export const deliveriesCameSignal = defineSignal(deliveriesCame);

/**
 * Id `hook:<endpoint or event trigger>:<key>`: closes the due groups of one key of an endpoint or trigger. It ends when nothing waits; the rows say what does.
 */
export async function closeGroups(input: GroupInput): Promise<void> {
  let hasNew = true;
  setHandler(deliveriesCameSignal, () => {
    hasNew = true;
  });

  while (hasNew) {
    hasNew = false;
    const step = await closeGroup(input);
    if (step.state === 'idle') continue;
    if (step.state === 'waiting') await condition(() => step.isEager && hasNew, step.waitMs);
    hasNew = true;
    const { historyLength, continueAsNewSuggested } = workflowInfo();
    if (historyLength >= maxEvents || continueAsNewSuggested) await continueAsNew<typeof closeGroups>(input);
  }
}
