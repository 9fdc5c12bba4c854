import { Credentials, type Tokens } from './credentials.ts';
import { ApiError, ConnectionError, errorOf } from './errors.ts';
import type { TokenView } from './generated/types.ts';
import { operationOf, outgoing, type Outgoing } from './operation.ts';
import type { CallOptions, DeprecationNotice, LonghaulOptions } from './options.ts';
import { delay, jitter, LinkedAbort } from './timing.ts';

const maxTries = 5;
const maxRetryAfterSeconds = 60;
const defaultDeadlineMs = 120_000;
/** A refresh token that is sent again later than 10 s after its use ends the session: all tries begin before. */
const refreshDeadlineMs = 8_000;
const repeatable = new Set(['GET', 'PUT', 'DELETE']);

/** A reply below 300. Its text has been read, unless the caller reads the body. */
export interface Answer {
  readonly reply: Response;
  readonly text: string;
}

interface Sending {
  readonly request: Outgoing;
  readonly abort: LinkedAbort;
  readonly deadlineAt: number;
  readonly tries: number;
  readonly readsBody: boolean;
}

/** What the tries so far came to. */
interface Tried {
  count: number;
  hasRenewed: boolean;
  /** A try may have been applied, although no reply says so. */
  isUncertain: boolean;
}

/** Sends requests to one deployment, as often as their operation allows. */
export class Transport {
  readonly #base: string;
  readonly #fetch: typeof fetch;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #deadlineMs: number;
  readonly #credentials: Credentials;
  readonly #onDeprecation: (notice: DeprecationNotice) => void;
  readonly #deprecated = new Set<string>();

  constructor(options: LonghaulOptions) {
    const base = new URL(options.baseUrl);
    if (!/^https?:$/.test(base.protocol) || base.username !== '' || base.password !== '' || base.search !== '' || base.hash !== '')
      throw new TypeError('baseUrl is the http(s) address of a deployment, without credentials, query or fragment');
    this.#base = base.href.replace(/\/$/, '');
    this.#fetch = options.fetch ?? ((input, init) => fetch(input, init));
    this.#headers = options.headers ?? {};
    this.#deadlineMs = options.deadlineMs ?? defaultDeadlineMs;
    this.#credentials = new Credentials(options, (token) => this.#refresh(token));
    this.#onDeprecation = options.onDeprecation ?? warn;
  }

  /** Sends until a reply decides, and reads it. Throws an ApiError, a ConnectionError, or the reason of the caller's signal. */
  async send(request: Outgoing, options: CallOptions): Promise<Answer> {
    const abort = new LinkedAbort(options.signal);
    const isUpload = request.operation.body === 'upload';
    const limitMs = options.deadlineMs ?? (isUpload ? Infinity : this.#deadlineMs);
    const readsBody = request.operation.reply !== 'raw';
    const timer = Number.isFinite(limitMs)
      ? setTimeout(() => abort.abort(new ConnectionError(`no reply within ${limitMs} ms`)), limitMs)
      : undefined;
    try {
      const answer = await this.#try({ request, abort, deadlineAt: performance.now() + limitMs, tries: maxTries, readsBody });
      if (readsBody) abort.release();
      return answer;
    } catch (error) {
      abort.release();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** One try, whose body the caller reads; for streams, which come back by rules of their own. */
  open(request: Outgoing, abort: LinkedAbort): Promise<Response> {
    const sending = { request, abort, deadlineAt: Infinity, tries: 1, readsBody: false };
    return this.#try(sending).then(({ reply }) => reply);
  }

  async #try(sending: Sending): Promise<Answer> {
    const { request, abort } = sending;
    const tried: Tried = { count: 0, hasRenewed: false, isUncertain: false };
    for (;;) {
      tried.count += 1;
      const bearer = request.operation.isAnonymous ? null : await this.#credentials.current();
      const found = await this.#once(sending, bearer).catch((error: unknown) => lost(error, abort.signal));
      if (!(found instanceof Error)) return found;
      const given = await this.#afterFailure(found, { sending, tried, bearer });
      if (given) return given;
    }
  }

  async #once({ request, abort, readsBody }: Sending, bearer: string | null): Promise<Answer | ApiError> {
    abort.signal.throwIfAborted();
    const { operation, target, body, isOneShot } = request;
    const headers = { ...this.#headers, ...request.headers, ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }) };
    const init: RequestInit & { duplex?: 'half' } = {
      method: operation.method,
      headers,
      signal: abort.signal,
      redirect: 'manual',
      credentials: 'omit',
    };
    if (body) init.body = body();
    if (isOneShot) init.duplex = 'half';
    const reply = await this.#fetch(this.#base + target, init);
    this.#notice(operation.id, reply);
    if (!reply.ok) return errorOf(reply, await reply.text());
    return { reply, text: readsBody ? await reply.text() : '' };
  }

  /** Resolves with null to try again, and with an answer where the failure says that the work is done. */
  async #afterFailure(error: ApiError | ConnectionError, { sending, tried, bearer }: Failure): Promise<Answer | null> {
    const { request, abort } = sending;
    const isRefused = error instanceof ApiError;
    if (
      isRefused &&
      error.code === 'token_expired' &&
      bearer !== null &&
      !tried.hasRenewed &&
      !request.isOneShot &&
      this.#credentials.canRenew
    ) {
      tried.hasRenewed = true;
      tried.count -= 1;
      await this.#credentials.renew(bearer);
      return null;
    }
    if (tried.isUncertain && isRefused && request.operation.method === 'DELETE' && error.status === 404)
      return { reply: new Response(null, { status: 204 }), text: '' };
    if (tried.isUncertain && isRefused && error.code === 'precondition_failed') throw applied(error);

    tried.isUncertain ||= !isRefused || error.status >= 500;
    // The first try may still hold the key, or its killed process: the reply is to come, so no try has failed.
    if (isRefused && error.code === 'idempotency_in_progress') tried.count -= 1;
    const waitMs = waitAfter(error, Math.max(1, tried.count));
    const isOver = tried.count >= sending.tries || performance.now() + waitMs > sending.deadlineAt;
    if (isOver || !mayRepeat(request, error)) throw error;
    await delay(waitMs, abort.signal);
    return null;
  }

  async #refresh(refreshToken: string): Promise<Tokens> {
    const request = outgoing(operationOf('refreshTokens'), { refresh_token: refreshToken }, {});
    const { text } = await this.send(request, { deadlineMs: refreshDeadlineMs });
    const { access_token: access, refresh_token: refresh } = JSON.parse(text) as TokenView; // what the operation gives
    return { access, refresh };
  }

