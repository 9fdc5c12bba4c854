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
import { knowledgeRunSignals } from '../contracts/knowledge/runs.ts';
import type { ReembedActivities, ReembedInput, ReembedStep } from '../contracts/knowledge/reembed.ts';
import { msUntil } from './parser-rest.ts';

/** If the provider is down for a day, the run fails; each try continues behind what was committed. */
const { embedRange, verifySample } = proxyActivities<Pick<ReembedActivities, 'embedRange' | 'verifySample'>>({
  startToCloseTimeout: '10 minutes',
  scheduleToCloseTimeout: '24 hours',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '5 minutes' },
});
/** Indexing a million vectors takes long; until the index is there, the base is searched by scans. */
const { buildIndex } = proxyActivities<Pick<ReembedActivities, 'buildIndex'>>({
  startToCloseTimeout: '4 hours',
  heartbeatTimeout: '30 seconds',
  retry: { initialInterval: '5 seconds', backoffCoefficient: 2, maximumInterval: '1 minute', maximumAttempts: 4 },
});
const { cutOver } = proxyActivities<Pick<ReembedActivities, 'cutOver'>>({
  startToCloseTimeout: '10 minutes',
  scheduleToCloseTimeout: '24 hours',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
});
/** Retried until it succeeds: the old base stays frozen until then. */
const { compensate } = proxyActivities<Pick<ReembedActivities, 'compensate'>>({
  startToCloseTimeout: '30 minutes',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

const cancelSignal = defineSignal(knowledgeRunSignals.cancel);
const budgetChangedSignal = defineSignal(knowledgeRunSignals.budgetChanged);
/** Activities of one execution, so that its history stays short. */
const maxSteps = 200;

/** Workflow `reembed:<new base>`: fills a new base from another one with its own model and replaces that one by it; otherwise nothing of the new base stays. */
export async function reembedBase(input: ReembedInput): Promise<void> {
  let isWoken = false;
  let isCancelled = false;
  const work = new CancellationScope();
  setHandler(cancelSignal, () => {
    isCancelled = true;
    work.cancel();
  });
  setHandler(budgetChangedSignal, () => {
    isWoken = true;
  });

  const paused = async (until: string) => {
    await condition(() => isWoken || isCancelled, msUntil(until));
    isWoken = false;
  };
  const outcome = isCancelled ? 'stopped' : await work.run(() => fillAndCutOver(input, paused)).catch(() => 'stopped' as const);
  if (outcome === 'long' && !isCancelled) await continueAsNew<typeof reembedBase>(input);
  if (outcome !== 'done') await CancellationScope.nonCancellable(() => compensate(input));
}

async function fillAndCutOver(input: ReembedInput, paused: (until: string) => Promise<void>): Promise<'done' | 'stopped' | 'long'> {
  for (let steps = 1; ; steps += 1) {
    const step = await embedRange(input);
    if (step.outcome === 'stopped') return 'stopped';
    if (step.outcome === 'done') break;
    if (step.outcome === 'paused') await paused(step.until);
    if (steps >= maxSteps || workflowInfo().continueAsNewSuggested) return 'long';
  }
  // Without its index the new base is searched all the same, and the daily upkeep builds it.
  await buildIndex(input).catch((error: unknown) => {
    if (isCancellation(error)) throw error;
  });
  for (let step: ReembedStep = await verifySample(input); step.outcome !== 'done'; step = await verifySample(input)) {
    if (step.outcome !== 'paused') return 'stopped';
    await paused(step.until);
  }
  return (await cutOver(input)).outcome === 'done' ? 'done' : 'stopped';
}
