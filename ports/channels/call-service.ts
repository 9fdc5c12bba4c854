import { EgressRefused, EgressUnreachable, type EgressPolicy } from '../egress/egress.ts';
import { member } from './members.ts';
import type { SendOutcome, ServiceDeps, ServiceFile } from './service.ts';

const maxAnswerBytes = 4 * 1024 * 1024;
const maxTryMs = 15_000;

export interface ServiceCall {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'PUT';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent instead of `body`: a form with files, or bytes. */
  readonly form?: FormData | Buffer;
}

export interface ServiceAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Parsed; null: it is not JSON. */
  readonly body: unknown;
}

/** Calls the API of a service at the address that the deployment has configured, through the egress guard. Throws what the guard throws. */
export async function callService(
  deps: ServiceDeps,
  { method = 'POST', url, headers = {}, body, form }: ServiceCall,
): Promise<ServiceAnswer> {
  const sent = await encoded(form ?? body);
  const answer = await deps.egress.fetch({
    method,
    url,
    headers: { ...(sent ? { 'content-type': sent.type } : {}), ...headers },
    ...(sent ? { body: sent.body } : {}),
    policy: policyOf(url),
    redirects: 0,
    maxBytes: maxAnswerBytes,
    headersTimeoutMs: form === undefined ? maxTryMs : 2 * maxTryMs,
    signal: deps.signal,
  });
  return { status: answer.status, headers: answer.headers, body: parsed(answer.body) };
}

async function encoded(body: unknown): Promise<{ readonly type: string; readonly body: string | Buffer } | null> {
  if (body === undefined) return null;
  if (Buffer.isBuffer(body)) return { type: 'application/octet-stream', body };
  if (!(body instanceof FormData)) return { type: 'application/json; charset=utf-8', body: JSON.stringify(body) };
  const form = new Response(body);
  return { type: form.headers.get('content-type') ?? '', body: Buffer.from(await form.arrayBuffer()) };
}

/** A part of a form. */
export async function filePart({ read, mediaType }: ServiceFile): Promise<Blob> {
  return new Blob([new Uint8Array(await read())], { type: mediaType });
}

/** The operator has configured the address: it may be one that tenants must not reach. */
export function policyOf(url: string): EgressPolicy {
  const { hostname, port, protocol } = new URL(url);
  return {
    allowHttp: false,
    exceptions: [{ host: hostname, port: port === '' ? null : Number(port), allow_http: protocol === 'http:' }],
  };
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return null;
  }
}

/** Runs a call that sends a message: what the guard throws becomes an outcome, `uncertain` where the service may have seen the message. */
export async function trySend(work: () => Promise<SendOutcome>): Promise<SendOutcome> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof EgressRefused)
      return { result: error.mayHaveArrived ? 'uncertain' : 'refused', error: `egress_refused: ${error.message}` };
    if (error instanceof EgressUnreachable) return { result: error.mayHaveArrived ? 'uncertain' : 'failed', error: error.message };
    if (error instanceof Error && error.name === 'TimeoutError')
      return { result: 'uncertain', error: `no answer within ${maxTryMs / 1_000} seconds` };
    throw error;
  }
}

/** Returns the outcome of a 429 of any service, with the delay from its header or its body. */
export function limited({ headers, body }: ServiceAnswer): SendOutcome {
  const told = [headers['retry-after'], member(body, 'retry_after'), member(member(body, 'parameters'), 'retry_after')];
  const seconds = told.map(Number).find((value) => Number.isFinite(value) && value > 0) ?? 1;
  return { result: 'limited', retryAfterS: Math.min(Math.ceil(seconds * 1_000) / 1_000, 3_600), error: 'HTTP 429' };
}
