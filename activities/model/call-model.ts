import { resultToolSlug } from '../../db/agents/effective/result-tool.ts';
import { newId } from '../../db/ids.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { ContentBlock } from '../../db/runs/run-types.ts';
import { toPlannedCall, storedState } from '../../db/runs/calls/planned-calls.ts';
import type { AgentRunActivities, CallModelResult, PlannedCall } from '../../workflows/contracts/runs/agent-run.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { withFiles } from '../attachments/model-files.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAsRun } from '../runs/as-run.ts';
import { giveUp } from '../support/failures.ts';
import { tenantOfActivity } from '../support/tenant.ts';
import { retryWhileUnavailable } from '../support/retry-unavailable.ts';
import { buildRequest } from './prompt/build-request.ts';
import { checkCalls, collectStep, type CollectedStep } from './collect-step.ts';
import { onFailedTry, StepWaiting } from './errors/failed-try.ts';
import { withPassages } from './prompt/inject-passages.ts';
import { judgeAnswer, repairRequest, type JsonAnswer } from './prompt/json-answer.ts';
import { partsOfStep } from './usage/chat-content.ts';
import { measureCall } from './usage/measure-call.ts';
import { spanOf, usageOf, type ModelTry } from './model-try.ts';
import { announceCall } from './usage/lost-call.ts';
import { withOpenTry, type OpenTry } from './open-try.ts';
import { holdCost, type OpenHold } from './usage/spend.ts';
import { streamModelStep, type ModelStepRequest } from './step.ts';
import { storeAnswered } from './store-answered.ts';
import type { CheckedCall, ModelStepResult } from '../../db/runs/steps/stored-step.ts';

const maxMs = 29 * 60_000;
const maxPermitWaitMs = 30_000;

/** The activity of one model step: claims a try, streams it, and stores message, calls and usage together. A later try returns what is stored. */
export function createModelActivities(deps: ActivityDeps): Pick<AgentRunActivities, 'callModel'> {
  return { callModel: (input) => callModel(deps, input) };
}

function callModel(deps: ActivityDeps, { runId, step }: { runId: string; step: number }): Promise<CallModelResult> {
  return withOpenTry(
    deps,
    { runId, step, maxMs },
    { make: (open) => makeTry(deps, open), stored: ({ stopReason, calls }) => planOf(stopReason, calls.map(toPlannedCall)) },
  );
}

/** Passes the budget check, calls the model and stores its answer. A try that fails is settled, and its error decides what happens next. */
async function makeTry(deps: ActivityDeps, { claimed, writer, abort }: OpenTry): Promise<CallModelResult> {
  const messageId = newId();
  let modelTry = claimed;
  let hold: OpenHold | null = null;
  let collected: CollectedStep | null = null;
  try {
    const request = await requestOf(deps, modelTry, abort.signal);
    const passed = await holdCost(deps, { modelTry, request, abort, maxPermitWaitMs });
    if (passed.kind === 'wait') return { outcome: 'wait', wait: passed.wait };
    hold = passed;
    modelTry = { ...modelTry, startedAt: passed.at };
    await announceCall(deps, modelTry, { messageId, request });
    // A call that has not left costs nothing.
    abort.signal.throwIfAborted();
    const sink = {
      writer,
      now: deps.db.clock.now,
      messageId,
      step: modelTry.step,
      tools: modelTry.opened.tools,
      resultTool: request.json?.mode === 'tool' ? resultToolSlug : null,
      json: request.json?.mode ?? null,
    };
    collected = await measureCall(deps, {
      request,
      permit: hold.permit,
      span: spanOf(modelTry),
      call: () => collectStep(streamModelStep(deps, request), sink),
      said: partsOfStep,
    });
    for (const warning of [...(collected.finish.warnings ?? []), ...emptyWarning(collected)])
      deps.log.warn({ run_id: modelTry.opened.run.id, step: modelTry.step, model: modelTry.model.id, warning }, 'odd answer of a model');
    const result = await toStepResult(deps, modelTry, { messageId, collected, json: request.json ?? null });
    await retryWhileUnavailable(async () => {
      await writer.flush();
      await storeAnswered(deps, { result, writer });
    });
    return planOf(result.stopReason, result.calls.map(toPlanned));
  } catch (error) {
    const judged = await onFailedTry(deps, { modelTry, abort, error, finished: collected?.finish ?? null });
    if (judged instanceof StepWaiting) return { outcome: 'wait', wait: judged.wait };
    throw judged;
  } finally {
    hold?.close();
  }
}

