import { ApplicationFailure, CancellationScope, condition, defineSignal, proxyActivities, setHandler, sleep } from '@temporalio/workflow';
import { knowledgeRunSignals } from '../contracts/knowledge/runs.ts';
import type { IngestActivities, IngestInput, IngestOutcome } from '../contracts/knowledge/ingest.ts';
import { msUntil, parserRestMs } from './parser-rest.ts';

const { fetchSource, publishSource } = proxyActivities<Pick<IngestActivities, 'fetchSource' | 'publishSource'>>({
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '30 seconds',
  retry: { initialInterval: '2 seconds', backoffCoefficient: 3, maximumInterval: '5 minutes', maximumAttempts: 8 },
});
/** Ten minutes for the parser, the rest for processing its output. */
const { parseSource } = proxyActivities<Pick<IngestActivities, 'parseSource'>>({
  startToCloseTimeout: '1 hour',
  heartbeatTimeout: '30 seconds',
  retry: { initialInterval: '2 seconds', backoffCoefficient: 3, maximumInterval: '5 minutes', maximumAttempts: 5 },
});
/** If the provider is down for a day, the run fails; each try continues where the previous one stopped. */
const { indexSource } = proxyActivities<Pick<IngestActivities, 'indexSource'>>({
  startToCloseTimeout: '1 hour',
  scheduleToCloseTimeout: '24 hours',
  heartbeatTimeout: '30 seconds',
  retry: { initialInterval: '2 seconds', backoffCoefficient: 2, maximumInterval: '5 minutes' },
});
const { failSource } = proxyActivities<Pick<IngestActivities, 'failSource'>>({
  startToCloseTimeout: '10 minutes',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

const cancelSignal = defineSignal(knowledgeRunSignals.cancel);
const budgetChangedSignal = defineSignal(knowledgeRunSignals.budgetChanged);

/** Workflow `ingest:<source>:<n>`: turns the bytes of a source into items of its base. The rows hold the state of source and run; a run always ends. */
export async function ingestSource(input: IngestInput): Promise<void> {
  const work = new CancellationScope();
  const budget = { isChanged: false };
  setHandler(cancelSignal, () => work.cancel());
  setHandler(budgetChangedSignal, () => {
    budget.isChanged = true;
  });
  try {
    await work.run(() => ingest(input, budget));
  } catch {
    await failSource(input);
  }
}

async function ingest(input: IngestInput, budget: { isChanged: boolean }): Promise<void> {
  if ((await fetchSource(input)) === 'ended') return;
  if ((await parse(input)) === 'ended') return;
  for (;;) {
    budget.isChanged = false;
    const outcome = await indexSource(input);
    if (outcome === 'ended') return;
    if (outcome === 'go_on') break;
    await condition(() => budget.isChanged, msUntil(outcome.pausedUntil));
  }
  await publishSource(input);
}

const dayMs = 86_400_000;

/** Waits outside of the worker until a parser is free. */
async function parse(input: IngestInput): Promise<IngestOutcome> {
  for (let waitedMs = 0; waitedMs < dayMs;) {
    const outcome = await parseSource({ ...input, callsAgain: true });
    if (outcome === 'ended' || outcome === 'go_on') return outcome;
    const restMs = parserRestMs(waitedMs, outcome === 'busy' ? 1 : outcome.waiting);
    await sleep(restMs);
    waitedMs += restMs;
  }
  throw ApplicationFailure.nonRetryable('no parser was free for a day', 'parsers_busy');
}
