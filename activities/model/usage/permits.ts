import type { Permit } from '../../../ports/models/permits/permits.ts';
import type { ActivityDeps } from '../../deps.ts';
import { ModelAborted, ModelError } from '../errors/model-error.ts';
import type { ModelFinish, ModelStepRequest } from '../step.ts';
import { countPrompt, type TokenUsage } from './usage.ts';

/** Output tokens that are expected of a call which does not bound them: a model's own maximum is many times what answers have. */
const expectedOutput = 4_096;
/** While more calls of this process wait, each waits here for a shorter time: they occupy its activities. */
const maxLongWaits = 20;
const shortWaitMs = 5_000;

/** A call that asks for a permit. */
export interface PermitAsked {
  readonly request: ModelStepRequest;
  readonly workspaceId: string;
  /** When its run became active: the calls of older runs of a workspace go first. */
  readonly since?: Date | null;
  readonly signal: AbortSignal;
  /** How long it may wait here. */
  readonly maxWaitMs: number;
}

/** Waits for the permit of a call whose model has limits. Null: there was none in time. Rejects with the signal's reason. */
export function takePermit(
  { permits }: Pick<ActivityDeps, 'permits'>,
  { request, workspaceId, since, signal, maxWaitMs }: PermitAsked,
): Promise<Permit | null> {
  const { model } = request;
  return permits.take(model, {
    workspaceId,
    tokens: countPrompt(request) + (request.maxOutputTokens ?? Math.min(expectedOutput, model.maxOutputTokens ?? Infinity)),
    since: since ?? null,
    signal,
    maxWaitMs: permits.waiting(model.provider) < maxLongWaits ? maxWaitMs : Math.min(maxWaitMs, shortWaitMs),
  });
}

/** Returns a delay before a call asks again, longer the more calls of this process wait: they come back at a bounded rate. */
export function permitDelayMs({ permits }: Pick<ActivityDeps, 'permits'>, provider: string): number {
  return Math.min(60_000, Math.ceil(2_000 + permits.waiting(provider) * 100 * (0.5 + Math.random())));
}

/** Makes a call with its permit, and ends the permit with what the call has used. A refusal of the provider pauses the model for all processes. */
export async function callWithPermit<R extends { readonly finish: ModelFinish }>(permit: Permit, call: () => Promise<R>): Promise<R> {
  try {
    const answered = await call();
    permit.end(sumOf(answered.finish.usage));
    return answered;
  } catch (error) {
    if (error instanceof ModelError && isPause(error)) permit.pause(error.retryAfterMs);
    const used = error instanceof ModelError || error instanceof ModelAborted ? error.usage : null;
    permit.end(used && sumOf(used));
    throw error;
  } finally {
    permit.end(null);
  }
}

/** 429, and an overload that says for how long. A provider that says not to retry asks for no pause. */
function isPause({ class: errorClass, retryable, retryAfterMs }: ModelError): boolean {
  return retryable && (errorClass === 'RateLimited' || (errorClass === 'Unavailable' && retryAfterMs !== null));
}

function sumOf({ input, cachedRead, cachedWrite, output, reasoning }: TokenUsage): number {
  return input + cachedRead + cachedWrite + output + reasoning;
}
