import {
  CancellationScope,
  condition,
  continueAsNew,
  defineSignal,
  isCancellation,
  proxyActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import {
  knowledgeRunSignals,
  type KnowledgeRunActivities,
  type KnowledgeRunInput,
  type KnowledgeRunStep,
} from '../contracts/knowledge/runs.ts';
import { msUntil } from './parser-rest.ts';

/** If the provider is down for a day, the run fails; each try continues behind the last committed batch. */
const { advanceKnowledgeRun } = proxyActivities<Pick<KnowledgeRunActivities, 'advanceKnowledgeRun'>>({
  startToCloseTimeout: '10 minutes',
  scheduleToCloseTimeout: '24 hours',
  heartbeatTimeout: '30 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '5 minutes' },
});
const { endKnowledgeRun } = proxyActivities<Pick<KnowledgeRunActivities, 'endKnowledgeRun'>>({
  startToCloseTimeout: '1 minute',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

const cancelSignal = defineSignal(knowledgeRunSignals.cancel);
const budgetChangedSignal = defineSignal(knowledgeRunSignals.budgetChanged);
/** Activities of one execution, so that its history stays short. */
const maxSteps = 200;

/** Workflow `maint:<run>`: batch after batch of a maintenance, an import, an export or a purge, until the row of the run says that it has ended. */
export async function knowledgeRun(input: KnowledgeRunInput): Promise<void> {
  const asked = { isCancelled: false, isWoken: false };
  const work = new CancellationScope();
  setHandler(cancelSignal, () => {
    asked.isCancelled = true;
    work.cancel();
  });
  setHandler(budgetChangedSignal, () => {
    asked.isWoken = true;
  });

  for (let steps = 1; !asked.isCancelled; steps += 1) {
    asked.isWoken = false;
    const step = await work.run(() => advanceKnowledgeRun(input)).catch(givenUp);
    if (step === null) break;
    if (step.outcome === 'ended') return;
    if (step.outcome === 'paused') await condition(() => asked.isWoken || asked.isCancelled, msUntil(step.until));
    const isLong = steps >= maxSteps || workflowInfo().continueAsNewSuggested;
    if (isLong && !asked.isCancelled) await continueAsNew<typeof knowledgeRun>(input);
  }
  await endKnowledgeRun(input);
}

/** The work was cancelled or has finally failed: the row then decides how the run ends. */
function givenUp(error: unknown): KnowledgeRunStep | null {
  if (isCancellation(error) || error instanceof Error) return null;
  throw error;
}
