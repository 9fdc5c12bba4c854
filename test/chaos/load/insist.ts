import { setTimeout as delay } from 'node:timers/promises';
import type { ProcessName } from '../../support/stack.ts';
import type { SignedBody } from '../../workflows/hook-world.ts';
import type { ChaosWorld } from '../world.ts';

export interface Insisting {
  readonly method?: 'GET' | 'POST' | 'PUT';
  readonly path: string;
  readonly body?: unknown;
  /** In place of a body: the bytes of a request without a credential, signed anew each time it is sent. */
  readonly raw?: () => SignedBody;
  readonly names: readonly ProcessName[];
  /** Of time in which nothing strikes the deployment. */
  readonly maxMs?: number;
}

export interface Answer<T = unknown> {
  readonly status: number;
  readonly body: T;
  readonly tries: number;
  readonly ms: number;
}

/** What a client may be told while something is away; the rest of 5xx is a promise broken. */
const passing = new Set([429, 503]);
const tryMs = 15_000;
/** A sync hook waits up to 25 s for its run. */
const rawTryMs = 40_000;

/**
 * Asks like a client that wants it done once: with one Idempotency-Key, again at the other process until somebody answers. Null when nobody
 * did in time: while both processes or a service are frozen, for minutes, nobody can, so that only the time counts in which nothing is struck. An answer in flight (409 without a reason of the run's) is asked for again too.
 */
export async function insist<T>(world: ChaosWorld, asked: Insisting): Promise<Answer<T> | null> {
  const { method = 'POST', path, body, raw, names, maxMs = 400_000 } = asked;
  const headers: Record<string, string> = method === 'POST' && !raw ? { 'idempotency-key': crypto.randomUUID() } : {};
  const startedAt = performance.now();
  let calmMs = 0;
  for (let tries = 1; calmMs < maxMs; tries++) {
    const [triedAt, wasCalm] = [performance.now(), world.isCalm()];
    const process = names[(tries - 1) % names.length] ?? 'api';
    const asking = raw
      ? post<T>(`${world.stack.url(process)}${path}`, raw())
      : world.stack.request(method, path, { body, headers, process });
    const answer = await within(asking, raw ? rawTryMs : tryMs).catch(() => null);
    if (answer && !passing.has(answer.status) && !isInFlight(answer)) {
      if (answer.status >= 500)
        world.record.surprises.push(`${answer.status} by ${method} ${path}: ${JSON.stringify(answer.body).slice(0, 300)}`);
      else return { status: answer.status, body: answer.body, tries, ms: performance.now() - startedAt };
    }
    await delay(200);
    if (wasCalm && world.isCalm()) calmMs += performance.now() - triedAt;
  }
  return null;
}

function isInFlight({ status, body }: { status: number; body: unknown }): boolean {
  if (status !== 409 || typeof body !== 'object' || body === null) return false;
  return 'code' in body && body.code === 'idempotency_in_progress';
}

/** A frozen process takes connections and answers nothing. */
async function within<T>(work: Promise<T>, maxMs: number): Promise<T> {
  const late = new AbortController();
  const timeout = delay(maxMs, undefined, { signal: late.signal }).then(() => {
    throw new Error('no answer');
  });
  timeout.catch(() => undefined);
  try {
    return await Promise.race([work, timeout]);
  } finally {
    late.abort();
  }
}

async function post<T>(url: string, { payload, headers }: SignedBody): Promise<{ readonly status: number; readonly body: T }> {
  const reply = await fetch(url, { method: 'POST', headers, body: payload });
  return { status: reply.status, body: (await reply.json().catch(() => ({}))) as T }; // as the caller knows the path
}
