export const channelKinds = ['slack', 'telegram', 'discord', 'email', 'webhook'] as const;
export type ChannelKind = (typeof channelKinds)[number];
export const channelStates = ['pending', 'ok', 'error'] as const;
/** Whose messages form one conversation: those of a thread, or all of a sender. */
export const sessionScopes = ['thread', 'peer'] as const;
/** Which messages of groups are answered; direct messages are always answered. */
export const replyRules = ['mentions', 'all'] as const;
export const channelPartKinds = ['reply', 'notice'] as const;
export type ChannelPartKind = (typeof channelPartKinds)[number];
export const channelPartStates = ['pending', 'sending', 'sent', 'unknown', 'failed'] as const;

/** What users set on a channel, by its kind. */
export interface ChannelSettings {
  /** Slack: the workspace whose messages are accepted; absent: any workspace that has the app. */
  readonly team_id?: string | null;
  /** Discord. */
  readonly application_id?: string;
  /** Discord: hex of an Ed25519 key. */
  readonly public_key?: string;
  /** Webhook: where answers are posted. */
  readonly outbound_url?: string;
  /** Email: the address that receives the mails and sends the answers. */
  readonly address?: string;
  /** Email: the server through which answers are sent. `tls`: encrypted, from the first byte on port 465, by STARTTLS on other ports. */
  readonly smtp?: { readonly host: string; readonly port: number; readonly tls: boolean; readonly user: string };
  /** Email: a mail needs an SPF or DKIM pass for its author's domain; absent: required. */
  readonly require_authenticated?: boolean;
}

/** The channel's identity at its service. */
export interface ChannelIdentity {
  readonly id: string;
  readonly name: string;
}

/** Where an answer goes: the service's own ids, by names that only the code of that kind reads. */
export type ChannelRoute = Readonly<Record<string, string>>;

/** A file of a message as its service names it. */
export interface ChannelFile {
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: number;
  /** A URL, or the service's id of the file. */
  readonly source: string;
}

/** Signal of `channelReply`: messages have joined its run, or the run waits or has ended. Carries nothing. */
export const channelRunChanged = 'channelRunChanged';

/** The message that is answered: the one that started the run, or that could not start one. */
export interface ChannelReplyInput {
  readonly messageId: string;
}

export interface ChannelPartInput extends ChannelReplyInput {
  readonly kind: ChannelPartKind;
  readonly part: number;
}

/** What is to be sent to the thread of a message. `isOver`: nothing more will follow. */
export interface ChannelPlan {
  readonly due: readonly { readonly kind: ChannelPartKind; readonly part: number }[];
  readonly isOver: boolean;
  /** The run may write an answer that can be shown while it grows. */
  readonly streams: boolean;
}

export type ChannelPartStep = { readonly isOver: true } | { readonly isOver: false; readonly waitMs: number };

/** Activities of `channelReply`, by the names under which histories record them: never rename. */
export interface ChannelActivities {
  /** Copies the files of a run's messages into storage. Repeatable anywhere. */
  fetchFiles(input: ChannelReplyInput): Promise<void>;
  /** Writes the parts that the run has to send by now, and returns those that are not sent yet. */
  planParts(input: ChannelReplyInput): Promise<ChannelPlan>;
  /** Shows the answer while it grows. Ends when the run has ended or waits. */
  streamReply(input: ChannelReplyInput): Promise<void>;
  /** Tries to send one part, if it is next. */
  deliverPart(input: ChannelPartInput): Promise<ChannelPartStep>;
}

/** Signal of `channelSync`: the row has changed and must be read again. Carries nothing. */
export const channelChanged = 'channelChanged';

export interface ChannelSyncInput {
  readonly channelId: string;
}

/** Activity of `channelSync`, by the name under which histories record it: never rename. */
export interface ChannelSyncActivities {
  /** Registers with the service what the newest row says. Returns false when the row has changed meanwhile. */
  syncChannel(input: ChannelSyncInput): Promise<boolean>;
}
