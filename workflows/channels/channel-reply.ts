import { condition, continueAsNew, defineSignal, proxyActivities, setHandler, sleep, workflowInfo } from '@temporalio/workflow';
import { channelRunChanged, type ChannelActivities, type ChannelReplyInput } from '../contracts/triggers/channels.ts';

const fast = { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds' } as const;

const { planParts } = proxyActivities<Pick<ChannelActivities, 'planParts'>>({
  startToCloseTimeout: '30 seconds',
  heartbeatTimeout: '10 seconds',
  retry: fast,
});
const { fetchFiles } = proxyActivities<Pick<ChannelActivities, 'fetchFiles'>>({
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '10 seconds',
  retry: { ...fast, maximumAttempts: 3 },
});
const { streamReply } = proxyActivities<Pick<ChannelActivities, 'streamReply'>>({
  startToCloseTimeout: '30 minutes',
  heartbeatTimeout: '10 seconds',
  retry: { ...fast, maximumAttempts: 2 },
});
// Temporal retries only a try whose worker or database was lost; gaps between tries are timers.
const { deliverPart } = proxyActivities<Pick<ChannelActivities, 'deliverPart'>>({
  startToCloseTimeout: '40 seconds',
  heartbeatTimeout: '10 seconds',
  retry: fast,
});

const maxEvents = 1_500;
/** A lost signal is made up for after this time. */
const pollEvery = '10 minutes';

export const channelRunChangedSignal = defineSignal(channelRunChanged);

/**
 * Id `delivery:channel:<run or message>`: brings what a run says into the thread of its message, and the files of messages into the run. It ends when the run
 * ends.
 */
export async function channelReply(input: ChannelReplyInput): Promise<void> {
  let isDue = true;
  let streaming: Promise<void> | null = null;
  setHandler(channelRunChangedSignal, () => {
    isDue = true;
  });

  for (;;) {
    isDue = false;
    await fetchFiles(input).catch(() => undefined); // beginRun continues without files that can't be fetched
    let plan = await planParts(input);
    if (plan.isOver && streaming !== null) {
      // The last change of a draft must not arrive after the answer.
      await streaming;
      plan = await planParts(input);
    }
    for (const part of plan.due) await deliverWhole({ ...input, ...part });
    if (plan.isOver && !isDue) return;
    if (plan.streams && streaming === null) {
      const over = () => {
        streaming = null;
      };
      // The answer itself does not depend on the stream.
      streaming = streamReply(input).then(over, over);
    }
    if (isOld() && streaming === null) await continueAsNew<typeof channelReply>(input);
    await condition(() => isDue, pollEvery);
  }
}

async function deliverWhole(part: Parameters<ChannelActivities['deliverPart']>[0]): Promise<void> {
  for (;;) {
    const step = await deliverPart(part);
    if (step.isOver) return;
    if (step.waitMs > 0) await sleep(step.waitMs);
  }
}

function isOld(): boolean {
  const { historyLength, continueAsNewSuggested } = workflowInfo();
  return historyLength >= maxEvents || continueAsNewSuggested;
}
