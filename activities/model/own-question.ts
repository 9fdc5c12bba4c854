import { ApplicationFailure } from '@temporalio/common';
import { newId } from '../../db/ids.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { StepWait } from '../../workflows/contracts/runs/agent-run.ts';
import type { ActivityDeps } from '../deps.ts';
import { retryWhileUnavailable } from '../support/retry-unavailable.ts';
import { ModelError } from './errors/model-error.ts';
import { onFailedTry, StepWaiting } from './errors/failed-try.ts';
import { formatNotice, jsonAnswerOf, parseJson, resultToolOf } from './prompt/json-answer.ts';
import { announceCall } from './usage/lost-call.ts';
import { jsonPart } from './usage/chat-content.ts';
import { measureCall } from './usage/measure-call.ts';
import { spanOf, usageOf, type ModelTry } from './model-try.ts';
import { withOpenTry, type OpenTry } from './open-try.ts';
import { cleanJson } from './wire/plain-text.ts';
import { defaultModelSettings } from './prompt/prompt.ts';
import { holdCost, type OpenHold } from './usage/spend.ts';
import { streamModelStep, type ModelFinish, type ModelStepRequest } from './step.ts';
import { storeAnswered } from './store-answered.ts';
import type { ModelStepResult } from '../../db/runs/steps/stored-step.ts';

/** A question that the platform itself asks within a run: not its conversation, but a prompt whose answer is JSON. */
export interface OwnQuestion {
  readonly runId: string;
  /** The number of its step in the run. */
  readonly step: number;
  /** A model of the registry to try before those of the run's agent; null: only those. */
  readonly model: string | null;
  readonly instructions: string;
  readonly prompt: string;
  /** JSON Schema of the answer, as it is sent to the model. The caller validates the answer. */
  readonly schema: Readonly<Record<string, unknown>>;
  readonly maxOutputTokens: number;
  /** Transforms the answer before it is stored. */
  readonly clean: (value: unknown) => unknown;
  /** Stores the answer in the transaction that stores and bills the step. */
  readonly keep: (tx: TenantTransaction, value: unknown) => Promise<unknown>;
}

/**
 * `stored`: an earlier try has stored the step, and `keep` was called then. `unreadable`: the model returned no JSON, or nothing, in all its tries. `wait`: the
 * model cannot be asked now.
 */
export type OwnAnswer = { readonly kind: 'given' | 'stored' | 'unreadable' } | { readonly kind: 'wait'; readonly wait: StepWait };

const maxMs = 9 * 60_000;
/** Its caller has a bounded number of tries, so it waits as long as the call itself leaves it time. */
const maxPermitWaitMs = 4 * 60_000;

/**
 * Asks the run's model a question of the platform's own, as a model step of the run: claimed, held in the budgets, billed once and stored with its answer, like
 * the steps of its conversation. Throws as `callModel` does, with `budget_exceeded` when the budget is full and the run does not wait for it.
 */
export function askOwnQuestion(deps: ActivityDeps, question: OwnQuestion): Promise<OwnAnswer> {
  const { runId, step, model } = question;
  return withOpenTry<OwnAnswer>(
    deps,
    { runId, step, model, maxMs },
    { make: (open) => makeTry(deps, question, open), stored: () => ({ kind: 'stored' }) },
  );
}

async function makeTry(deps: ActivityDeps, question: OwnQuestion, { claimed, writer, abort }: OpenTry): Promise<OwnAnswer> {
  const messageId = newId();
  let modelTry = claimed;
  let hold: OpenHold | null = null;
  let finish: ModelFinish | null = null;
  try {
    const request = requestOf(question, modelTry, abort.signal);
    const passed = await holdCost(deps, { modelTry, request, abort, maxPermitWaitMs });
    if (passed.kind === 'wait') return { kind: 'wait', wait: passed.wait };
    hold = passed;
    modelTry = { ...modelTry, startedAt: passed.at };
    await announceCall(deps, modelTry, { messageId, request });
    // A call that has not left costs nothing.
    abort.signal.throwIfAborted();
    const asked = await measureCall(deps, {
      request,
      permit: hold.permit,
      span: spanOf(modelTry),
      call: () => collect(deps, request),
      said: ({ value }) => [jsonPart(value)],
    });
    ({ finish } = asked);
    const value = asked.value;
    if (value === undefined) throw new UnreadableAnswer(finish);
    const cleaned = question.clean(value);
    const result = resultOf(deps, { question, modelTry, messageId, finish, value: cleaned });
    await retryWhileUnavailable(() => storeAnswered(deps, { result, writer, keep: (tx) => question.keep(tx, cleaned) }));
    return { kind: 'given' };
  } catch (error) {
    const judged = await onFailedTry(deps, { modelTry, abort, error, finished: error instanceof UnreadableAnswer ? null : finish });
    if (judged instanceof StepWaiting) return { kind: 'wait', wait: judged.wait };
    if (isWithoutAnswer(error) && judged instanceof ApplicationFailure && judged.nonRetryable) return { kind: 'unreadable' };
    throw judged;
  } finally {
    hold?.close();
  }
}

/** The model answered, but not in JSON: it is asked again, as if its stream had been cut off. */
class UnreadableAnswer extends ModelError {
  constructor({ usage, providerRequestId }: ModelFinish) {
    super('StreamCut', { message: 'The answer is not a JSON value.', usage, providerRequestId });
  }
}

/** A question that the model will not answer is no error of its provider. */
function isWithoutAnswer(error: unknown): boolean {
  return (
    error instanceof UnreadableAnswer ||
    (error instanceof ModelError && (error.class === 'ContentRefused' || error.class === 'ContextTooLong'))
  );
}

function requestOf(question: OwnQuestion, { model }: ModelTry, signal: AbortSignal): ModelStepRequest {
  const json = jsonAnswerOf(model, { type: 'json', name: 'answer', schema: question.schema, strict: true });
  const tool = resultToolOf(json);
  return {
    model,
    instructions: [question.instructions, formatNotice(json)].filter((part) => part !== '').join('\n\n'),
    messages: [{ role: 'user', content: [{ type: 'text', text: question.prompt }] }],
    tools: tool === null ? [] : [tool],
    settings: defaultModelSettings,
    maxOutputTokens: Math.min(question.maxOutputTokens, model.maxOutputTokens ?? Infinity),
    json,
    signal,
  };
}

/** No delta is shown: an answer is read once it is complete and clean. */
async function collect(deps: ActivityDeps, request: ModelStepRequest): Promise<{ finish: ModelFinish; value: unknown }> {
  let text = '';
  let args: Record<string, unknown> | null = null;
  for await (const event of streamModelStep(deps, request)) {
    if (event.type === 'text') text += event.delta;
    if (event.type === 'tool_call') ({ args } = event);
    if (event.type === 'finish') return { finish: event, value: args === null ? parseJson(text) : cleanJson(args) };
  }
  throw new Error('the model step ended without its finish');
}

interface Finished {
  readonly question: OwnQuestion;
  readonly modelTry: ModelTry;
  readonly messageId: string;
  readonly finish: ModelFinish;
  readonly value: unknown;
}

function resultOf(deps: ActivityDeps, { question, modelTry, messageId, finish, value }: Finished): ModelStepResult {
  const { runId, step } = question;
  return {
    runId,
    step,
    attempt: modelTry.opened.attempt,
    messageId,
    model: modelTry.model.id,
    stopReason: 'stop',
    content: [{ type: 'json', value }],
    providerState: null,
    calls: [],
    followUp: null,
    firstTokenAt: null,
    usage: usageOf(deps, modelTry, finish.usage, finish.providerRequestId),
  };
}
