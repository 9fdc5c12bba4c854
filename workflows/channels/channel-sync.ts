import { defineSignal, proxyActivities, setHandler } from '@temporalio/workflow';
import { channelChanged, type ChannelSyncActivities, type ChannelSyncInput } from '../contracts/triggers/channels.ts';

const { syncChannel } = proxyActivities<ChannelSyncActivities>({
  startToCloseTimeout: '30 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '5 minutes' },
});

export const channelChangedSignal = defineSignal(channelChanged);

/** Id `maint:trigger-sync:<channel>`: registers with a chat service where its messages go, until the row no longer changes between read and write. */
export async function channelSync({ channelId }: ChannelSyncInput): Promise<void> {
  let isDue = true;
  setHandler(channelChangedSignal, () => {
    isDue = true;
  });

  while (isDue) {
    isDue = false;
    if (!(await syncChannel({ channelId }))) isDue = true;
  }
}
