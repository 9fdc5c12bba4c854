import type { StoredFile } from '../storage/attachment-bytes.ts';
import type { ChannelFile, ChannelIdentity, ChannelRoute, ChannelSettings } from '../../workflows/contracts/triggers/channels.ts';

/** A request of a chat service; names of headers in lower case. */
export interface InboundRequest {
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
}

/** A message as any service tells of it. */
export interface InboundMessage {
  readonly externalId: string;
  readonly threadId: string;
  readonly sender: { readonly id: string; readonly name: string | null; readonly isBot: boolean; readonly isSelf: boolean };
  /** It is meant for the agent: a direct message, a mention, a command. */
  readonly isAddressed: boolean;
  readonly text: string;
  readonly files: readonly (ChannelFile | BroughtFile)[];
  readonly route: ChannelRoute;
  /** What the service wants to see with the answer. */
  readonly token: string | null;
  /** Why nobody answers it, whoever sent it; absent: nothing speaks against it. */
  readonly refusal?: string;
  /** What it answers, where the service has no ids of threads; absent: the message names its thread. */
  readonly reply?: InboundReply;
}

/** A message that answers others. */
export interface InboundReply {
  /** Ids of what it answers, the service's or ours, the nearest first. */
  readonly to: readonly string[];
  /** Parts of ours among them. */
  readonly partIds: readonly string[];
  /** What it says beside quoting them: enough for whoever knows them. */
  readonly text: string;
}

/** A file that came with its message and lies in the storage. */
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
  /** The service asks whether the address is alive. */
  | { readonly kind: 'answer'; readonly body: Readonly<Record<string, unknown>> }
  /** Nothing that anybody wrote. */
  | { readonly kind: 'nothing' };

/** What of a channel decides how its messages are read. */
export interface InboundChannel {
  readonly settings: ChannelSettings;
  readonly secrets: Readonly<Record<string, string>>;
  readonly identity: ChannelIdentity | null;
}

/** Characters of a message that a run is given. */
export const maxTextChars = 65_536;
export const maxFiles = 10;

/** Bounds of what a service says, so that no column holds more. */
export function boundedId(id: string): string {
  return id.toWellFormed().replaceAll('\0', '').slice(0, 300);
}

/** A text that a run may hold. */
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
