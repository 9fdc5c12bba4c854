import type { EvaluationState } from '../../db/evaluations/work.ts';
import type { CallFacts, ClaimedResult } from '../../db/evaluations/write-work.ts';
import type { ResultEnd } from '../../db/evaluations/write-work.ts';
import { parsedJson } from '../../domain/evaluations/json-value.ts';
import type { ScoredAnswer } from '../../domain/evaluations/scored.ts';
import { beginScoring, endScoring } from '../../domain/evaluations/scoring.ts';
import { toScore, verdictOf, type EvaluatorOutcome } from '../../domain/evaluations/verdict.ts';
import { Failure } from '../../workflows/contracts/failure.ts';
import { readPassages } from '../../workflows/contracts/knowledge/passages.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAsSystem } from '../support/as-system.ts';
import { evaluate } from './evaluate.ts';
import { openVotesOf, settleLostVotes } from './lost-votes.ts';

/** A result that has been begun this often lost its worker each time: its scores become errors. */
const maxAttempts = 4;

/** Scores a waiting result and ends it, once, even when several workers try. Stored votes are not asked for again. */
export async function scoreResult(
  deps: ActivityDeps,
  { evaluation, resultId, signal }: { readonly evaluation: EvaluationState; readonly resultId: string; readonly signal: AbortSignal },
): Promise<void> {
  const result = await transactAsSystem(deps, (tx) => beginScoring(tx, resultId));
  if (result === null) return;
  await settleLostVotes(deps, evaluation, openVotesOf(result));
  const end = await endOf(deps, { evaluation, result, signal });
  await transactAsSystem(deps, (tx) => endScoring(tx, resultId, end));
}

interface Scored {
  readonly evaluation: EvaluationState;
  readonly result: ClaimedResult;
  readonly signal: AbortSignal;
}

async function endOf(deps: ActivityDeps, { evaluation, result, signal }: Scored): Promise<ResultEnd> {
  if (result.runId === null) return { status: 'error', score: null, reason: 'run_purged', scores: [] };
  const evaluators = evaluation.evaluators.filter(({ key }) => result.evaluatorKeys === null || result.evaluatorKeys.includes(key));
  const answer = answerOf(result);
  const outcomes: EvaluatorOutcome[] = [];
  for (const evaluator of evaluators) {
    if (result.attempts > maxAttempts) {
      outcomes.push({ kind: 'error', code: 'worker_lost', message: 'The worker that scored it was lost repeatedly.' });
      continue;
    }
    try {
      outcomes.push(await evaluate(deps, { evaluation, evaluator, result, answer, signal }));
    } catch (error) {
      if (error instanceof Failure && error.code === 'budget_exceeded')
        return { status: 'skipped', score: null, reason: 'budget_exceeded', scores: [] };
      throw error;
    }
  }
  const scores = evaluators.flatMap((evaluator, at) => {
    const outcome = outcomes[at];
    return outcome === undefined ? [] : [toScore(evaluator, outcome)];
  });
  return verdictOf(evaluators, scores);
}

const uuids = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g;

function answerOf(result: ClaimedResult): ScoredAnswer {
  const { outputText, outputJson, calls, passages } = result;
  const text = outputText ?? (outputJson === null ? '' : JSON.stringify(outputJson));
  return {
    text,
    json: outputJson ?? (outputText === null ? undefined : parsedJson(outputText)),
    expected: result.expected,
    toolsExpected: result.toolsExpected,
    calls: calls.map((call) => ({ tool: call.tool, arguments: call.arguments ?? {} })),
    citedItemIds: [...result.citedItemIds, ...(text.match(uuids) ?? [])],
    foundItemIds: [...passages, ...calls.map(textOf)].flatMap((found) => readPassages(found).map(({ head }) => head.item_id)),
    latencyMs: result.latencyMs,
    cost: result.cost,
    tokens: result.tokens,
    turns: result.turns,
  };
}

function textOf({ output }: CallFacts): string {
  return typeof output === 'string' ? output : JSON.stringify(output ?? '');
}
