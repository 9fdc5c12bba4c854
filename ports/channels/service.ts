import type { ChannelIdentity, ChannelPartKind, ChannelRoute, ChannelSettings } from '../../workflows/contracts/triggers/channels.ts';
import type { Egress, EgressPolicy } from '../egress/egress.ts';

/** The channel as its service's client sees it. */
export interface ServiceChannel {
  readonly settings: ChannelSettings;
  readonly secrets: Readonly<Record<string, string>>;
}

/** What the clients of the services have in common. */
export interface ServiceDeps {
  readonly egress: Pick<Egress, 'fetch' | 'connect'>;
  readonly urls: ChannelUrls;
  /** Of the channel's organization: for addresses that tenants name. */
  readonly policy: EgressPolicy;
  readonly signal: AbortSignal;
}

/** Where the services are: `SLACK_API_URL`, `TELEGRAM_API_URL`, `DISCORD_API_URL`, without a slash at the end. */
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
  /** Markdown; goes as it is where `isPlain`. */
  readonly text: string;
  /** In the form of the service. */
  readonly rendered: string;
  readonly isPlain: boolean;
  readonly route: ChannelRoute;
  /** What the service has given for an answer to the message. */
  readonly token: string | null;
  /** Buttons under it, by which people vote on the run. */
  readonly hasButtons: boolean;
  /** How many hooks of deployments its cause has come through. */
  readonly hops: number;
  /** When its first attempt began. */
  readonly since: Date;
  /** The file that the part is; null: it is a text. */
  readonly file: ServiceFile | null;
  /** Files that come with the text, where the service takes both as one message. */
  readonly files: readonly ServiceFile[];
}

/** A file that an agent has made. */
export interface ServiceFile {
  readonly attachmentId: string;
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: number;
  read(): Promise<Buffer>;
}

/**
 * What a try came to. `sent`; `markup`: the service has refused the form, and plain text may pass; `limited`: not sent, and the service says when to come again; `failed`:
 * not sent, another try may; `uncertain`: it may have been sent; `refused`: no try will pass.
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
  /** Sends once. Never throws for what the service does. */
  send(deps: ServiceDeps, channel: ServiceChannel, part: ServicePart): Promise<SendOutcome>;
  /**
   * How files of an answer are sent: `with_text`, in the message of its first part, or each by an upload of its own. Never throws for what the service does; `maxBytes`
   * of one, or of all that come with a text.
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
  /** Replaces what stands in the thread; absent: nothing can be replaced there. */
  readonly edit?: (deps: ServiceDeps, channel: ServiceChannel, part: ServicePart & { readonly externalId: string }) => Promise<SendOutcome>;
  /**
   * After a try of which nobody knows what it came to: `again` sends it again under the same id, which the receiver tells apart; `never` takes it as lost; else the
   * service is asked whether it has the part, and gives its id of it. Throws where the service does not answer.
   */
  readonly afterUncertain: 'again' | 'never' | ((deps: ServiceDeps, channel: ServiceChannel, part: ServicePart) => Promise<string | null>);
  /** Asks the service what it thinks of the channel. Never throws for what the service does. */
  check(
    deps: ServiceDeps,
    channel: ServiceChannel,
  ): Promise<{ readonly checks: ServiceCheck[]; readonly identity: ChannelIdentity | null }>;
  /** Where a test message goes. Null: `to` names no place. */
  routeTo(to: string): ChannelRoute | null;
  /** Tells the service where its messages go, before the first one comes; absent: people do it by hand. */
  readonly register?: (deps: ServiceDeps, channel: ServiceChannel, inboundUrl: string) => Promise<ChannelIdentity | null>;
  /** Where the bytes of a file lie, with the headers that open it; null: nowhere that may be asked. Throws where the service does not answer. */
  readonly fileAt?: (deps: ServiceDeps, channel: ServiceChannel, source: string) => Promise<FileAddress | null>;
}

export interface FileAddress {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly policy: EgressPolicy;
}

export const buttonPrefix = 'longhaul:vote:';

/** What a button carries: 54 characters at most, of the 64 bytes of Telegram and 100 characters of Discord. */
export function buttonValue(runId: string, rating: 'up' | 'down'): string {
  return `${buttonPrefix}${rating}:${runId}`;
}

const buttonForm = /^longhaul:vote:(up|down):([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** The vote that a button carries; null: it is not ours. */
export function readButton(value: unknown): { readonly rating: 'up' | 'down'; readonly runId: string } | null {
  const found = typeof value === 'string' ? buttonForm.exec(value) : null;
  return found ? { rating: found[1] === 'up' ? 'up' : 'down', runId: found[2] ?? '' } : null;
}

/** A service has refused what it was told. */
export class Refused extends Error {
  override readonly name = 'Refused';
}

/** A service did not say whether it has a message. */
export class LookupFailed extends Error {
  override readonly name = 'LookupFailed';
}
