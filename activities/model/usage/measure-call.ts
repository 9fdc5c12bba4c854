import type { Attributes } from '@opentelemetry/api';
import type { ResolvedModel } from '../../../ports/models/models.ts';
import { attribute, genAiProviderOf, tokenAttributes } from '../../../ports/telemetry/conventions.ts';
import { genAiName, inSpan } from '../../../ports/telemetry/spans.ts';
import type { Permit } from '../../../ports/models/permits/permits.ts';
import type { ActivityDeps } from '../../deps.ts';
import { addContent } from '../../support/trace-content.ts';
import { ModelError, reasonOf } from '../errors/model-error.ts';
import type { ModelFinish, ModelStepRequest } from '../step.ts';
import { chatContent, type MessagePart } from './chat-content.ts';
import { callWithPermit } from './permits.ts';
import { ledgerTokens } from './usage.ts';

/** What the caller knows of the span of its call. */
export interface ChatSpan {
  readonly spanId?: string;
  readonly attributes: Attributes;
}

/** A call to measure. */
export interface MeasuredCall<R> {
  readonly request: ModelStepRequest;
  /** Null: its model has no limits. */
  readonly permit: Permit | null;
  readonly span?: ChatSpan;
  readonly call: () => Promise<R>;
  /** What the model answered, for the span of a tenant that wants texts in it. */
  readonly said: (answered: R) => readonly MessagePart[];
}

/** Makes one model call, ends its permit, and records its duration and outcome, as metrics and as a span `chat`. */
export async function measureCall<R extends { readonly finish: ModelFinish }>(
  deps: Pick<ActivityDeps, 'db' | 'env' | 'log' | 'metrics'>,
  { request, permit, span: { spanId, attributes } = { attributes: {} }, call, said }: MeasuredCall<R>,
): Promise<R> {
  const { model } = request;
  const make = permit === null ? call : () => callWithPermit(permit, call);
  const startedAt = performance.now();
  let outcome = 'ok';
  try {
    return await inSpan(
      {
        name: genAiName('chat', model.name),
        kind: 'client',
        attributes: { ...requestAttributes(model, request), ...attributes },
        ...(spanId === undefined ? {} : { ids: { spanId } }),
      },
      async (span) => {
        const answered = await make();
        span.setAttributes(answerAttributes(answered.finish));
        await addContent(deps, span, () => chatContent(request, answered.finish, said(answered)));
        return answered;
      },
    );
  } catch (error) {
    outcome = error instanceof ModelError ? reasonOf(error.class) : 'aborted';
    throw error;
  } finally {
    deps.metrics.modelCalled(model.provider, outcome, (performance.now() - startedAt) / 1_000);
  }
}

function requestAttributes(model: ResolvedModel, { maxOutputTokens, settings }: ModelStepRequest): Attributes {
  return {
    [attribute.operation]: 'chat',
    [attribute.provider]: genAiProviderOf(model),
    [attribute.requestModel]: model.name,
    [attribute.requestStream]: true,
    ...(maxOutputTokens === null ? {} : { [attribute.requestMaxTokens]: maxOutputTokens }),
    ...(settings.temperature === null ? {} : { [attribute.requestTemperature]: settings.temperature }),
  };
}

function answerAttributes({ stopReason, usage, providerRequestId, providerModel }: ModelFinish): Attributes {
  return {
    [attribute.finishReasons]: [stopReason],
    ...tokenAttributes(ledgerTokens(usage)),
    [attribute.cacheReadTokens]: usage.cachedRead,
    [attribute.cacheCreationTokens]: usage.cachedWrite,
    [attribute.reasoningTokens]: usage.reasoning,
    ...(providerRequestId === null ? {} : { [attribute.responseId]: providerRequestId }),
    ...(providerModel === null ? {} : { [attribute.responseModel]: providerModel }),
  };
}
