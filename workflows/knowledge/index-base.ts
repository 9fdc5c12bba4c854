import { condition, continueAsNew, defineSignal, proxyActivities, setHandler, workflowInfo } from '@temporalio/workflow';
import { itemsPending, type IndexActivities, type IndexBaseInput } from '../contracts/knowledge/items.ts';
import { knowledgeRunSignals } from '../contracts/knowledge/runs.ts';

/** If the provider is down for a day, the waiting items fail; each try continues where the previous one stopped. */
const { indexItems } = proxyActivities<Pick<IndexActivities, 'indexItems'>>({
  startToCloseTimeout: '10 minutes',
  scheduleToCloseTimeout: '24 hours',
  heartbeatTimeout: '30 seconds',
  retry: { initialInterval: '2 seconds', backoffCoefficient: 2, maximumInterval: '5 minutes' },
});
const { failItems } = proxyActivities<Pick<IndexActivities, 'failItems'>>({
  startToCloseTimeout: '1 minute',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

const itemsPendingSignal = defineSignal(itemsPending);
const budgetChangedSignal = defineSignal(knowledgeRunSignals.budgetChanged);
const budgetPause = '15 minutes';

/** Workflow `index:<kb>`: writes chunks, terms and vectors of a base's pending items. Ends when none is pending. */
export async function indexBase(input: IndexBaseInput): Promise<void> {
  let isAsked = true;
  for (const signal of [itemsPendingSignal, budgetChangedSignal])
    setHandler(signal, () => {
      isAsked = true;
    });

  while (isAsked) {
    isAsked = false;
    const outcome = await indexItems(input).catch(() => 'failed' as const);
    if (outcome === 'failed') await failItems(input);
    if (outcome === 'budget') await condition(() => isAsked, budgetPause);
    if (outcome === 'more' || outcome === 'budget') isAsked = true;
    if (isAsked && workflowInfo().continueAsNewSuggested) await continueAsNew<typeof indexBase>(input);
  }
}
