import { boundedId, boundedText, fileOf, maxFiles, type Inbound } from './inbound.ts';
import { listIn, member, textOf } from './members.ts';

/** The error in the body of a webhook channel, by pointer. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable';
  readonly pointer: string;

  constructor(pointer: string, message: string) {
    super(message);
    this.pointer = pointer;
  }
}

const maxBytes = 65_536;

/** Reads `{thread_id, user {id, name}, text, attachments [{url, name, media_type}]}`. Throws Unreadable. */
export function readWebhook(body: unknown, externalId: string): Inbound {
  const user = member(body, 'user');
  const senderId = textOf(user, 'id');
  if (senderId === '' || senderId.length > 200) throw new Unreadable('/user/id', 'is required, with at most 200 characters');
  const text = member(body, 'text');
  if (typeof text !== 'string') throw new Unreadable('/text', 'is required and must be text');
  if (Buffer.byteLength(text) > maxBytes) throw new Unreadable('/text', `must be at most ${maxBytes} bytes`);
  const attachments = listIn(body, 'attachments');
  if (attachments.length > maxFiles) throw new Unreadable('/attachments', `must be at most ${maxFiles}`);
  const thread = textOf(body, 'thread_id');
  if (thread.length > 300) throw new Unreadable('/thread_id', 'must be at most 300 characters');
  if (text.trim() === '' && attachments.length === 0) throw new Unreadable('/text', 'must say something, unless a file comes along');
  const threadId = boundedId(thread || senderId);
  return {
    kind: 'message',
    message: {
      externalId: boundedId(externalId),
      threadId,
      sender: {
        id: boundedId(senderId),
        name: boundedText(textOf(user, 'name')).slice(0, 200) || null,
        isBot: member(user, 'is_bot') === true,
        isSelf: false,
      },
      isAddressed: true,
      text: boundedText(text),
      files: attachments.map((file, at) => {
        const source = textOf(file, 'url');
        if (!URL.canParse(source) || source.length > 2_000) throw new Unreadable(`/attachments/${at}/url`, 'must be a URL');
        return fileOf({ name: textOf(file, 'name') || 'file', mediaType: textOf(file, 'media_type'), bytes: 0, source });
      }),
      route: { thread_id: threadId },
      token: null,
    },
  };
}
