import { pricesInForce } from '../../db/billing/usage.ts';
import { newId } from '../../db/ids.ts';
import { openModelStep, readCallsMade, retryNoteOf, type OpenedStep, type StepClaim } from '../../db/runs/model-steps.ts';
import type { StoredCall } from '../../db/runs/planned-calls.ts';
import { identityOf } from '../../db/runs/run-state.ts';
import { storeModelStep, type CheckedCall, type ModelStepResult } from '../../db/runs/store-step.ts';
import type { AgentRunActivities, CallModelResult, PlannedCall } from '../../workflows/contracts/agent-run.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { ResolvedModel } from '../../ports/models.ts';
import type { ActivityDeps } from '../deps.ts';
import { inTenant } from '../runs/in-tenant.ts';
import { stopFrozen } from '../runs/stop-frozen.ts';
import { openAbort } from '../support/abort.ts';
import { fenced, giveUp, runCancelled, workerLost } from '../support/failures.ts';
import { whileAway } from '../support/while-away.ts';
import { buildRequest } from './build-request.ts';
import { checkCalls, collectStep, type CollectedStep } from './collect-step.ts';
import { onFailedTry } from './failed-try.ts';
import { usageOf, type ModelTry } from './model-try.ts';
import { streamModelStep } from './step.ts';
import { triesPerModel, triesWithError } from './tries.ts';

const mostLostTries = 3;
const limitCallMs = 29 * 60_000;

/** The activity of one model step: claims a try, streams it, stores message, calls and usage together. A later try returns what is stored. */
export function createModelActivities(deps: ActivityDeps): Pick<AgentRunActivities, 'callModel'> {
  return { callModel: (input) => callModel(deps, input) };
}

async function callModel(deps: ActivityDeps, { runId, step }: { runId: string; step: number }): Promise<CallModelResult> {
  const claimed = await claim(deps, runId, step);
  if (claimed.kind === 'frozen' && !(await stopFrozen(deps, runId))) return callModel(deps, { runId, step });
  if (claimed.kind === 'frozen' || claimed.kind === 'ended') throw runCancelled();
  if (claimed.kind === 'stored') return planOf(claimed.stopReason, claimed.calls.map(toPlannedCall));

  const { modelTry } = claimed;
  const { opened } = modelTry;
  const writer = deps.emitter.open({
    run: identityOf(opened.run),
    scope: `s${step}`,
    attempt: opened.attempt,
    retry: retryNoteOf(opened.retries),
  });
  const abort = openAbort({ runId, cancelBus: deps.cancelBus, signals: [writer.signal] });
  const timer = setTimeout(
    () => abort.abort('timeout', fail('upstream_timeout', { detail: 'The model took more than 29 minutes.' })),
    limitCallMs,
  );
  const messageId = newId();
  let collected: CollectedStep | null = null;
  try {
    const request = await buildRequest(deps.templates, opened, modelTry.model, abort.signal);
    collected = await collectStep(streamModelStep(deps, request), { writer, messageId, step, tools: opened.tools });
    const result = await toStepResult(deps, modelTry, messageId, collected);
    await whileAway(async () => {
      await writer.flush();
      await store(deps, result, (unit, frames) => writer.appendInside(unit, frames));
    });
    return planOf(result.stopReason, result.calls.map(toPlanned));
  } catch (error) {
    throw await onFailedTry(deps, { modelTry, abort, error, finished: collected?.finish ?? null });
  } finally {
    clearTimeout(timer);
    abort.close();
    writer.close();
  }
}

type ClaimedTry = Exclude<StepClaim, OpenedStep> | { readonly kind: 'try'; readonly modelTry: ModelTry };

function claim(deps: ActivityDeps, runId: string, step: number): Promise<ClaimedTry> {
  return inTenant(deps, runId, async (unit): Promise<ClaimedTry> => {
    const opened = await openModelStep(unit, { runId, step });
    if (opened.kind !== 'open') return opened;
    if (opened.retries.filter((retry) => retry.cause === 'worker_lost' && retry.error_code === null).length >= mostLostTries)
      throw workerLost();
    const model = modelOf(deps, opened);
    const prices = await pricesInForce(unit, model.id, deps.env.billingCurrency);
    return { kind: 'try', modelTry: { opened, step, model, prices, startedAt: new Date(), callsMade: await readCallsMade(unit, runId) } };
  });
}

/** The pinned model, or after its tries are used up the next fallback. */
function modelOf({ models }: ActivityDeps, opened: OpenedStep): ResolvedModel {
  const pinned = opened.run.manifest.models;
  const id = pinned[Math.min(Math.floor(triesWithError(opened.retries) / triesPerModel), pinned.length - 1)];
  const model = id === undefined ? null : models.resolve(id);
  if (!model)
    throw giveUp(
      fail('upstream_failed', { reason: 'model_unavailable', detail: 'The deployment does not have the model of this run any more.' }),
    );
  return model;
}

/** The transaction's refusals are said in the workflow's words; a fenced try ends silently, since its successor speaks. */
async function store(
  deps: ActivityDeps,
  result: ModelStepResult,
  append: (
    unit: Parameters<typeof storeModelStep>[0],
    frames: Parameters<Parameters<typeof storeModelStep>[2]>[0],
  ) => Promise<{ result: string }>,
): Promise<void> {
  const stored = await inTenant(deps, result.runId, (unit) =>
    storeModelStep(unit, result, async (frames) => {
      const answer = await append(unit, frames);
      if (answer.result === 'ended') throw runCancelled();
      if (answer.result !== 'ok') throw fenced();
    }),
  );
  if (stored === 'ended') throw runCancelled();
  if (stored === 'fenced') throw fenced();
}

async function toStepResult(deps: ActivityDeps, modelTry: ModelTry, messageId: string, collected: CollectedStep): Promise<ModelStepResult> {
  const { opened, step, model } = modelTry;
  const calls = await checkCalls(collected, deps.schemas, { maxToolCalls: opened.run.manifest.max_tool_calls, made: modelTry.callsMade });
  const { stopReason } = collected.finish;
  return {
    runId: opened.run.id,
    step,
    attempt: opened.attempt,
    messageId,
    model: model.id,
    stopReason: calls.length > 0 ? 'tool_calls' : stopReason === 'tool_calls' ? 'stop' : stopReason,
    content: collected.content,
    providerState: collected.finish.providerState,
    calls,
    firstTokenAt: collected.firstTokenAt,
    usage: usageOf(deps, modelTry, collected.finish.usage, collected.finish.providerRequestId),
  };
}

function planOf(stopReason: ModelStepResult['stopReason'], calls: readonly PlannedCall[]): CallModelResult {
  if (stopReason === 'tool_calls') return { outcome: 'calls', calls };
  if (stopReason === 'max_output' || stopReason === 'refused') return { outcome: stopReason };
  return { outcome: 'final' };
}

function toPlanned(call: CheckedCall): PlannedCall {
  return {
    toolCallId: call.toolCallId,
    effect: call.effect,
    concurrency: call.concurrency,
    timeoutS: call.timeoutS,
    isRepeatable: call.effect === 'read' || call.isIdempotent,
    isSettled: call.refusal !== null,
  };
}

function toPlannedCall(call: StoredCall): PlannedCall {
  const isSettled = call.state !== 'recorded' && call.state !== 'ready' && call.state !== 'executing' && call.state !== 'gated';
  return {
    toolCallId: call.id,
    effect: call.effect,
    concurrency: call.concurrency,
    timeoutS: call.timeout_s,
    isRepeatable: call.effect === 'read' || call.is_idempotent,
    isSettled,
  };
}
