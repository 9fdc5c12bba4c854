import type { StoredFile } from '../storage/attachment-bytes.ts';
import type { ChannelFile, ChannelIdentity, ChannelRoute, ChannelSettings } from '../../workflows/contracts/triggers/channels.ts';

/** A request of a chat service; header names in lower case. */
export interface InboundRequest {
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
}

/** A message in the form common to all services. */
export interface InboundMessage {
  readonly externalId: string;
  readonly threadId: string;
  readonly sender: { readonly id: string; readonly name: string | null; readonly isBot: boolean; readonly isSelf: boolean };
  /** Whether it is meant for the agent: a direct message, a mention, a command. */
  readonly isAddressed: boolean;
  readonly text: string;
  readonly files: readonly (ChannelFile | BroughtFile)[];
  readonly route: ChannelRoute;
  /** Token that the service requires with the answer. */
  readonly token: string | null;
  /** Why it is not answered, whoever the sender is; absent: nothing prevents an answer. */
  readonly refusal?: string;
  /** The messages that it answers, where the service has no thread ids; absent: the message names its thread. */
  readonly reply?: InboundReply;
}

/** A message that answers others. */
export interface InboundReply {
  /** Ids of the messages that it answers, the service's or ours, the nearest first. */
  readonly to: readonly string[];
  /** Our own parts among them. */
  readonly partIds: readonly string[];
  /** Its text without quotations: enough for a reader who knows those messages. */
  readonly text: string;
}

/** A file that came with its message and is already stored. */
export interface BroughtFile extends ChannelFile {
  readonly stored: StoredFile;
}

export type Inbound =
  | { readonly kind: 'message'; readonly message: InboundMessage }
  | {
      readonly kind: 'vote';
      readonly runId: string;
      readonly rating: 'up' | 'down';
      readonly senderId: string;
      readonly answer: Readonly<Record<string, unknown>>;
    }
  /** The service checks whether the address is alive. */
  | { readonly kind: 'answer'; readonly body: Readonly<Record<string, unknown>> }
  /** Nothing that a person wrote. */
  | { readonly kind: 'nothing' };

/** The properties of a channel that decide how its messages are read. */
export interface InboundChannel {
  readonly settings: ChannelSettings;
  readonly secrets: Readonly<Record<string, string>>;
  readonly identity: ChannelIdentity | null;
}

/** Maximum characters of a message that a run gets. */
export const maxTextChars = 65_536;
export const maxFiles = 10;

/** Bounds an id of a service, so that it fits any column. */
export function boundedId(id: string): string {
  return id.toWellFormed().replaceAll('\0', '').slice(0, 300);
}

/** Returns a text that a run may hold. */
export function boundedText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '').slice(0, maxTextChars).toWellFormed();
}

export function fileOf({ name, mediaType, bytes, source }: ChannelFile): ChannelFile {
  const size = Number.isSafeInteger(bytes) && bytes > 0 ? bytes : 0;
  return {
    name: boundedText(name).slice(0, 255).toWellFormed() || 'file',
    mediaType: /^[\w.+-]{1,80}\/[\w.+-]{1,80}$/.test(mediaType) ? mediaType : 'application/octet-stream',
    bytes: size,
    source: boundedText(source).slice(0, 2_000),
  };
}
