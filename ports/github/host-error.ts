/**
 * Why a request to the Git host came to nothing. `unreachable`: no answer; `timeout`: none in time; `failed`: 5xx; `limited`: a rate limit, of the host or ours;
 * `unauthorized`: 401 also with a new token; `forbidden`: 403 without the headers of a limit; `gone`: 404 or 410; `conflict`: 409; `invalid`: 422; `unexpected`: any other answer.
 */
export type HostErrorKind =
  | 'unreachable'
  | 'timeout'
  | 'failed'
  | 'limited'
  | 'unauthorized'
  | 'forbidden'
  | 'gone'
  | 'conflict'
  | 'invalid'
  | 'unexpected';

interface HostErrorDetails {
  readonly kind: HostErrorKind;
  readonly status?: number | null;
  readonly retryAfterMs?: number | null;
  readonly mayHaveActed?: boolean;
  readonly hostDate?: string | null;
}

const retryable: ReadonlySet<HostErrorKind> = new Set(['unreachable', 'timeout', 'failed', 'limited', 'conflict']);

/** A request to the Git host that came to nothing. The message names the route and what the host said, never a token, an address or a value. */
export class HostError extends Error {
  override readonly name = 'HostError';
  readonly kind: HostErrorKind;
  /** Of the answer; null: there was none. */
  readonly status: number | null;
  /** When the host wants to be asked again; null: it does not say. */
  readonly retryAfterMs: number | null;
  /** The host may have done what it was asked. */
  readonly mayHaveActed: boolean;

  /** `Date` of the answer. */
  readonly hostDate: string | null;

  constructor(message: string, { kind, status = null, retryAfterMs = null, mayHaveActed = false, hostDate = null }: HostErrorDetails) {
    super(message);
    this.kind = kind;
    this.status = status;
    this.retryAfterMs = retryAfterMs;
    this.mayHaveActed = mayHaveActed;
    this.hostDate = hostDate;
  }

  /** Whether the same request may pass later. */
  get isRetryable(): boolean {
    return retryable.has(this.kind);
  }
}

const maxSaid = 300;
/** Tokens of GitHub (https://github.blog/engineering/platform-security/behind-githubs-new-authentication-token-formats/), JWTs and private keys. */
const secrets =
  /\b(?:gh[pousr]_|github_pat_)\w{10,}|\bv1\.[0-9a-f]{40}\b|\beyJ[\w-]+\.[\w-]+\.[\w-]*|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g;

/** Text of the host or of git as an error or log may hold it: short, on one line, without what looks like a credential or has user information in its address. */
export function saidOf(text: string): string {
  return text
    .replace(secrets, '[redacted]')
    .replace(/(\w+:\/\/)[^\s/@]+@/g, '$1')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, maxSaid);
}
