import { readBaselineOutput, type EvaluationState } from '../../db/evaluations/work.ts';
import type { ClaimedResult } from '../../db/evaluations/write-work.ts';
import { EvaluatorError } from '../../domain/evaluations/verdict.ts';
import { preferencePrompt, scorePrompt, shownText, type JudgedPart, type JudgePrompt } from '../../domain/evaluations/judge-prompt.ts';
import { notApplicable, scored, type ScoredAnswer, type Scoring } from '../../domain/evaluations/scored.ts';
import type { StoredEvaluator } from '../../workflows/contracts/evaluations.ts';
import type { ActivityDeps } from '../deps.ts';
import { readAsSystem } from '../support/as-system.ts';
import { askVote } from './ask-judge.ts';

/** One result that is judged. */
export interface Judging {
  readonly evaluation: EvaluationState;
  readonly evaluator: StoredEvaluator;
  readonly result: ClaimedResult;
  readonly answer: ScoredAnswer;
  readonly signal: AbortSignal;
}

interface JudgeParams {
  readonly rubric: string;
  readonly model: string | null;
  readonly scale: { readonly min: number; readonly max: number };
  readonly votes: number;
  readonly include: readonly ('input' | 'expected' | 'context' | 'trajectory')[];
}

/** Asks a model for several scores by a rubric; the median counts, scaled to 0 to 1. Throws as `askVote` does. */
export async function judgeByRubric(deps: ActivityDeps, { evaluation, evaluator, result, answer, signal }: Judging): Promise<Scoring> {
  const { rubric, model: named, scale, votes, include } = evaluator.params as unknown as JudgeParams; // checked when the evaluation was created
  const model = judgeModel(deps, named);
  const prompt = scorePrompt(rubric, scale, [...include.flatMap((part) => partOf(part, result, answer)), ['output', answer.text]]);
  const given: { readonly score: number; readonly reasoning: string; readonly raw: string }[] = [];
  for (let vote = 1; vote <= votes; vote += 1) {
    const { value, raw } = await askVote(deps, { evaluation, result, name: `${evaluator.key}:${vote}`, model, prompt, signal });
    const { score, reasoning } = value as { readonly score: number; readonly reasoning: string }; // it fits the schema of the question
    given.push({ score, reasoning: reasoning.slice(0, 2_000), raw });
  }
  const median = given.map(({ score }) => score).toSorted((left, right) => left - right)[Math.floor(given.length / 2)] ?? scale.min;
  const reason = given.find(({ score }) => score === median)?.reasoning ?? null;
  return scored((median - scale.min) / (scale.max - scale.min), reason, detailsOf(model, prompt, given));
}

/**
 * Asks a model in both orders which output is better, this one or the baseline's: preferred twice is 1, rejected twice 0, anything else 0.5. Equal outputs are
 * 0.5 without a question. Throws as `askVote` does.
 */
export async function judgePair(deps: ActivityDeps, { evaluation, evaluator, result, answer, signal }: Judging): Promise<Scoring> {
  const { rubric, model: named } = evaluator.params as unknown as Pick<JudgeParams, 'rubric' | 'model'>; // checked when the evaluation was created
  const { baselineId } = evaluation;
  const base = baselineId === null ? null : await readAsSystem(deps, (tx) => readBaselineOutput(tx, baselineId, result));
  if (base === null) return notApplicable('The baseline has no answer to the same question.');
  const other = base.text ?? (base.json === null ? '' : JSON.stringify(base.json));
  if (other === answer.text) return scored(0.5, 'Both outputs are identical.');

  const model = judgeModel(deps, named);
  const input = partOf('input', result, answer);
  const orders = [
    [answer.text, other],
    [other, answer.text],
  ] as const;
  const preferred: string[] = [];
  const given: { readonly preferred: string; readonly reasoning: string; readonly raw: string }[] = [];
  let lastPrompt: JudgePrompt | null = null;
  for (const [at, [first, second]] of orders.entries()) {
    const prompt = preferencePrompt(rubric, [...input, ['first', first], ['second', second]]);
    const { value, raw } = await askVote(deps, { evaluation, result, name: `${evaluator.key}:${at + 1}`, model, prompt, signal });
    const vote = value as { readonly preferred: 'first' | 'second' | 'tie'; readonly reasoning: string }; // it fits the schema of the question
    preferred.push(vote.preferred === 'tie' ? 'tie' : (vote.preferred === 'first') === (at === 0) ? 'own' : 'base');
    given.push({ preferred: vote.preferred, reasoning: vote.reasoning.slice(0, 2_000), raw });
    lastPrompt = prompt;
  }
  const score = preferred.every((side) => side === 'own') ? 1 : preferred.every((side) => side === 'base') ? 0 : 0.5;
  return scored(score, given[0]?.reasoning ?? null, detailsOf(model, lastPrompt, given));
}

function detailsOf(model: string, prompt: JudgePrompt | null, votes: readonly object[]) {
  return { model, prompt_sha256: prompt?.sha256 ?? null, votes };
}

function judgeModel(deps: ActivityDeps, named: string | null): string {
  const model = deps.models.resolve(named);
  if (model === null) throw new EvaluatorError('model_unavailable', 'This deployment no longer has the model of this judge.');
  return model.id;
}

function partOf(part: JudgeParams['include'][number], result: ClaimedResult, answer: ScoredAnswer): JudgedPart[] {
  switch (part) {
    case 'input':
      return [['input', shownText(result.input)]];
    case 'expected':
      return result.expected === null ? [] : [['expected', shownText(result.expected)]];
    case 'context':
      return result.context === null ? [] : [['context', shownText(result.context)]];
    case 'trajectory':
      return [['trajectory', answer.calls.map((call) => `${call.tool} ${JSON.stringify(call.arguments)}`).join('\n')]];
    default:
      return part satisfies never;
  }
}
