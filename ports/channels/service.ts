import type { ChannelIdentity, ChannelPartKind, ChannelRoute, ChannelSettings } from '../../workflows/contracts/triggers/channels.ts';
import type { Egress, EgressPolicy } from '../egress/egress.ts';

/** The channel as its service's client sees it. */
export interface ServiceChannel {
  readonly settings: ChannelSettings;
  readonly secrets: Readonly<Record<string, string>>;
}

/** Dependencies that the clients of all services share. */
export interface ServiceDeps {
  readonly egress: Pick<Egress, 'fetch' | 'connect'>;
  readonly urls: ChannelUrls;
  /** The policy of the channel's organization, for addresses that tenants name. */
  readonly policy: EgressPolicy;
  readonly signal: AbortSignal;
}

/** Addresses of the services: `SLACK_API_URL`, `TELEGRAM_API_URL`, `DISCORD_API_URL`, without a trailing slash. */
export interface ChannelUrls {
  readonly slack: string;
  readonly telegram: string;
  readonly discord: string;
}

/** A message to a thread. */
export interface ServicePart {
  /** A uuid; the same on each attempt. */
  readonly id: string;
  readonly runId: string;
  readonly kind: ChannelPartKind;
  readonly part: number;
  /** Markdown; sent as it is when `isPlain`. */
  readonly text: string;
  /** The text in the service's form. */
  readonly rendered: string;
  readonly isPlain: boolean;
  readonly route: ChannelRoute;
  /** Token that the service provided for an answer to the message. */
  readonly token: string | null;
  /** Whether there are buttons below it, by which people vote on the run. */
  readonly hasButtons: boolean;
  /** How many hooks of deployments its cause has come through. */
  readonly hops: number;
  /** When its first attempt began. */
  readonly since: Date;
  /** The file that the part consists of; null: it is a text. */
  readonly file: ServiceFile | null;
  /** Files that accompany the text, where the service accepts both as one message. */
  readonly files: readonly ServiceFile[];
}

/** A file that an agent has created. */
export interface ServiceFile {
  readonly attachmentId: string;
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: number;
  read(): Promise<Buffer>;
}

/**
 * The outcome of a try. `sent`; `markup`: the service has refused the form, and plain text may pass; `limited`: not sent, and the service says when to come
 * again; `failed`: not sent, another try may succeed; `uncertain`: it may have been sent; `refused`: no try will succeed.
 */
export type SendOutcome =
  | { readonly result: 'sent'; readonly externalId: string | null }
  | { readonly result: 'markup' | 'failed' | 'uncertain' | 'refused'; readonly error: string }
  | { readonly result: 'limited'; readonly retryAfterS: number; readonly error: string };

/** One line of the test of a channel. */
export interface ServiceCheck {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
}

/** The client of one chat service. */
export interface ChannelService {
  /** Sends once. Never throws because of the service. */
  send(deps: ServiceDeps, channel: ServiceChannel, part: ServicePart): Promise<SendOutcome>;
  /**
   * How files of an answer are sent: `with_text`, in the message of its first part, or each by a separate upload. Never throws because of the service;
   * `maxBytes` applies to one file, or to all that accompany a text.
   */
  readonly files: { readonly maxBytes: number } & (
    | { readonly kind: 'with_text' }
    | {
        readonly kind: 'upload';
        upload(deps: ServiceDeps, channel: ServiceChannel, part: ServicePart & { readonly file: ServiceFile }): Promise<SendOutcome>;
        /** As `afterUncertain`, for an upload. */
        readonly afterUncertain:
          | 'never'
          | ((deps: ServiceDeps, channel: ServiceChannel, part: ServicePart & { readonly file: ServiceFile }) => Promise<string | null>);
      }
  );
  /** Replaces a message in the thread; absent: the service can replace none. */
  readonly edit?: (deps: ServiceDeps, channel: ServiceChannel, part: ServicePart & { readonly externalId: string }) => Promise<SendOutcome>;
  /**
   * What to do after a try with an unknown outcome: `again` sends it again under the same id, by which the receiver recognizes it; `never` treats it as lost; a
   * function asks the service whether it has the part, and returns the service's id of it. Throws when the service does not answer.
   */
  readonly afterUncertain: 'again' | 'never' | ((deps: ServiceDeps, channel: ServiceChannel, part: ServicePart) => Promise<string | null>);
  /** Asks the service to check the channel. Never throws because of the service. */
  check(
    deps: ServiceDeps,
    channel: ServiceChannel,
  ): Promise<{ readonly checks: ServiceCheck[]; readonly identity: ChannelIdentity | null }>;
  /** Returns the route of a test message. Null: `to` names no place. */
  routeTo(to: string): ChannelRoute | null;
  /** Registers the address for inbound messages with the service before the first one comes; absent: people do it by hand. */
  readonly register?: (deps: ServiceDeps, channel: ServiceChannel, inboundUrl: string) => Promise<ChannelIdentity | null>;
  /**
   * Returns the address of a file's bytes, with the headers that open it; null: there is no address that may be called. Throws when the service does not
   * answer.
   */
  readonly fileAt?: (deps: ServiceDeps, channel: ServiceChannel, source: string) => Promise<FileAddress | null>;
}

export interface FileAddress {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly policy: EgressPolicy;
}

export const buttonPrefix = 'longhaul:vote:';

/** Returns the value of a button: at most 54 characters, of the 64 bytes of Telegram and 100 characters of Discord. */
export function buttonValue(runId: string, rating: 'up' | 'down'): string {
  return `${buttonPrefix}${rating}:${runId}`;
}

const buttonForm = /^longhaul:vote:(up|down):([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** Returns the vote that a button carries; null: it is not ours. */
export function readButton(value: unknown): { readonly rating: 'up' | 'down'; readonly runId: string } | null {
  const found = typeof value === 'string' ? buttonForm.exec(value) : null;
  return found ? { rating: found[1] === 'up' ? 'up' : 'down', runId: found[2] ?? '' } : null;
}

/** A service has refused a registration. */
export class Refused extends Error {
  override readonly name = 'Refused';
}

/** A service did not answer whether it has a message. */
export class LookupFailed extends Error {
  override readonly name = 'LookupFailed';
}
