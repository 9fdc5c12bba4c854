/** How often a kind of delivery is tried, and when: the delays after the first failed try, the second, and so on; then it is dead. */
export interface RetryTable {
  readonly delaysS: readonly number[];
  /** A longer Retry-After is respected, up to this. */
  readonly maxRetryAfterS: number;
}

/** Notices of alerts. */
export const alertRetries: RetryTable = { delaysS: [10, 60, 300, 1_800, 7_200], maxRetryAfterS: 3_600 };
/** Outcomes of hook runs, sent to the endpoint's callback address. */
export const callbackRetries: RetryTable = { delaysS: [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000], maxRetryAfterS: 86_400 };
/** A test is tried once: the requester sees the result. */
export const noRetries: RetryTable = { delaysS: [], maxRetryAfterS: 0 };

/** The outcome of one try. `refused`: no further try can succeed. `status`: of HTTP or SMTP, when there was an answer. */
export interface TryOutcome {
  readonly result: 'taken' | 'refused' | 'failed';
  readonly status: number | null;
  /** At most 300 characters; contains no address, and nothing of the answer's body. */
  readonly error: string | null;
  readonly retryAfterS: number | null;
}

/** The state of a delivery after a try. */
export type Verdict = { readonly status: 'sent' } | { readonly status: 'dead' } | { readonly status: 'failed'; readonly delayMs: number };

/** Delays vary by up to a fifth, so that deliveries that failed together are not retried together. */
const jitter = 0.2;

/** Judges the `attempts`-th try of a delivery. `random` lies in [0, 1). */
export function judgeTry(
  { result, retryAfterS }: TryOutcome,
  { attempts, table, random }: { attempts: number; table: RetryTable; random: number },
): Verdict {
  if (result === 'taken') return { status: 'sent' };
  const delayS = table.delaysS[attempts - 1];
  if (result === 'refused' || delayS === undefined) return { status: 'dead' };

  const jitteredS = delayS * (1 - jitter + 2 * jitter * random);
  const askedS = Math.min(retryAfterS ?? 0, table.maxRetryAfterS);
  return { status: 'failed', delayMs: Math.round(Math.max(jitteredS, askedS) * 1_000) };
}

/** The outcome of an HTTP answer: 2xx accepts the delivery; 408, 429, redirects and 5xx are retried; every other 4xx refuses it permanently. */
export function outcomeOfStatus(status: number, retryAfterS: number | null): TryOutcome {
  if (status >= 200 && status < 300) return { result: 'taken', status, error: null, retryAfterS: null };
  const isRefused = status >= 400 && status < 500 && status !== 408 && status !== 429;
  return { result: isRefused ? 'refused' : 'failed', status, error: `HTTP ${status}`, retryAfterS: isRefused ? null : retryAfterS };
}

/** Seconds of a Retry-After header: a number or a date (RFC 9110 §10.2.3); null for anything else. */
export function retryAfterOf(header: string | undefined, now: Date): number | null {
  if (header === undefined) return null;
  if (/^\d{1,9}$/.test(header.trim())) return Number(header);
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - now.getTime()) / 1_000));
}
