import { setTimeout as delay } from 'node:timers/promises';
import { evaluationCapKey } from '../../db/billing/budgets/cap-keys.ts';
import { EvaluatorError, type EvaluatorOutcome } from '../../domain/evaluations/verdict.ts';
import { parsedJson } from '../../domain/evaluations/json-value.ts';
import { notApplicable, passedIf, scored, type Scoring } from '../../domain/evaluations/scored.ts';
import { scorePlain } from '../../domain/evaluations/score-plain.ts';
import { embedTexts } from '../../domain/knowledge/items/embed-texts.ts';
import { EmbeddingError } from '../../ports/embeddings/index.ts';
import { createEvaluatorWork } from '../../ports/evaluations/evaluator-work.ts';
import { Failure } from '../../workflows/contracts/failure.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAsSystem } from '../support/as-system.ts';
import { judgeByRubric, judgePair, type Judging } from './judges.ts';

const tries = 3;

/**
 * Returns the outcome of one evaluator for one result. A failure inside it becomes its own error with a code. Throws 402 `budget_exceeded`, which ends the
 * evaluation, errors of the deployment itself, after which the result is scored again, and the signal's reason.
 */
export async function evaluate(deps: ActivityDeps, judging: Judging): Promise<EvaluatorOutcome> {
  try {
    return await retried(judging.signal, () => outcomeOf(deps, judging));
  } catch (error) {
    judging.signal.throwIfAborted();
    if (error instanceof EvaluatorError) return { kind: 'error', code: error.code, message: error.message };
    if (error instanceof EmbeddingError)
      return { kind: 'error', code: `embedding_${error.fault}`, message: 'The texts could not be embedded.' };
    if (error instanceof Failure && error.code !== 'budget_exceeded' && !error.retryable) {
      const { reason } = error.context;
      return { kind: 'error', code: typeof reason === 'string' ? reason : error.code, message: error.detail };
    }
    if (error instanceof Failure) throw error;
    deps.log.error({ err: error, evaluator: judging.evaluator.type }, 'evaluator failed');
    return { kind: 'error', code: 'evaluator_failed', message: 'The evaluator failed.' };
  }
}

/** Retries errors that may pass: an unavailable provider of vectors, a full pool of child processes. */
async function retried<R>(signal: AbortSignal, work: () => Promise<R>): Promise<R> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      const passes = error instanceof EmbeddingError ? error.isRetryable : error instanceof Failure && error.retryable;
      if (!passes || attempt === tries) throw error;
      const pauseS = error instanceof EmbeddingError || error instanceof Failure ? error.retryAfterS : null;
      await delay((pauseS ?? attempt) * 1_000, undefined, { signal });
    }
  }
}

async function outcomeOf(deps: ActivityDeps, judging: Judging): Promise<Scoring> {
  const { evaluator, answer, evaluation } = judging;
  const plain = scorePlain(evaluator, answer);
  if (plain !== null) return plain;
  switch (evaluator.type) {
    case 'regex':
      return matchPattern(deps, judging);
    case 'json_schema': {
      const json = answer.text === '' ? undefined : parsedJson(answer.text);
      if (json === undefined) return scored(0, 'The output is not valid JSON.');
      const { schema } = evaluator.params as { readonly schema: Readonly<Record<string, unknown>> }; // checked when the evaluation was created
      const problems = await deps.schemas.of(evaluation.organizationId).validate(schema, json);
      if (problems.some(({ rule }) => rule === 'schema')) throw new EvaluatorError('evaluator_limit', 'The schema could not be applied.');
      return passedIf(problems.length === 0, 'The output does not fit the schema.', { problems: problems.slice(0, 20) });
    }
    case 'embedding_similarity':
      return similarity(deps, judging);
    case 'llm_judge':
      return judgeByRubric(deps, judging);
    case 'pairwise':
      return judgePair(deps, judging);
    default:
      throw new Error(`nothing scores ${evaluator.type}`);
  }
}

async function matchPattern(deps: ActivityDeps, { evaluator, answer, evaluation }: Judging): Promise<Scoring> {
  const { pattern, flags } = evaluator.params as { readonly pattern: string; readonly flags: string }; // checked when the evaluation was created
  const found = await createEvaluatorWork(deps.work, deps.schemas, evaluation.organizationId).find(pattern, flags, answer.text);
  if (found === 'limit') throw new EvaluatorError('evaluator_limit', 'The pattern exceeded its time or memory limit.');
  if (found === 'unreadable') throw new EvaluatorError('pattern_unreadable', 'The pattern is invalid.');
  return passedIf(found === 'found', 'The pattern does not match the output.');
}

async function similarity(deps: ActivityDeps, { evaluator, answer, evaluation, result, signal }: Judging): Promise<Scoring> {
  if (answer.expected === null) return notApplicable('The item has no expected value.');
  const expected = typeof answer.expected === 'string' ? answer.expected : JSON.stringify(answer.expected);
  const { model } = evaluator.params as { readonly model: string | null }; // checked when the evaluation was created
  if (expected === answer.text) return scored(1);
  if (expected === '' || answer.text === '') return scored(0);
  const metering = {
    embedder: deps.embedder,
    transact: <R>(work: Parameters<typeof transactAsSystem<R>>[1]) => transactAsSystem(deps, work),
    currency: deps.env.billingCurrency,
    unpriced: deps.env.unpricedModel,
  };
  const [left, right] = await embedTexts(metering, {
    model: model ?? deps.embedder.defaultModel,
    kind: 'document',
    texts: [expected, answer.text],
    source: { kind: 'evaluation', id: evaluation.id },
    step: `${result.id}:${evaluator.key}:${result.attempts}`,
    caps: [evaluationCapKey(evaluation.id)],
    organizationId: evaluation.organizationId,
    workspaceId: evaluation.workspaceId,
    signal,
  });
  // Vectors have length 1.
  const cosine = [...(left ?? [])].reduce((sum, value, at) => sum + value * (right?.[at] ?? 0), 0);
  return scored(Math.max(0, cosine), null, { model: model ?? deps.embedder.defaultModel });
}
