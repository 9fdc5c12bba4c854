import { lookup as dnsLookup } from 'node:dns';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { Agent, buildConnector, request, type Dispatcher } from 'undici';
import { hopsHeader } from '../../workflows/contracts/triggers/hops.ts';
import { acceptedCodings, codingsOf, undoCodings } from './content-coding.ts';
import { EgressRefused, EgressUndecodable, EgressUnreachable } from './errors.ts';
import { openSocket, type SocketTarget, publicLookup } from './socket.ts';
import { checkUrlForm, isExcepted, isReservedHeader, refusals, type EgressPolicy } from './url.ts';
import { isPublic, literalAddress } from './public-address.ts';

export { EgressRefused, EgressUndecodable, EgressUnreachable } from './errors.ts';
export { checkUrlForm, type EgressPolicy } from './url.ts';

export interface EgressRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  readonly policy: EgressPolicy;
  /** Redirects to follow, each through the guard; 0–3. */
  readonly redirects: number;
  /** Called before each redirect is followed, in addition to the guard's own rules; a redirect that it does not allow is EgressRefused. */
  readonly mayFollow?: (next: URL) => boolean | Promise<boolean>;
  /** Bytes of the body to read, decoded; the rest is not read, and `isTruncated` is set. */
  readonly maxBytes: number;
  /** How long the server may take to answer; 10 s unless the caller's own timeout is longer. */
  readonly headersTimeoutMs?: number;
  readonly signal: AbortSignal;
}

export interface EgressResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The URL after all redirects. */
  readonly url: string;
  readonly body: Buffer;
  readonly isTruncated: boolean;
  /** Content-Encoding names an unknown coding, and the body is as it arrived. */
  readonly isCoded?: boolean;
}

/** An answer whose body is read as it arrives: event streams. The caller must read it to its end or destroy it. */
export interface EgressStream {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The URL after all redirects. */
  readonly url: string;
  readonly body: Readable;
}

/** The one client for every request to addresses that tenants choose. It asks for the content codings that it knows and returns bodies decoded. */
export interface Egress {
  /** Throws EgressRefused, EgressUnreachable (EgressUndecodable, too), or the signal's reason. */
  fetch(request: EgressRequest): Promise<EgressResponse>;
  /** Like `fetch`, but returns the body as a stream; the signal ends it. Errors of the stream are those of `fetch`. */
  open(request: Omit<EgressRequest, 'maxBytes'>): Promise<EgressStream>;
  /** Opens a connection to a mail server, whose address was checked; the caller closes it. Throws EgressRefused, EgressUnreachable, or the signal's reason. */
  connect(target: SocketTarget): Promise<Socket>;
  close(): Promise<void>;
}

const connectTimeoutMs = 5_000;
const headersTimeoutMs = 10_000;

/** `resolve` is replaced in tests by a resolver that flips; the default is the system's. */
export function createEgress(options: { readonly resolve?: typeof dnsLookup } = {}): Egress {
  const resolve = options.resolve ?? dnsLookup;
  // Two pools: a connection that one organization's exception opened must never serve another organization.
  const guarded = new Agent({ connect: guardedConnector(resolve), headersTimeout: headersTimeoutMs, bodyTimeout: 0 });
  const excepted = new Agent({ connect: { timeout: connectTimeoutMs }, headersTimeout: headersTimeoutMs, bodyTimeout: 0 });

  return {
    async fetch(asked) {
      const { answer, url } = await follow(asked);
      return { ...(await readBody(decoded(answer), asked.maxBytes)), url };
    },
    async open(asked) {
      const { answer, url } = await follow(asked);
      const { status, headers, body } = decoded(answer);
      body.on('error', () => undefined); // a reader sees it too; without a reader it must not end the process
      return { status, headers, url, body };
    },
    connect: (target) => openSocket(resolve, target),
    async close() {
      await Promise.all([guarded.destroy(), excepted.destroy()]);
    },
  };

  /** Sends the request and follows the redirects it allows, each through the guard. */
  async function follow(asked: Omit<EgressRequest, 'maxBytes'>): Promise<{ answer: Dispatcher.ResponseData; url: string }> {
    let url = checkUrlForm(asked.url, asked.policy);
    let { method, headers, body } = asked;
    if (Object.keys(headers).some(isReservedHeader)) throw new EgressRefused('a header of the tool is reserved');
    for (let hops = 0; ; hops += 1) {
      const sent = sendGuarded(url, { ...asked, method, headers, body });
      const answer = await (hops === 0 ? sent : sent.catch(throwArrived));
      const location = redirectOf(answer);
      if (location === null || hops >= asked.redirects) return { answer, url: url.href };

      answer.body.on('error', () => undefined).destroy();
      const next = await nextOf(location, url, asked).catch(throwArrived);
      if (answer.statusCode === 303 || (answer.statusCode <= 302 && method === 'POST')) {
        method = 'GET';
        body = undefined;
      }
      if (next.origin !== url.origin) headers = ownHeadersDropped(headers);
      url = next;
    }
  }

  function sendGuarded(url: URL, asked: Omit<EgressRequest, 'maxBytes' | 'body'> & { body?: string | Buffer | undefined }) {
    const dispatcher = isExcepted(url, asked.policy) ? excepted : guarded;
    return send(url, { ...asked, dispatcher, headersTimeout: asked.headersTimeoutMs ?? headersTimeoutMs });
  }
}