/** A model may end its turn without any output, as some do after a call; the run then has no output. */
function emptyWarning({ content, calls, result }: CollectedStep): string[] {
  const isSaid = calls.length > 0 || result !== null || content.some(({ type }) => type !== 'reasoning_summary');
  return isSaid ? [] : ['the answer is empty'];
}

/** Returns the request with its passages and files. */
async function requestOf(deps: ActivityDeps, { opened, model }: ModelTry, signal: AbortSignal): Promise<ModelStepRequest> {
  const { organizationId } = tenantOfActivity();
  const named = await buildRequest(deps.templates.of(organizationId), await withPassages(deps, opened), model, signal);
  const transact = <R>(work: (tx: TenantTransaction) => Promise<R>) => transactAsRun(deps, opened.run.id, work);
  return withFiles({ storage: deps.storage, pages: deps.pages, organizationId, transact }, opened.run.id, named);
}

interface Answered {
  readonly messageId: string;
  readonly collected: CollectedStep;
  readonly json: JsonAnswer | null;
}

async function toStepResult(deps: ActivityDeps, modelTry: ModelTry, { messageId, collected, json }: Answered): Promise<ModelStepResult> {
  const { opened, step, model } = modelTry;
  const calls = await checkCalls(collected, deps.schemas.of(tenantOfActivity().organizationId), {
    maxToolCalls: opened.run.manifest.max_tool_calls,
    made: modelTry.callsMade,
    approved: modelTry.approved,
  });
  const { stopReason } = collected.finish;
  const isFinal = calls.length === 0 && (stopReason === 'stop' || stopReason === 'tool_calls');
  const final = await finalAnswer(deps, modelTry, { collected, json: isFinal ? json : null });
  return {
    runId: opened.run.id,
    step,
    attempt: opened.attempt,
    messageId,
    model: model.id,
    stopReason: final.followUp !== null ? 'error' : calls.length > 0 ? 'tool_calls' : stopReason === 'tool_calls' ? 'stop' : stopReason,
    content: final.content,
    providerState: collected.finish.providerState,
    calls,
    followUp: final.followUp,
    firstTokenAt: collected.firstTokenAt,
    usage: usageOf(deps, modelTry, collected.finish.usage, collected.finish.providerRequestId),
  };
}

/**
 * Returns the content of a final answer. If it must be JSON and is not, or does not fit its schema, the model is asked once more; the second such answer of a
 * run ends the run (`output_invalid`).
 */
async function finalAnswer(
  deps: ActivityDeps,
  { opened }: ModelTry,
  { collected, json }: Pick<Answered, 'collected' | 'json'>,
): Promise<Pick<ModelStepResult, 'content' | 'followUp'>> {
  const { content, text, result } = collected;
  if (json === null) return { content, followUp: null };
  const judged = await judgeAnswer(deps.schemas.of(tenantOfActivity().organizationId), json, {
    args: result?.args ?? null,
    argsText: result?.argsText ?? '',
    text,
  });
  if (judged.kind === 'fits') {
    const others = content.filter((block) => block.type !== 'text' && block.type !== 'json');
    return { content: [...others, { type: 'json', value: judged.value }], followUp: null };
  }
  const wasAsked = opened.history.some((message) => message.isOwn && message.role === 'user' && message.origin === 'system');
  if (wasAsked) throw giveUp(fail('upstream_failed', { reason: 'output_invalid', detail: judged.told.slice(0, 500) }));
  const given: ContentBlock[] = result?.args ? [{ type: 'json', value: result.args }] : [];
  return { content: [...content, ...given], followUp: { messageId: newId(), text: repairRequest(judged.told) } };
}

/** `error`: the answer was not accepted, and the model is asked again. */
function planOf(stopReason: ModelStepResult['stopReason'], calls: readonly PlannedCall[]): CallModelResult {
  if (stopReason === 'tool_calls' || stopReason === 'error') return { outcome: 'calls', calls };
  if (stopReason === 'max_output' || stopReason === 'refused') return { outcome: stopReason };
  return { outcome: 'final' };
}

function toPlanned(call: CheckedCall): PlannedCall {
  return toPlannedCall({
    id: call.toolCallId,
    kind: call.kind,
    effect: call.effect,
    concurrency: call.concurrency,
    timeoutS: call.timeoutS,
    isIdempotent: call.isIdempotent,
    state: storedState(call),
    gate: call.gate,
    clientOwned: call.clientOwned,
  });
}
