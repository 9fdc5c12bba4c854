import type { Tokens } from './credentials.ts';

/** What every call takes beside its arguments. */
export interface CallOptions {
  /** Ends the call, its tries and its connection. */
  readonly signal?: AbortSignal;
  /** ETag of the version to change (`etagOf`); on operations that take If-Match. */
  readonly ifMatch?: string;
  /** In place of the key that each call makes: the same key and request give the same reply for 24 hours, in any process. */
  readonly idempotencyKey?: string;
  /** Further headers, such as `X-Acting-User`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** How long all tries may take together, in milliseconds; in place of the client's. */
  readonly deadlineMs?: number;
}

export type WithIfMatch = CallOptions & { readonly ifMatch: string };

/** Where a deployment is, and who calls it. Without `serviceKey` and `session` only operations that need no credential answer. */
export interface LonghaulOptions {
  /** The deployment's PUBLIC_URL. Credentials go to its origin and nowhere else. */
  readonly baseUrl: string;
  /** A service key, or an access token that is never renewed. */
  readonly serviceKey?: string;
  /** The tokens of a signed-in user. */
  readonly session?: Tokens;
  /** Stores renewed tokens. No request uses them before it resolves. */
  readonly onTokens?: (tokens: Tokens) => unknown;
  /** Reads the stored tokens, after another process has renewed them first. */
  readonly loadTokens?: () => Tokens | null | Promise<Tokens | null>;
  /** Renews the session in place of `refreshTokens`, such as where a cookie holds the refresh token. */
  readonly renewTokens?: () => Promise<Tokens>;
  /** Headers of every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** How long all tries of a call may take together, in milliseconds; 120,000 unless given. Streams and uploads have no such limit. */
  readonly deadlineMs?: number;
  /** In place of the runtime's. */
  readonly fetch?: typeof fetch;
  /** Told once per operation that the deployment is going to change; by default a line on the console. */
  readonly onDeprecation?: (notice: DeprecationNotice) => void;
}

/** What a reply with a `Deprecation` header says (RFC 9745, RFC 8594). */
export interface DeprecationNotice {
  readonly operationId: string;
  readonly deprecation: string;
  readonly sunset: string | null;
  readonly link: string | null;
}

interface AnyPage {
  readonly items: readonly unknown[];
  readonly next_cursor?: string | null;
  readonly total?: number | null;
}

/** Awaited it is the first page; in `for await` it is every item of the list, page after page. */
export interface Pages<Page extends AnyPage> extends Promise<Page>, AsyncIterable<Page['items'][number]> {}
