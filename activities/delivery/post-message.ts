import type { Attributes } from '@opentelemetry/api';
import { outcomeOfStatus, retryAfterOf, type TryOutcome } from '../../domain/deliveries/retries.ts';
import { deadlineIn } from '../../ports/deadline.ts';
import { EgressRefused, EgressUnreachable, type Egress, type EgressPolicy } from '../../ports/egress/egress.ts';
import { attribute } from '../../ports/telemetry/conventions.ts';
import { failSpan, inSpan, withTraceparent } from '../../ports/telemetry/spans.ts';

/** How long a receiver may take, connecting included. */
export const maxTryMs = 15_000;

/** A POST to an address that a tenant has configured. */
export interface OutgoingPost {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly policy: EgressPolicy;
  /** Maps an answer to its outcome; `outcomeOfStatus` by default. */
  readonly judge?: (status: number, retryAfterS: number | null) => TryOutcome;
}

/**
 * Posts once, through the guard and without following redirects. Never throws because of the receiver. The head of its answer decides whether it has accepted
 * the message: the body is not read, so a body that is slow, endless or broken off does not turn an accepted message into a failed one.
 */
export async function postMessage(
  egress: Pick<Egress, 'open'>,
  { url, headers, body, policy, judge = outcomeOfStatus }: OutgoingPost,
): Promise<TryOutcome> {
  try {
    return await inSpan({ name: 'POST', kind: 'client', attributes: postAttributes(url) }, async (span) => {
      const answer = await egress.open({
        method: 'POST',
        url,
        headers: withTraceparent({ 'content-type': 'application/json', ...headers }),
        body,
        policy,
        redirects: 0,
        headersTimeoutMs: maxTryMs,
        signal: deadlineIn(maxTryMs),
      });
      answer.body.destroy();
      span.setAttribute(attribute.status, answer.status);
      if (answer.status >= 400) failSpan(span, String(answer.status));
      return judge(answer.status, retryAfterOf(answer.headers['retry-after'], new Date()));
    });
  } catch (error) {
    return failed(errorOf(error));
  }
}

/** The receiver's host alone: addresses of receivers may hold secrets. */
function postAttributes(url: string): Attributes {
  const { hostname, port, protocol } = new URL(url);
  return {
    [attribute.method]: 'POST',
    [attribute.serverAddress]: hostname,
    [attribute.serverPort]: Number(port) || (protocol === 'https:' ? 443 : 80),
  };
}

/** A try without an answer. */
export function failed(error: string): TryOutcome {
  return { result: 'failed', status: null, error, retryAfterS: null };
}

/** A try after which no other can succeed. */
export function refused(error: string, status: number | null = null): TryOutcome {
  return { result: 'refused', status, error, retryAfterS: null };
}

function errorOf(error: unknown): string {
  if (error instanceof EgressRefused) return `egress_refused: ${error.message}`;
  if (error instanceof EgressUnreachable) return error.message;
  if (error instanceof Error && error.name === 'TimeoutError') return `no answer within ${maxTryMs / 1_000} seconds`;
  throw error;
}
