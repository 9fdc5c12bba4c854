import { setTimeout as delay } from 'node:timers/promises';
import type { ProcessName, Stack } from './stack.ts';

export interface SureStart {
  readonly agentId: string;
  readonly text: string;
  readonly sessionKey?: string;
  readonly limits?: Record<string, unknown>;
  /** API processes, asked in turn. */
  readonly processes?: readonly ProcessName[];
  readonly maxMs?: number;
}

export interface SurelyStarted {
  readonly id: string;
  readonly tries: number;
  readonly ms: number;
}

/** What a client may be told while something is away: no answer at all, 503, and 409 while its first try is still under way. */
const passing = new Set([409, 503]);

/**
 * Starts a run like a client that wants it done once: with one Idempotency-Key, again until it is acknowledged. Any answer but 202 and those
 * that say "later" is an error.
 */
export async function surelyStart(stack: Stack, start: SureStart): Promise<SurelyStarted> {
  const key = crypto.randomUUID();
  const names = start.processes ?? ['api'];
  const startedAt = Date.now();

  for (let tries = 1; ; tries++) {
    const answer = await stack
      .request('POST', '/runs', {
        body: {
          agent_id: start.agentId,
          input: { text: start.text },
          ...(start.sessionKey === undefined ? {} : { session_key: start.sessionKey }),
          ...(start.limits === undefined ? {} : { limits: start.limits }),
        },
        headers: { 'idempotency-key': key },
        process: names[(tries - 1) % names.length] ?? 'api',
      })
      .catch(() => null);
    if (answer?.status === 202) return { id: (answer.body as { id: string }).id, tries, ms: Date.now() - startedAt };
    if (answer && !passing.has(answer.status)) throw new Error(`POST /runs answered ${answer.status}: ${JSON.stringify(answer.body)}`);
    if (Date.now() - startedAt > (start.maxMs ?? 60_000))
      throw new Error(`POST /runs was not acknowledged; last answer ${answer?.status ?? 'none'}`);
    await delay(200);
  }
}
