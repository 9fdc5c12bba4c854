import { setTimeout as delay } from 'node:timers/promises';
import { evaluationCapKey } from '../../db/billing/budgets/cap-keys.ts';
import type { StoredVote } from '../../db/evaluations/evaluation-result.entity.ts';
import type { EvaluationState } from '../../db/evaluations/work.ts';
import type { ClaimedResult } from '../../db/evaluations/write-work.ts';
import { EvaluatorError } from '../../domain/evaluations/verdict.ts';
import type { JudgePrompt } from '../../domain/evaluations/judge-prompt.ts';
import { beginVote, endVote, keepVote } from '../../domain/evaluations/scoring.ts';
import { deadlineIn } from '../../ports/deadline.ts';
import { Failure } from '../../workflows/contracts/failure.ts';
import type { ActivityDeps } from '../deps.ts';
import { createJudge } from '../knowledge/judge-model.ts';

/** The vote to ask for. */
export interface VoteAsked {
  readonly evaluation: EvaluationState;
  readonly result: ClaimedResult;
  /** Names the vote within the result: it is stored under this name, and asked for once. */
  readonly name: string;
  readonly model: string;
  readonly prompt: JudgePrompt;
  readonly signal: AbortSignal;
}

const tries = 3;
const callMs = 120_000;
const maxRaw = 8_192;
const maxPauseS = 120;

/**
 * Returns a vote of a judge: the stored one, or a new one, which is stored in the transaction that bills it. A call has two minutes and three tries, with the
 * pause that its provider asks for. Throws an EvaluatorError for a judge that returns none, 402 `budget_exceeded`, and the signal's reason.
 */
export async function askVote(deps: ActivityDeps, asked: VoteAsked): Promise<StoredVote> {
  const stored = asked.result.votes[asked.name];
  if (stored !== undefined && 'value' in stored) return stored;
  let last = new EvaluatorError('judge_unavailable', 'The judge gave no answer.');
  for (let attempt = 1; attempt <= tries;) {
    asked.signal.throwIfAborted();
    try {
      const vote = await askOnce(deps, asked, attempt);
      if (vote !== null) return vote;
      last = new EvaluatorError('judge_off_schema', 'The answer of the judge does not have the required form.');
      attempt += 1;
    } catch (error) {
      asked.signal.throwIfAborted();
      last = faultOf(error);
      const pauseS = Math.min(maxPauseS, error instanceof Failure && error.retryAfterS !== null ? error.retryAfterS : attempt);
      if (!waitsForRoom(error)) attempt += 1;
      if (attempt <= tries) await delay(pauseS * 1_000, undefined, { signal: asked.signal });
    }
  }
  throw last;
}

/** Whether calls in flight hold the rest of the budget or of the model's limits: the judge has not been asked yet, and is asked once they have ended. */
function waitsForRoom(error: unknown): boolean {
  if (!(error instanceof Failure) || error.code !== 'rate_limited') return false;
  return error.context['reason'] === 'budget_reserved' || error.context['reason'] === 'model_limits';
}

/** Returns null when the answer has another form. Throws an EvaluatorError when the judge refuses. */
async function askOnce(deps: ActivityDeps, asked: VoteAsked, attempt: number): Promise<StoredVote | null> {
  const { evaluation, result, name, model, prompt, signal } = asked;
  let vote: StoredVote | null = null;
  let callKey = '';
  const { kind } = await createJudge(deps)({
    // A worker that takes over from a lost one makes calls of its own: each call that reached the provider is a row of the ledger.
    step: `${result.id}:${name}:${result.attempts}:${attempt}`,
    sourceKind: 'evaluation',
    runId: evaluation.id,
    organizationId: evaluation.organizationId,
    workspaceId: evaluation.workspaceId,
    caps: [evaluationCapKey(evaluation.id)],
    model,
    instructions: prompt.instructions,
    prompt: prompt.prompt,
    schema: prompt.schema,
    signal: AbortSignal.any([signal, deadlineIn(callMs)]),
    flight: {
      begin: (tx, bill) => {
        ({ callKey } = bill);
        return beginVote(tx, result, { name, bill });
      },
      end: (tx) => endVote(tx, result.id, { name, callKey }),
    },
    keep: async (tx, answer, raw) => {
      if (answer.kind !== 'fits') return;
      vote = { value: answer.value, raw: truncateBytes(raw) };
      await keepVote(tx, result.id, name, vote);
    },
  });
  if (kind === 'refused') throw new EvaluatorError('judge_refused', 'The judge refused to answer.');
  return kind === 'fits' ? vote : null;
}

/** Throws errors that end more than this score; returns those that may pass. */
function faultOf(error: unknown): EvaluatorError {
  if (error instanceof DOMException && error.name === 'TimeoutError')
    return new EvaluatorError('judge_timeout', 'The judge did not answer in time.');
  if (!(error instanceof Failure)) throw error;
  // The deployment itself is unavailable: that says nothing about the judge.
  if (error.code === 'budget_exceeded' || error.code === 'service_unavailable') throw error;
  if (error.code === 'upstream_timeout') return new EvaluatorError('judge_timeout', 'The judge did not answer in time.');
  const { reason } = error.context;
  if (!error.retryable) throw new EvaluatorError(typeof reason === 'string' ? reason : error.code, error.detail);
  return new EvaluatorError('judge_unavailable', error.detail);
}

function truncateBytes(text: string): string {
  const clean = text.toWellFormed().replaceAll('\u0000', '\uFFFD');
  return Buffer.byteLength(clean) <= maxRaw
    ? clean
    : Buffer.from(clean)
        .subarray(0, maxRaw)
        .toString('utf8')
        .replace(/\uFFFD$/, '');
}
