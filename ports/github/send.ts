import { request as octokit } from '@octokit/request';
import type { Endpoints } from '@octokit/types';
import { EgressRefused, EgressUnreachable, type Egress, type EgressPolicy, type EgressResponse } from '../egress/egress.ts';
import { HostError, saidOf, type HostErrorKind } from './host-error.ts';

/** A route of the host's REST API, like `GET /repos/{owner}/{repo}`. */
export type HostRoute = keyof Endpoints;
export type HostParameters<R extends HostRoute> = Endpoints[R]['parameters'];
export type HostAnswer<R extends HostRoute> = Endpoints[R]['response'];

export interface SendDeps {
  readonly egress: Pick<Egress, 'fetch'>;
  readonly apiUrl: string;
}

/** Options besides the parameters of a route. */
export interface SendOptions {
  /** Value of Authorization. */
  readonly authorization: string;
  readonly signal: AbortSignal;
  /** ETag of the caller's copy: a 304 then has no body. */
  readonly etag?: string | null;
  /** Another format of the body: `application/vnd.github.raw+json`. */
  readonly accept?: string;
}

const maxAnswerBytes = 32 * 1024 * 1024;
const answerTimeoutMs = 30_000;
const apiVersion = '2022-11-28';

/** Sends one request of the REST API, see `sendAny`. Answers are typed by the host's description of its API. */
export async function send<R extends HostRoute>(
  deps: SendDeps,
  { route, parameters }: { readonly route: R; readonly parameters: HostParameters<R> },
  options: SendOptions,
): Promise<HostAnswer<R>> {
  const answer = await sendAny(deps, { route, parameters }, options);
  return answer as HostAnswer<R>; // the host's own description of this route
}

interface AnyAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | number | undefined>>;
  readonly data: unknown;
}

/**
 * Sends one request through the egress guard. Octokit fills in the route, and writes and reads the bodies; it neither retries nor waits, which is left to
 * Temporal. Throws HostError.
 */
export async function sendAny(
  { egress, apiUrl }: SendDeps,
  { route, parameters }: { readonly route: string; readonly parameters: object },
  options: SendOptions,
): Promise<AnyAnswer> {
  let answered: EgressResponse | null = null;
  const fetchGuarded = async (url: string, init: FetchInit): Promise<Response> => {
    answered = await egress.fetch({
      method: init.method,
      url,
      headers: headersOf(init.headers),
      ...(typeof init.body === 'string' ? { body: init.body } : {}),
      policy: policyOf(apiUrl),
      // A renamed repository redirects to its new address. The guard drops the token on another origin, and no answer of another origin is wanted.
      redirects: init.method === 'GET' ? 2 : 0,
      mayFollow: (next) => next.origin === new URL(apiUrl).origin,
      maxBytes: maxAnswerBytes,
      headersTimeoutMs: answerTimeoutMs,
      signal: options.signal,
    });
    return responseOf(answered);
  };
  try {
    const request = { fetch: fetchGuarded, log: silent };
    const answer: AnyAnswer = await octokit(route, { ...parameters, baseUrl: apiUrl, headers: askedHeaders(options), request });
    if (wasCut(answered)) throw new HostError(`${route}: the answer is larger than ${maxAnswerBytes} bytes`, { kind: 'unexpected' });
    return answer;
  } catch (error) {
    throw toHostError(route, error, answered);
  }
}

interface FetchInit {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: string | null;
}

function wasCut(answered: EgressResponse | null): boolean {
  return answered?.isTruncated === true;
}

function askedHeaders({ authorization, accept, etag }: SendOptions): Record<string, string> {
  return {
    authorization,
    'x-github-api-version': apiVersion,
    'user-agent': 'longhaul',
    ...(accept === undefined ? {} : { accept }),
    ...(etag ? { 'if-none-match': etag } : {}),
  };
}

const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/** The operator has configured the address: it may be one that tenants must not reach. */
export function policyOf(url: string): EgressPolicy {
  const { hostname, port, protocol } = new URL(url);
  return {
    allowHttp: false,
    exceptions: [{ host: hostname, port: port === '' ? null : Number(port), allow_http: protocol === 'http:' }],
  };
}

