import type { ResolvedModel } from '../../ports/models/models.ts';
import { ModelAborted, ModelError } from './errors/model-error.ts';
import type { JsonAnswer } from './prompt/json-answer.ts';
import { streamExtractive } from './extractive/extractive.ts';
import { decideFinish, type StopReason } from './finish.ts';
import type { ModelSettings, PromptMessage, PromptTool, ProviderState } from './prompt/prompt.ts';
import { readProviderError, type ProviderPart, type Providers } from './wire/providers.ts';
import { ModelStream } from './model-stream.ts';
import { toModelError } from './errors/signals.ts';
import { estimateUsage, type TokenUsage } from './usage/usage.ts';
import { Watch } from './watch.ts';
import { newWireOutcome, type WireOutcome } from './wire/wire.ts';

export interface ModelStepRequest {
  readonly model: ResolvedModel;
  readonly instructions: string;
  readonly messages: readonly PromptMessage[];
  readonly tools: readonly PromptTool[];
  readonly settings: ModelSettings;
  /** Null leaves it to the provider. */
  readonly maxOutputTokens: number | null;
  /** Null for an answer in words. In mode `tool` the result tool is among the tools. */
  readonly json?: JsonAnswer | null;
  readonly signal: AbortSignal;
}

/**
 * What a model step yields. `index` numbers the blocks of the message, of all types together; `pos` the calls.
 * Deltas are never empty and hold no U+0000 and no half surrogate pair. `finish` comes last, and only on success.
 */
export type ModelEvent =
  | { readonly type: 'text' | 'refusal'; readonly index: number; readonly delta: string }
  | { readonly type: 'reasoning'; readonly index: number; readonly delta: string; readonly kind: 'summary' | 'full' }
  | {
      readonly type: 'citation';
      readonly index: number;
      readonly title: string | null;
      readonly quote: string | null;
      readonly url: string | null;
      /** The item of a knowledge base that is quoted. */
      readonly itemId?: string;
    }
  | { readonly type: 'tool_started'; readonly pos: number; readonly providerCallId: string; readonly slug: string }
  | { readonly type: 'tool_args'; readonly pos: number; readonly delta: string }
  | {
      readonly type: 'tool_call';
      readonly pos: number;
      readonly providerCallId: string;
      readonly slug: string;
      readonly argsText: string;
      readonly args: Record<string, unknown> | null;
    }
  | ModelFinish;

export interface ModelFinish {
  readonly type: 'finish';
  /** With `max_output` and `refused`, no call of this step may be executed. */
  readonly stopReason: StopReason;
  readonly usage: TokenUsage;
  readonly providerRequestId: string | null;
  readonly providerModel: string | null;
  readonly providerState: ProviderState | null;
  /** What was odd about an answer that is accepted all the same, for the operator. */
  readonly warnings?: readonly string[];
}

/**
 * Makes one call of a model, once; retrying is up to the activity. Throws ModelError by the table of signals, and ModelAborted when the caller's signal fires.
 * Leaving the loop ends the request.
 */
export async function* streamModelStep(
  deps: { readonly providers: Providers },
  request: ModelStepRequest,
): AsyncGenerator<ModelEvent, void, void> {
  if (request.model.adapter === 'builtin') {
    yield* streamExtractive(request, { paceMs: deps.providers.paceMs });
    return;
  }

  const outcome = newWireOutcome();
  const watch = new Watch(request.signal, request.model, outcome);
  const modelStream = new ModelStream(request.model.adapter);
  const call: ProviderCall = { request, stream: modelStream, watch, outcome, requestId: null };
  try {
    const stream = await watch.waitFor(deps.providers.open(request, watch.signal, outcome));
    call.requestId = stream.requestId;
    yield* modelEvents(call, stream.parts.getReader());
  } catch (error) {
    throw asStepError(error, call);
  } finally {
    watch.close();
  }
}

interface ProviderCall {
  readonly request: ModelStepRequest;
  readonly stream: ModelStream;
  readonly watch: Watch;
  readonly outcome: WireOutcome;
  requestId: string | null;
}

async function* modelEvents(call: ProviderCall, reader: ReadableStreamDefaultReader<ProviderPart>): AsyncGenerator<ModelEvent, void, void> {
  const { stream: modelStream, watch } = call;
  const events: ModelEvent[] = [];

  for (;;) {
    const { done, value: part } = await watch.waitFor(reader.read());
    const isOver = done || part.type === 'error' || part.type === 'finish';
    if (isOver && call.outcome.error !== null) throw toModelError(call.outcome.error, errorContext(call));
    if (done) throw toModelError({ kind: 'garbled', message: '' }, errorContext(call));
    if (part.type === 'error') throw toModelError(readProviderError(part.error), errorContext(call));

    const isProgress = part.type === 'finish' || modelStream.take(part, events);
    if (part.type === 'finish') {
      modelStream.end(events);
      events.push({ ...decideFinish(part, call, errorContext), warnings: call.outcome.warnings });
    }
    yield* events;
    events.length = 0;
    if (part.type === 'finish') return;
    if (isProgress) watch.progress();
  }
}

/** Maps whatever ended the call to one of the two errors of a step. */
function asStepError(error: unknown, call: ProviderCall): Error {
  const { stopped } = call.watch;
  if (!stopped && error instanceof ModelError) return error;
  if (!stopped) return toModelError(call.outcome.error ?? readProviderError(error), errorContext(call));

  const usage = estimateUsage(call.request, call.stream.outputText);
  if (!(stopped.reason instanceof ModelError)) return new ModelAborted(usage, stopped.reason);
  return new ModelError(stopped.reason.class, { message: stopped.reason.message, providerRequestId: call.requestId, usage });
}

function errorContext(call: ProviderCall) {
  const { request, stream: modelStream } = call;

  return {
    hasBegun: modelStream.hasBegun,
    requestId: call.requestId,
    usage: modelStream.hasBegun ? estimateUsage(request, modelStream.outputText) : null,
    prompt: () => `${request.instructions}\n${JSON.stringify(request.messages)}`,
    apiKey: request.model.connection.apiKey(),
  };
}
