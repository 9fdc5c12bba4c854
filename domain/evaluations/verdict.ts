import type { NewScore, ResultEnd } from '../../db/evaluations/write-work.ts';
import { newId } from '../../db/ids.ts';
import type { StoredEvaluator } from '../../workflows/contracts/evaluations.ts';
import type { Scoring } from './scored.ts';

/** The result of an evaluator, or the code of the error that prevented it. */
export type EvaluatorOutcome = Scoring | { readonly kind: 'error'; readonly code: string; readonly message: string };

const maxReason = 2_000;
/** The most bytes of details. Those of judges are bounded before. */
const maxDetailsBytes = 65_536;

/** The stored score of an evaluator: six decimals, inverted if negated, judged by its threshold. */
export function toScore({ key, negate, threshold }: StoredEvaluator, outcome: EvaluatorOutcome): NewScore {
  const place = { id: newId(), key };
  if (outcome.kind === 'error')
    return { ...place, state: 'error', score: null, passed: null, reason: cut(outcome.message), errorCode: outcome.code, details: {} };
  if (outcome.kind === 'skipped')
    return { ...place, state: 'skipped', score: null, passed: null, reason: cut(outcome.reason), errorCode: null, details: {} };
  const bounded = Math.min(1, Math.max(0, outcome.score));
  const score = Number((negate ? 1 - bounded : bounded).toFixed(6));
  const { details = {} } = outcome;
  const isShort = Buffer.byteLength(JSON.stringify(details)) <= maxDetailsBytes;
  return {
    ...place,
    state: 'done',
    score,
    passed: score >= threshold,
    reason: cut(outcome.reason),
    errorCode: null,
    details: isShort ? details : {},
  };
}

/**
 * The outcome of a result by its scores: error if an evaluator failed, skipped if none applied, passed if all that applied passed. Its score is their weighted
 * mean; if all weights are 0 they count equally.
 */
export function verdictOf(evaluators: readonly StoredEvaluator[], scores: readonly NewScore[]): ResultEnd {
  const failed = scores.find(({ state }) => state === 'error');
  if (failed) return { status: 'error', score: null, reason: failed.errorCode, scores };
  const done = scores.filter(({ state }) => state === 'done');
  if (done.length === 0) return { status: 'skipped', score: null, reason: 'no_evaluator_applied', scores };
  const score = weightedMean(done.map((one) => [one.score ?? 0, evaluators.find(({ key }) => key === one.key)?.weight ?? 1]));
  return { status: done.every(({ passed }) => passed) ? 'passed' : 'failed', score: Number(score.toFixed(6)), reason: null, scores };
}

function weightedMean(values: readonly (readonly [value: number, weight: number])[]): number {
  const total = values.reduce((sum, [, weight]) => sum + weight, 0);
  if (total === 0) return values.reduce((sum, [value]) => sum + value, 0) / values.length;
  return values.reduce((sum, [value, weight]) => sum + value * weight, 0) / total;
}

function cut(reason: string | null): string | null {
  return reason === null ? null : reason.slice(0, maxReason).toWellFormed().replaceAll('\u0000', '\uFFFD');
}

/** An evaluator could not compute a score; `code` says why. It makes only that evaluator's score an error. */
export class EvaluatorError extends Error {
  override readonly name = 'EvaluatorError';
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}