function headersOf(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'content-length'));
}

function responseOf({ status, headers, body }: EgressResponse): Response {
  const hasNone = status === 204 || status === 205 || status === 304;
  return new Response(hasNone ? null : new Uint8Array(body), { status, headers: { ...headers } });
}

/** Whether an error means that the caller's copy is up to date (304). */
export function isUnchanged(error: unknown): boolean {
  return error instanceof HostError && error.status === 304;
}

function toHostError(route: string, error: unknown, answered: EgressResponse | null): unknown {
  if (error instanceof HostError) return error;
  if (answered === null) return notAnswered(route, causeOf(error));
  const kind = kindOf(answered);
  const message = `${route} answered ${answered.status}: ${saidOf(messageOf(answered))}`;
  const retryAfterMs = kind === 'limited' ? pauseMsOf(answered) : kind === 'failed' ? retryAfter(answered) : null;
  const hostDate = answered.headers['date'] ?? null;
  return new HostError(message, { kind, status: answered.status, retryAfterMs, mayHaveActed: kind === 'failed', hostDate });
}

function causeOf(error: unknown): unknown {
  return error instanceof Error && error.name === 'HttpError' && error.cause !== undefined ? error.cause : error;
}

function notAnswered(route: string, error: unknown): unknown {
  if (error instanceof EgressRefused) return new HostError(`${route}: ${error.message}`, { kind: 'unexpected' });
  if (error instanceof EgressUnreachable)
    return new HostError(`${route}: ${error.message}`, { kind: 'unreachable', mayHaveActed: error.mayHaveArrived });
  if (error instanceof Error && error.name === 'TimeoutError')
    return new HostError(`${route}: no answer in time`, { kind: 'timeout', mayHaveActed: true });
  return error; // the abort carries its reason
}

function kindOf(answer: EgressResponse): HostErrorKind {
  const { status } = answer;
  if (status === 429 || (status === 403 && isLimit(answer))) return 'limited';
  if (status >= 500) return 'failed';
  switch (status) {
    case 401:
      return 'unauthorized';
    case 403:
      return 'forbidden';
    case 404:
    case 410:
      return 'gone';
    case 409:
      return 'conflict';
    case 422:
      return 'invalid';
    default:
      return 'unexpected';
  }
}

/** https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api, "Exceeding the rate limit". */
function isLimit(answer: EgressResponse): boolean {
  const { headers } = answer;
  return (
    headers['retry-after'] !== undefined || headers['x-ratelimit-remaining'] === '0' || /secondary rate limit/i.test(messageOf(answer))
  );
}

const defaultLimitMs = 60_000;
const maxWaitMs = 3_600_000;

function pauseMsOf(answer: EgressResponse): number {
  const told = retryAfter(answer);
  if (told !== null) return told;
  const { 'x-ratelimit-remaining': remaining, 'x-ratelimit-reset': reset, date } = answer.headers;
  if (remaining !== '0' || reset === undefined || date === undefined) return defaultLimitMs;
  const ms = Number(reset) * 1_000 - Date.parse(date);
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 1_000), maxWaitMs) : defaultLimitMs;
}

function retryAfter({ headers }: EgressResponse): number | null {
  const seconds = Number(headers['retry-after'] ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? Math.min(Math.max(seconds * 1_000, 1_000), maxWaitMs) : null;
}

function messageOf({ body }: EgressResponse): string {
  try {
    const parsed: unknown = JSON.parse(body.toString());
    if (typeof parsed !== 'object' || parsed === null) return '';
    const message = 'message' in parsed && typeof parsed.message === 'string' ? parsed.message : '';
    const errors = 'errors' in parsed && Array.isArray(parsed.errors) ? parsed.errors.map(wordsOf).filter((words) => words !== '') : [];
    return [message, ...errors].join('; ');
  } catch {
    return '';
  }
}

function wordsOf(error: unknown): string {
  if (typeof error === 'string') return error;
  if (typeof error !== 'object' || error === null) return '';
  const members = ['resource', 'field', 'code', 'message'].map((name): unknown => Reflect.get(error, name));
  return members.filter((member) => typeof member === 'string').join(' ');
}
