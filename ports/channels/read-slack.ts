import { boundedId, boundedText, fileOf, maxFiles, type Inbound, type InboundChannel } from './inbound.ts';
import { listIn, member, textOf } from './members.ts';
import { readButton } from './service.ts';

/** Subtypes of messages that a person or bot wrote (https://api.slack.com/events/message). */
const written: ReadonlySet<string> = new Set(['', 'bot_message', 'file_share', 'thread_broadcast', 'me_message']);

/** Reads what Slack's Events API and its buttons send (https://api.slack.com/apis/events-api). */
export function readSlack(payload: unknown, { settings }: Pick<InboundChannel, 'settings'>): Inbound {
  if (textOf(payload, 'type') === 'url_verification')
    return { kind: 'answer', body: { challenge: textOf(payload, 'challenge').slice(0, 1_000) } };
  if (textOf(payload, 'type') === 'block_actions') return voteOf(payload);
  const event = member(payload, 'event');
  const type = textOf(event, 'type');
  if (textOf(payload, 'type') !== 'event_callback' || (type !== 'message' && type !== 'app_mention')) return { kind: 'nothing' };
  const team = settings.team_id ?? null;
  if (team !== null && textOf(payload, 'team_id') !== team) return { kind: 'nothing' };
  const [channel, ts] = [textOf(event, 'channel'), textOf(event, 'ts')];
  if (channel === '' || ts === '' || !written.has(textOf(event, 'subtype'))) return { kind: 'nothing' };

  const botUser =
    listIn(payload, 'authorizations')
      .map((one) => textOf(one, 'user_id'))
      .find((id) => id !== '') ?? '';
  const user = textOf(event, 'user') || textOf(event, 'bot_id');
  if (user === '') return { kind: 'nothing' };
  const isDirect = textOf(event, 'channel_type') === 'im';
  const raw = textOf(event, 'text');
  const isMention = type === 'app_mention' || (botUser !== '' && raw.includes(`<@${botUser}>`));
  const threadTs = textOf(event, 'thread_ts') || (isDirect ? '' : ts);
  const route = { channel, ...(threadTs === '' ? {} : { thread_ts: threadTs }) };
  return {
    kind: 'message',
    message: {
      // A mentioned app gets the message as two events.
      externalId: boundedId(`${textOf(payload, 'team_id')}:${channel}:${ts}`),
      threadId: boundedId(threadTs === '' ? channel : `${channel}:${threadTs}`),
      sender: {
        id: boundedId(user),
        name: null,
        isBot: textOf(event, 'bot_id') !== '' || textOf(event, 'subtype') === 'bot_message',
        isSelf: botUser !== '' && user === botUser,
      },
      isAddressed: isDirect || isMention,
      text: boundedText(plainOf(raw, botUser)),
      files: listIn(event, 'files')
        .slice(0, maxFiles)
        .flatMap((file) => {
          const source = textOf(file, 'url_private_download') || textOf(file, 'url_private');
          const size = Number(member(file, 'size'));
          return source === '' ? [] : [fileOf({ name: textOf(file, 'name'), mediaType: textOf(file, 'mimetype'), bytes: size, source })];
        }),
      route,
      token: null,
    },
  };
}

function voteOf(payload: unknown): Inbound {
  const vote = listIn(payload, 'actions')
    .map((action) => readButton(textOf(action, 'value')))
    .find(Boolean);
  const senderId = textOf(member(payload, 'user'), 'id');
  return vote && senderId !== '' ? { kind: 'vote', ...vote, senderId: boundedId(senderId), answer: {} } : { kind: 'nothing' };
}

/** Returns the text without Slack's markup: links with their addresses, without the mention of the bot. */
function plainOf(text: string, botUser: string): string {
  const own = botUser === '' ? text : text.replaceAll(`<@${botUser}>`, '');
  return own
    .replaceAll(/<([^<>|@#!][^<>|]*)\|([^<>]*)>/g, '$2 ($1)')
    .replaceAll(/<((?:https?|mailto|tel):[^<>|]*)>/g, '$1')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
    .trim();
}
