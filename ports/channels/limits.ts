import type { ChannelKind } from '../../workflows/contracts/triggers/channels.ts';
import { renderMailHtml, renderMarkdown, slackForm, telegramForm } from './render.ts';
import type { PartLimit } from './split.ts';

const asIs = (markdown: string): string => markdown;

/**
 * The text limits of the services, by their documentation: Slack 3000 characters per text object, Telegram 4096 per message, Discord 2000; the limits of mails
 * and webhooks are ours.
 */
export const partLimits: Readonly<Record<ChannelKind, PartLimit>> = {
  slack: { limit: 3_000, render: (markdown) => renderMarkdown(markdown, slackForm) },
  telegram: { limit: 4_096, render: (markdown) => renderMarkdown(markdown, telegramForm) },
  discord: { limit: 2_000, render: asIs },
  email: { limit: 1_000_000, render: renderMailHtml },
  webhook: { limit: 65_536, render: asIs },
};
