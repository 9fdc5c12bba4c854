import type { ChannelFile } from '../../workflows/contracts/triggers/channels.ts';
import { boundedId, boundedText, fileOf, maxFiles, type Inbound, type InboundChannel } from './inbound.ts';
import { listIn, member, textOf } from './members.ts';
import { readButton } from './service.ts';

const files = ['document', 'video', 'audio', 'voice', 'animation', 'video_note'] as const;

/** Reads an update of Telegram (https://core.telegram.org/bots/api#update). */
export function readTelegram(update: unknown, { secrets, identity }: Pick<InboundChannel, 'secrets' | 'identity'>): Inbound {
  const query = member(update, 'callback_query');
  if (query !== undefined) return voteOf(query);
  const message = member(update, 'message');
  const chat = member(message, 'chat');
  const from = member(message, 'from');
  const updateId = textOf(update, 'update_id');
  if (updateId === '' || textOf(chat, 'id') === '' || textOf(from, 'id') === '') return { kind: 'nothing' };

  const [text, entities] = textWithEntities(message);
  const found = filesOf(message);
  if (text === '' && found.length === 0) return { kind: 'nothing' };
  const botId = identity?.id ?? (secrets['bot_token'] ?? '').split(':')[0] ?? '';
  const isDirect = textOf(chat, 'type') === 'private';
  const mention = mentionOf(text, entities, { botId, name: identity?.name ?? '' });
  const isReply = textOf(member(member(message, 'reply_to_message'), 'from'), 'id') === botId;
  const topic = member(message, 'is_topic_message') === true ? textOf(message, 'message_thread_id') : '';
  const chatId = textOf(chat, 'id');
  return {
    kind: 'message',
    message: {
      externalId: boundedId(updateId),
      threadId: boundedId(topic === '' ? chatId : `${chatId}:${topic}`),
      sender: {
        id: boundedId(textOf(from, 'id')),
        name: boundedText([textOf(from, 'first_name'), textOf(from, 'last_name')].filter(Boolean).join(' ')).slice(0, 200) || null,
        isBot: member(from, 'is_bot') === true,
        isSelf: textOf(from, 'id') === botId,
      },
      isAddressed: isDirect || mention !== null || isReply,
      text: boundedText((mention === null ? text : text.replace(mention, '')).trim()),
      files: found,
      route: {
        chat_id: chatId,
        ...(topic === '' ? {} : { message_thread_id: topic }),
        ...(isDirect ? {} : { message_id: textOf(message, 'message_id') }),
      },
      token: null,
    },
  };
}

function textWithEntities(message: unknown): [string, readonly unknown[]] {
  const text = textOf(message, 'text');
  return text === '' ? [textOf(message, 'caption'), listIn(message, 'caption_entities')] : [text, listIn(message, 'entities')];
}

/** Returns the text that names the bot; null: it is not named. Offsets count UTF-16 units. */
function mentionOf(text: string, entities: readonly unknown[], bot: { readonly botId: string; readonly name: string }): string | null {
  for (const entity of entities) {
    const [offset, length] = [Number(member(entity, 'offset')), Number(member(entity, 'length'))];
    const words = text.slice(offset, offset + length);
    const type = textOf(entity, 'type');
    const named = bot.name !== '' && words.toLowerCase().endsWith(`@${bot.name.toLowerCase()}`);
    if ((type === 'mention' || type === 'bot_command') && named) return words;
    if (type === 'text_mention' && textOf(member(entity, 'user'), 'id') === bot.botId) return words;
  }
  return null;
}

function filesOf(message: unknown): ChannelFile[] {
  const found: ChannelFile[] = files.flatMap((name) => {
    const file = member(message, name);
    const source = textOf(file, 'file_id');
    if (source === '') return [];
    return [
      fileOf({
        name: textOf(file, 'file_name') || name,
        mediaType: textOf(file, 'mime_type'),
        bytes: Number(member(file, 'file_size')),
        source,
      }),
    ];
  });
  // Several sizes of one image, the largest last.
  const photo = listIn(message, 'photo').at(-1);
  const source = textOf(photo, 'file_id');
  if (source !== '') found.push(fileOf({ name: 'photo.jpg', mediaType: 'image/jpeg', bytes: Number(member(photo, 'file_size')), source }));
  return found.slice(0, maxFiles);
}

function voteOf(query: unknown): Inbound {
  const vote = readButton(textOf(query, 'data'));
  const senderId = textOf(member(query, 'from'), 'id');
  // Until this reply, the button shows that it is working.
  const answer = { method: 'answerCallbackQuery', callback_query_id: boundedId(textOf(query, 'id')) };
  return vote && senderId !== '' ? { kind: 'vote', ...vote, senderId: boundedId(senderId), answer } : { kind: 'answer', body: answer };
}
