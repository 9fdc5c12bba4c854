import type { ChannelActivities, ChannelSyncActivities } from '../../workflows/contracts/triggers/channels.ts';
import type { ActivityDeps } from '../deps.ts';
import { deliverPart } from './deliver-part.ts';
import { fetchFiles } from './fetch-files.ts';
import { planParts } from './plan-parts.ts';
import { createDrafts } from './stream-reply.ts';
import { syncChannel } from './sync-channel.ts';

/** The activities of channels: each decides by its rows and may be repeated on any worker. */
export function createChannelActivities(deps: ActivityDeps): ChannelActivities & ChannelSyncActivities {
  const drafts = createDrafts(deps);
  return {
    fetchFiles: (input) => fetchFiles(deps, input),
    planParts: (input) => planParts(deps, input),
    streamReply: drafts.show,
    deliverPart: (input) => deliverPart(deps, input),
    syncChannel: (input) => syncChannel(deps, input),
  };
}
