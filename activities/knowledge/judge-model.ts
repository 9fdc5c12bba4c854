import { createHash } from 'node:crypto';
import { callKey } from '../../db/billing/ledger/call-key.ts';
import { openMeteredCall, type MeteredCall } from '../../domain/billing/metered-call.ts';
import { settleJudgement } from '../../domain/knowledge/upkeep/settle-judgement.ts';
import type { Judge, JudgeQuestion, Judgement } from '../../domain/knowledge/upkeep/judge.ts';
import type { ResolvedModel } from '../../ports/models/models.ts';
import type { Permit } from '../../ports/models/permits/permits.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { ActivityDeps } from '../deps.ts';
import { ModelAborted, ModelError } from '../model/errors/model-error.ts';
import { estimateCost } from '../model/prompt/estimate.ts';
import { formatNotice, jsonAnswerOf, judgeAnswer, resultToolOf, type JsonAnswer } from '../model/prompt/json-answer.ts';
import { measureCall } from '../model/usage/measure-call.ts';
import { permitDelayMs, takePermit } from '../model/usage/permits.ts';
import { defaultModelSettings } from '../model/prompt/prompt.ts';
import { streamModelStep, type ModelFinish, type ModelStepRequest } from '../model/step.ts';
import { countPrompt, ledgerTokens, type TokenUsage } from '../model/usage/usage.ts';
import { transactAsSystem } from '../support/as-system.ts';

/** Maximum tokens of a judge's answer. */
const maxOutputTokens = 2_000;
const maxPermitWaitMs = 20_000;

/** A judge that asks the chat models of the registry: each call passes the budget check and is settled once under the key of its question. */
export function createJudge(deps: ActivityDeps): Judge {
  return async (question) => {
    const model = deps.models.resolve(question.model);
    if (model === null)
      throw fail('validation_failed', { reason: 'unknown_model', detail: `This deployment has no model ${question.model}.` });
    const request = requestOf(model, question);
    const key = callKey(
      question.sourceKind ?? 'maintenance',
      question.runId,
      0,
      1,
      createHash('sha256').update(question.step).digest('hex').slice(0, 32),
    );
    const permit = model.limits === null ? null : await permitOf(deps, question, request);
    const metered = await openMeteredCall(
      {
        transact: (work) => transactAsSystem(deps, work),
        currency: deps.env.billingCurrency,
        unpriced: deps.env.unpricedModel,
        signal: question.signal,
      },
      {
        callKey: key,
        organizationId: question.organizationId,
        workspaceId: question.workspaceId,
        ...(question.caps ? { caps: question.caps } : {}),
        model: { id: model.id, free: model.isFree },
        estimate: (prices) => estimateCost(request, prices),
      },
    ).catch((error: unknown) => {
      permit?.giveBack();
      throw error;
    });
    return ask(deps, { question, model, request, permit, metered, key }).finally(() => permit?.giveBack());
  };
}

/** Waits for a permit. Throws 429, as for a budget that calls in flight hold, when there is none in time. */
async function permitOf(deps: ActivityDeps, { workspaceId, signal }: JudgeQuestion, request: ModelStepRequest): Promise<Permit> {
  const permit = await takePermit(deps, { request, workspaceId, signal, maxWaitMs: maxPermitWaitMs });
  if (permit !== null) return permit;
  throw fail('rate_limited', {
    reason: 'model_limits',
    retryAfterS: Math.ceil(permitDelayMs(deps, request.model.provider) / 1_000),
    detail: 'Calls in flight use up the limits of the model.',
  });
}

function requestOf(model: ResolvedModel, { instructions, prompt, schema, signal }: JudgeQuestion): ModelStepRequest {
  const json = jsonAnswerOf(model, { type: 'json', name: 'judgement', schema, strict: true });
  const tool = resultToolOf(json);
  return {
    model,
    instructions: [instructions, formatNotice(json)].filter((part) => part !== '').join('\n\n'),
    messages: [{ role: 'user', content: [{ type: 'text', text: prompt }] }],
    tools: tool === null ? [] : [tool],
    settings: defaultModelSettings,
    maxOutputTokens,
    json,
    signal,
  };
}

interface Asked {
  readonly question: JudgeQuestion;
  readonly model: ResolvedModel;
  readonly request: ModelStepRequest;
  readonly permit: Permit | null;
  readonly metered: MeteredCall;
  readonly key: string;
}