  #notice(operationId: string, reply: Response): void {
    const deprecation = reply.headers.get('deprecation');
    if (deprecation === null || this.#deprecated.has(operationId)) return;
    this.#deprecated.add(operationId);
    this.#onDeprecation({ operationId, deprecation, sunset: reply.headers.get('sunset'), link: reply.headers.get('link') });
  }
}

interface Failure {
  readonly sending: Sending;
  readonly tried: Tried;
  readonly bearer: string | null;
}

/** What a try without a reply comes to. A signal is the caller's wish or the deadline, and no loss. */
function lost(error: unknown, signal: AbortSignal): ConnectionError {
  if (signal.aborted) throw signal.reason;
  return error instanceof ConnectionError ? error : new ConnectionError('the connection was lost, or could not be made', { cause: error });
}

function mayRepeat({ operation, headers, isOneShot }: Outgoing, error: ApiError | ConnectionError): boolean {
  if (isOneShot) return false;
  if (error instanceof ApiError && error.status === 429) return error.retryable;
  // A condition makes a change safe to repeat: its second try finds the new version and changes nothing.
  const isConditional = operation.method === 'PATCH' && 'if-match' in headers;
  const isSafe = repeatable.has(operation.method) || operation.takesKey || isConditional || operation.id === 'refreshTokens';
  return isSafe && (error instanceof ConnectionError || error.retryable);
}

function waitAfter(error: ApiError | ConnectionError, failures: number): number {
  const seconds = error instanceof ApiError ? error.retryAfterSeconds : null;
  if (seconds === null) return jitter(failures);
  return seconds > maxRetryAfterSeconds ? Infinity : seconds * 1_000 + jitter(0);
}

function applied(error: ApiError): ApiError {
  const { type, title, status, detail, instance, code, retryable, errors, context } = error;
  const rest = { retry_after_s: error.retryAfterSeconds, correlation_id: error.correlationId ?? '' };
  return new ApiError({ type, title, status, detail, instance, code, retryable, errors, context, ...rest }, { maybeApplied: true });
}

function warn({ operationId, sunset, link }: DeprecationNotice): void {
  // oxlint-disable-next-line no-console -- a library has no log of its own
  console.warn(
    `longhaul: ${operationId} has a deprecated part${sunset === null ? '' : `, which ends ${sunset}`}${link === null ? '' : `: ${link}`}`,
  );
}