/** Returns the target of a redirect. Throws EgressRefused. */
async function nextOf(location: string, from: URL, { policy, mayFollow }: Pick<EgressRequest, 'policy' | 'mayFollow'>): Promise<URL> {
  if (!URL.canParse(location, from.href)) throw new EgressRefused('the redirect is not a URL');
  const next = checkUrlForm(new URL(location, from).href, policy);
  if (mayFollow && !(await mayFollow(next))) throw new EgressRefused('the redirect is not allowed');
  return next;
}

/** The server that redirected has seen the request, wherever it failed after that. */
function throwArrived(error: unknown): never {
  if (error instanceof EgressRefused || error instanceof EgressUnreachable) error.mayHaveArrived = true;
  throw error;
}

function guardedConnector(resolve: typeof dnsLookup): buildConnector.connector {
  const connect = buildConnector({ timeout: connectTimeoutMs, lookup: publicLookup(resolve) });
  return (target, callback) => {
    // An address literal never reaches the lookup, so it is checked here as well.
    const literal = literalAddress(target.hostname);
    if (literal !== null && !isPublic(literal)) return callback(new EgressRefused(refusals.notPublic), null);
    return connect(target, callback);
  };
}

async function send(
  url: URL,
  options: {
    method: string;
    headers: Readonly<Record<string, string>>;
    body?: string | Buffer | undefined;
    dispatcher: Dispatcher;
    signal: AbortSignal;
    headersTimeout: number;
  },
): Promise<Dispatcher.ResponseData> {
  try {
    return await request(url, {
      method: options.method as Dispatcher.HttpMethod, // undici sends any token; ours come from a closed set
      headers: { 'user-agent': 'longhaul', 'accept-encoding': acceptedCodings, ...options.headers },
      body: options.body ?? null,
      dispatcher: options.dispatcher,
      headersTimeout: options.headersTimeout,
      signal: options.signal,
    });
  } catch (error) {
    throw toEgressError(error, options.signal);
  }
}

type DecodedAnswer = Omit<EgressStream, 'url'> & Pick<EgressResponse, 'isCoded'>;

/** Returns the answer without its content codings, and without the headers that declare them. */
function decoded({ statusCode: status, headers: told, body }: Dispatcher.ResponseData): DecodedAnswer {
  const headers = flatHeaders(told);
  const codings = codingsOf(headers['content-encoding']);
  if (codings === null || codings.length === 0) return { status, headers, body, isCoded: codings === null };
  const kept = Object.entries(headers).filter(([name]) => name !== 'content-encoding' && name !== 'content-length');
  return { status, headers: Object.fromEntries(kept), body: undoCodings(body, codings) };
}

async function readBody({ body, ...head }: DecodedAnswer, maxBytes: number): Promise<Omit<EgressResponse, 'url'>> {
  const parts: Buffer[] = [];
  let size = 0;
  try {
    for await (const part of body) {
      const bytes = Buffer.from(part);
      parts.push(bytes);
      size += bytes.length;
      if (size > maxBytes) break; // leaving the loop destroys the stream and its socket
    }
  } catch (error) {
    throw toEgressError(error, null);
  }
  return { ...head, body: Buffer.concat(parts).subarray(0, maxBytes), isTruncated: size > maxBytes };
}

/** Maps an error of undici to one of the guard's, without addresses. */
export function toEgressError(error: unknown, signal: AbortSignal | null): unknown {
  if (signal?.aborted) return signal.reason ?? error;
  if (error instanceof Error && error.name === 'AbortError') return error;
  for (let at: unknown = error; at instanceof Error; at = at.cause)
    if (at instanceof EgressRefused || at instanceof EgressUndecodable) return at;
  const code: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, 'code') : undefined;
  return new EgressUnreachable(typeof code === 'string' ? code : 'unreachable');
}

function redirectOf(answer: Dispatcher.ResponseData): string | null {
  if (![301, 302, 303, 307, 308].includes(answer.statusCode)) return null;
  return flatHeaders(answer.headers)['location'] ?? null;
}

function flatHeaders(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(', ') : value;
  return flat;
}

/** Keeps only the headers that describe the wanted answer on another origin: no credential and no header of the author's. */
function ownHeadersDropped(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => ['accept', 'accept-language', hopsHeader].includes(name.toLowerCase())),
  );
}
