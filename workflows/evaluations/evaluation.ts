import { condition, continueAsNew, defineSignal, proxyActivities, setHandler, workflowInfo } from '@temporalio/workflow';
import { evaluationChanged, type EvaluationActivities, type EvaluationInput } from '../contracts/evaluations.ts';

const patient = { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds' } as const;

const { beginEvaluation, stopEvaluation, finishEvaluation } = proxyActivities<EvaluationActivities>({
  startToCloseTimeout: '5 minutes',
  heartbeatTimeout: '20 seconds',
  retry: patient,
});
/** A pass accepts new work for a minute; the votes that it has requested by then may take longer. */
const { advanceEvaluation } = proxyActivities<EvaluationActivities>({
  startToCloseTimeout: '30 minutes',
  heartbeatTimeout: '20 seconds',
  retry: patient,
});
/** An evaluation also ends without its file. */
const { exportEvaluation } = proxyActivities<EvaluationActivities>({
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '30 seconds',
  retry: { ...patient, maximumAttempts: 5 },
});

const changed = defineSignal(evaluationChanged);
const maxEvents = 1_500;

/** Id `eval:<id>`: runs the items of an evaluation, scores those that have ended, and ends it. The rows hold all that is left to do. */
export async function evaluation(input: EvaluationInput): Promise<void> {
  let isWoken = false;
  setHandler(changed, () => {
    isWoken = true;
  });

  if (!(await beginEvaluation(input))) return;
  for (;;) {
    isWoken = false;
    if ((await advanceEvaluation(input)).outcome === 'done') break;
    await condition(() => isWoken, '30 seconds');
    const { historyLength, continueAsNewSuggested } = workflowInfo();
    if (historyLength >= maxEvents || continueAsNewSuggested) await continueAsNew<typeof evaluation>(input);
  }
  await stopEvaluation(input);
  await exportEvaluation(input).catch(() => undefined);
  await finishEvaluation(input);
}
