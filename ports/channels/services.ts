import type { ChannelKind, MountedChannelKind } from '../../workflows/contracts/channels.ts';
import { discord } from './discord.ts';
import type { ChannelService } from './service.ts';
import { slack } from './slack.ts';
import { telegram } from './telegram.ts';
import { webhook } from './webhook.ts';

const services: Readonly<Record<MountedChannelKind, ChannelService>> = { slack, telegram, discord, webhook };

/** The client of a kind. Throws for one that is not mounted: no channel of it can be made. */
export function serviceOf(kind: ChannelKind): ChannelService {
  if (kind === 'email') throw new Error('mail is not mounted');
  return services[kind];
}