async function ask(deps: ActivityDeps, asked: Asked): Promise<Judgement> {
  const { question, request, permit, metered } = asked;
  try {
    await announce(deps, asked);
    const { finish, given } = await measureCall(deps, {
      request,
      permit,
      call: () => collect(deps, request),
      said: (answered) => [{ type: 'text', content: rawOf(answered.given) }],
    });
    const spent = { usage: finish.usage, providerRequestId: finish.providerRequestId, raw: rawOf(given) };
    const answer = await checked(deps, asked, given).catch(async (error: unknown) => {
      await settle(deps, asked, { ...spent, answer: null }); // the call was made, whatever happens to its answer
      throw error;
    });
    await settle(deps, asked, { ...spent, answer });
    return answer;
  } catch (error) {
    if (error instanceof ModelAborted) {
      await settle(deps, asked, { usage: error.usage, providerRequestId: null, raw: '', answer: null });
      question.signal.throwIfAborted();
      throw fail('upstream_failed', { detail: 'The judge model was interrupted.' });
    }
    if (!(error instanceof ModelError)) throw error;
    if (error.usage === null) await giveBack(deps, asked);
    else await settle(deps, asked, { usage: error.usage, providerRequestId: error.providerRequestId, raw: '', answer: null });
    if (error.retryable)
      throw fail(error.class === 'StreamIdle' ? 'upstream_timeout' : 'upstream_failed', {
        detail: error.message,
        ...(error.retryAfterMs === null ? {} : { retryAfterS: Math.ceil(error.retryAfterMs / 1_000) }),
      });
    throw fail('validation_failed', { reason: 'judge_refused', detail: error.message });
  } finally {
    metered.close();
  }
}

/** Records that the call leaves now. A call that could not be announced, or is not wanted any more, releases its hold and does not leave. */
async function announce(deps: ActivityDeps, { question, model, request, metered, key }: Asked): Promise<void> {
  const { flight, signal } = question;
  try {
    const bill = {
      callKey: key,
      model: model.id,
      provider: model.provider,
      isFree: model.isFree,
      inputTokens: countPrompt(request),
      currency: deps.env.billingCurrency,
      reservedAt: metered.reservedAt.toISOString(),
      prices: metered.prices,
    };
    if (flight) await transactAsSystem(deps, (tx) => flight.begin(tx, bill));
    signal.throwIfAborted();
  } catch (error) {
    await giveBack(deps, { question, metered });
    throw error;
  }
}

/** The call has cost nothing. */
async function giveBack(deps: ActivityDeps, { question: { flight }, metered }: Pick<Asked, 'question' | 'metered'>): Promise<void> {
  if (flight) await transactAsSystem(deps, (tx) => flight.end(tx));
  await metered.release();
}

async function checked(deps: ActivityDeps, { question, request }: Asked, given: GivenAnswer): Promise<Judgement> {
  if (given.isRefused) return { kind: 'refused' };
  const form: JsonAnswer = request.json ?? { mode: 'prompt', schema: question.schema, name: 'judgement', strict: true };
  const judged = await judgeAnswer(deps.schemas.of(question.organizationId), form, given);
  return judged.kind === 'fits' ? judged : { kind: 'off_schema' };
}

/** The text of an answer and the arguments of its result tool. */
interface GivenAnswer {
  readonly args: unknown;
  readonly argsText: string;
  readonly text: string;
  /** The model refused, whatever its provider calls that finish reason. */
  readonly isRefused: boolean;
}

/** Returns an answer as it arrived: the arguments of the result tool, otherwise its text. */
function rawOf({ argsText, text }: GivenAnswer): string {
  return argsText === '' ? text : argsText;
}

async function collect(deps: ActivityDeps, request: ModelStepRequest): Promise<{ finish: ModelFinish; given: GivenAnswer }> {
  const given = { args: null as unknown, argsText: '', text: '', isRefused: false };
  for await (const event of streamModelStep(deps, request)) {
    if (event.type === 'text') given.text += event.delta;
    if (event.type === 'refusal') given.isRefused = true;
    if (event.type === 'tool_call') Object.assign(given, { args: event.args, argsText: event.argsText });
    if (event.type !== 'finish') continue;
    given.isRefused ||= event.stopReason === 'refused';
    return { finish: event, given };
  }
  throw new Error('the model step ended without its finish');
}

interface Spent {
  readonly usage: TokenUsage;
  readonly providerRequestId: string | null;
  readonly answer: Judgement | null;
  readonly raw: string;
}

function settle(
  deps: ActivityDeps,
  { question, model, metered, key }: Asked,
  { usage, providerRequestId, answer, raw }: Spent,
): Promise<void> {
  return transactAsSystem(deps, (tx) =>
    settleJudgement(tx, {
      callKey: key,
      question,
      model,
      providerRequestId,
      tokens: ledgerTokens(usage),
      estimated: usage.estimated,
      currency: deps.env.billingCurrency,
      metered,
      answer,
      raw,
    }),
  );
}
