/**
 * Why a request to the Git host failed. `unreachable`: no answer; `timeout`: none in time; `failed`: 5xx; `limited`: a rate limit, of the host or ours;
 * `unauthorized`: 401 even with a new token; `forbidden`: 403 without the headers of a limit; `gone`: 404 or 410; `conflict`: 409; `invalid`: 422;
 * `unexpected`: any other answer.
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

/** A failed request to the Git host. The message names the route and what the host said, never a token, an address or a value. */
export class HostError extends Error {
  override readonly name = 'HostError';
  readonly kind: HostErrorKind;
  /** Status of the answer; null: there was none. */
  readonly status: number | null;
  /** When to ask the host again, as it says; null: it does not say. */
  readonly retryAfterMs: number | null;
  /** Whether the host may have carried out the request. */
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

  /** Whether the same request may succeed later. */
  get isRetryable(): boolean {
    return retryable.has(this.kind);
  }
}

const maxSaid = 300;
/** Tokens of GitHub (https://github.blog/engineering/platform-security/behind-githubs-new-authentication-token-formats/), JWTs and private keys. */
const secrets =
  /\b(?:gh[pousr]_|github_pat_)\w{10,}|\bv1\.[0-9a-f]{40}\b|\beyJ[\w-]+\.[\w-]+\.[\w-]*|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g;

/**
 * Returns text of the host or of git that is safe for an error or log: short, on one line, without anything that looks like a credential and without user
 * information in addresses.
 */
export function saidOf(text: string): string {
  return text
    .replace(secrets, '[redacted]')
    .replace(/(\w+:\/\/)[^\s/@]+@/g, '$1')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, maxSaid);
}
