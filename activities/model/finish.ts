import { ModelError, type ModelErrorClass } from './errors/model-error.ts';
import type { ProviderPart } from './wire/providers.ts';
import type { ModelStream } from './model-stream.ts';
import { toModelError, type ErrorContext } from './errors/signals.ts';
import type { ModelFinish, ModelStepRequest } from './step.ts';
import { bucketUsage } from './usage/usage.ts';

export type StopReason = 'stop' | 'tool_calls' | 'max_output' | 'refused';

export interface FinishedCall {
  readonly request: ModelStepRequest;
  readonly stream: ModelStream;
  readonly requestId: string | null;
}

type FinishPart = Extract<ProviderPart, { type: 'finish' }>;

/** Returns how an answer ended. Throws when the provider's finish reason says that it is no answer: cut off, or withheld by a filter. */
export function decideFinish<C extends FinishedCall>(part: FinishPart, call: C, contextOf: (call: C) => ErrorContext): ModelFinish {
  const { request, stream } = call;
  const usage = bucketUsage(part.usage, {
    adapter: request.model.adapter,
    reasoningInOutput: request.model.reasoningInOutput,
    prompt: request,
    outputText: stream.outputText,
    spokenText: stream.spokenText,
  });
  const end = readEnd(part, stream);

  if (end === 'StreamCut')
    throw toModelError({ kind: 'garbled', message: '' }, { ...contextOf(call), usage: stream.hasBegun ? usage : null });
  if (end === 'ContentRefused') {
    throw new ModelError(end, {
      message: 'the model provider withheld the answer (content filter)',
      providerCode: part.finishReason.raw ?? null,
      providerRequestId: call.requestId,
      usage,
    });
  }

  return {
    type: 'finish',
    stopReason: end,
    usage,
    providerRequestId: call.requestId ?? stream.responseId,
    providerModel: stream.providerModel,
    providerState: stream.state(request.model.id),
  };
}

function readEnd({ finishReason }: FinishPart, stream: ModelStream): StopReason | Extract<ModelErrorClass, 'StreamCut' | 'ContentRefused'> {
  switch (finishReason.unified) {
    case 'stop':
      return stream.hasCalls ? 'tool_calls' : 'stop';
    case 'tool-calls':
      return stream.hasCalls ? 'tool_calls' : 'StreamCut'; // calls were promised and none came
    case 'length':
      return 'max_output';
    case 'content-filter':
      return stream.hasRefusal || finishReason.raw === 'refusal' ? 'refused' : 'ContentRefused';
    case 'other':
      return unusualEnd(finishReason.raw ?? '', stream);
    case 'error':
    case 'interrupted':
      return 'StreamCut';
    default:
      return finishReason.unified satisfies never;
  }
}

/** Finish reasons that OpenAI-compatible servers name in their own way. An unknown reason counts as a cut-off stream. */
function unusualEnd(raw: string, stream: ModelStream): StopReason | 'StreamCut' | 'ContentRefused' {
  if (/^(stop|eos|eos_token|end_turn|stop_sequence|complete|completed|done)$/i.test(raw)) return stream.hasCalls ? 'tool_calls' : 'stop';
  if (/^(length|max_tokens|max_output_tokens|model_length)$/i.test(raw)) return 'max_output';
  if (/^(tool_use|tool_call|tool_calls)$/i.test(raw)) return stream.hasCalls ? 'tool_calls' : 'StreamCut';
  if (/safety|content_filter|blocklist|prohibited/i.test(raw)) return 'ContentRefused';
  return 'StreamCut';
}
