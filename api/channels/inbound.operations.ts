import Type from 'typebox';
import { receiveMessage, type ReceivedMessage } from '../../domain/channels/receive.ts';
import { castVote } from '../../domain/channels/votes.ts';
import { newStorageKey } from '../../ports/storage/key.ts';
import { post, reply } from '../http/operation/operation.ts';
import { closed, integer, text } from '../http/input/schema.ts';
import { ChannelParams } from './channel.schema.ts';
import { takeInbound } from './take-inbound.ts';

const Body = Type.Unsafe<Buffer>({ description: 'The message from the service: at most 1 MiB, or 10 MiB for a mail' });

/** The replies that services expect: most of them only a 200. */
const Ack = closed(
  {
    challenge: Type.Optional(text(1_000, { description: 'Slack: the challenge that it sent' })),
    type: Type.Optional(integer({ maximum: 20, description: 'Discord: the kind of its interaction response' })),
    method: Type.Optional(text(60, { description: 'Telegram: the method to call' })),
    callback_query_id: Type.Optional(text(300, { description: 'Telegram: the callback query that is answered' })),
    data: Type.Optional(
      closed({
        content: text(2_000, { description: 'Discord: the text shown to the sender' }),
        flags: integer({ description: 'Discord: 64, visible only to the sender' }),
      }),
    ),
  },
  { $id: 'ChannelAckView', description: 'An empty object, or the reply that the service requires' },
);

/** The limit for a mail, as its relay delivers it. */
const maxBodyBytes = 10_485_760;
const mailType = /^message\/rfc822[ \t]*(?:;|$)/i;

export const receiveChannelMessage = post(
  '/channels/{channel_id}/inbound',
  {
    summary: 'Deliver a message',
    description:
      'Receives a message from the chat service, verifies it as the service prescribes, and starts a run with it. A repeated message changes nothing. Mails are delivered by a relay, as message/rfc822 or as JSON {raw, spf, dkim}.',
    access: 'ingress',
    fails: ['signature_invalid', 'state_conflict'],
    audit: 'none',
    rawBody: mailType,
    maxBodyBytes: maxBodyBytes,
    success: [200],
    params: ChannelParams,
    body: Body,
    view: Ack,
    example: { body: { thread_id: 'case-42', user: { id: 'u-7', name: 'Ada' }, text: 'Where is my order?' } },
    identify: ({ deps, limits, limitAddress, headers, params, body }) =>
      takeInbound({ deps, limits, limitAddress }, { channelId: params.channel_id, headers, body }),
  },
  async (ctx, { identified: { channel, inbound, hops } }) => {
    switch (inbound.kind) {
      case 'answer':
        return reply({ ...inbound.body });
      case 'nothing':
        return reply({});
      case 'vote':
        await castVote(ctx, channel, inbound);
        return reply({ ...inbound.answer });
      case 'message': {
        const { message } = inbound;
        const { keys, env } = ctx.deps;
        const deps = { keys, currency: env.billingCurrency, newStorageKey, isScanned: env.attachments.scan !== null };
        const received = await receiveMessage(ctx, deps, { channel, message, hops });
        return reply(channel.kind === 'discord' ? interactionResponse(received) : {});
      }
      default:
        return inbound satisfies never;
    }
  },
);

/** https://discord.com/developers/docs/interactions/receiving-and-responding: 5 promises an answer, 4 is one, which the sender alone sees (64). */
function interactionResponse(received: ReceivedMessage) {
  const told = (content: string) => ({ type: 4, data: { content, flags: 64 } });
  switch (received.kind) {
    case 'started':
    case 'repeated':
      return { type: 5 };
    case 'answered':
      return told('Your answer was passed on.');
    case 'joined':
      return told('Your message was added to the one that is waiting.');
    case 'ignored':
      return told('No agent answers this here.');
    case 'failed':
      if (received.reason === 'answer_not_offered') return told('This is not one of the possible answers. Please choose one of them.');
      return told(`This message could not be answered (${received.reason}).`);
    default:
      return received satisfies never;
  }
}
