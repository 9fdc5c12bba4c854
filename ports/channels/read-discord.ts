import { boundedId, boundedText, fileOf, maxFiles, type Inbound } from './inbound.ts';
import { listIn, member, textOf } from './members.ts';
import { readButton } from './service.ts';

// https://discord.com/developers/docs/interactions/receiving-and-responding
const types = { ping: 1, command: 2, component: 3 } as const;
const pong = { kind: 'answer', body: { type: 1 } } as const;

/** Reads an interaction of Discord. The command's text is the message. */
export function readDiscord(interaction: unknown): Inbound {
  const type = member(interaction, 'type');
  if (type === types.ping) return pong;
  const user = member(member(interaction, 'member'), 'user') ?? member(interaction, 'user');
  const senderId = textOf(user, 'id');
  const data = member(interaction, 'data');
  if (type === types.component) {
    const vote = readButton(textOf(data, 'custom_id'));
    // The message with the button is left as it is.
    const answer = { type: 6 };
    return vote && senderId !== '' ? { kind: 'vote', ...vote, senderId: boundedId(senderId), answer } : { kind: 'answer', body: answer };
  }
  const [id, channel, token] = [textOf(interaction, 'id'), textOf(interaction, 'channel_id'), textOf(interaction, 'token')];
  if (type !== types.command || id === '' || channel === '' || senderId === '') return { kind: 'nothing' };

  const options = listIn(data, 'options');
  const text = options.map((option) => (member(option, 'type') === 3 ? textOf(option, 'value') : '')).find((value) => value !== '') ?? '';
  const sent = member(member(data, 'resolved'), 'attachments');
  const files = options.flatMap((option) => {
    const file = member(option, 'type') === 11 ? member(sent, textOf(option, 'value')) : undefined;
    const source = textOf(file, 'url');
    if (source === '') return [];
    return [
      fileOf({
        name: textOf(file, 'filename'),
        mediaType: textOf(file, 'content_type').split(';')[0] ?? '',
        bytes: Number(member(file, 'size')),
        source,
      }),
    ];
  });
  return {
    kind: 'message',
    message: {
      externalId: boundedId(id),
      threadId: boundedId(channel),
      sender: {
        id: boundedId(senderId),
        name: boundedText(textOf(user, 'global_name') || textOf(user, 'username')).slice(0, 200) || null,
        isBot: member(user, 'bot') === true,
        isSelf: false,
      },
      isAddressed: true,
      text: boundedText(text.trim()),
      files: files.slice(0, maxFiles),
      route: { channel_id: channel },
      token: token === '' ? null : token.slice(0, 500),
    },
  };
}
