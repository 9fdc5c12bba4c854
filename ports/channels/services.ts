import type { ChannelKind } from '../../workflows/contracts/triggers/channels.ts';
import { discord } from './discord.ts';
import { email } from './email.ts';
import type { ChannelService } from './service.ts';
import { slack } from './slack.ts';
import { telegram } from './telegram.ts';
import { webhook } from './webhook.ts';

const services: Readonly<Record<ChannelKind, ChannelService>> = { slack, telegram, discord, email, webhook };

/** Returns the client of a kind. */
export function serviceOf(kind: ChannelKind): ChannelService {
  return services[kind];
}
