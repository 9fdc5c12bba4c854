import type { StoredEvaluator } from '../../workflows/contracts/evaluations.ts';
import { contains, exactMatch, jsonDiff, levenshtein, numericDiff, type Contains, type ExactMatch, type JsonDiff } from './score-output.ts';
import { bounded, citations, toolTrajectory, type ToolTrajectory } from './score-trajectory.ts';
import type { ScoredAnswer, Scoring } from './scored.ts';

/** The score of an evaluator that needs neither a model nor a child process; null: it needs one of them. */
export function scorePlain({ type, params }: Pick<StoredEvaluator, 'type' | 'params'>, answer: ScoredAnswer): Scoring | null {
  // Parameters were checked against the schema of their type when the evaluation was created, and filled in.
  const given = params as unknown;
  switch (type) {
    case 'exact_match':
      return exactMatch(given as ExactMatch, answer);
    case 'contains':
    case 'contains_any':
    case 'contains_all':
    case 'not_contains':
      return contains(type, given as Contains, answer);
    case 'json_diff':
      return jsonDiff(given as JsonDiff, answer);
    case 'levenshtein':
      return levenshtein(answer);
    case 'numeric_diff':
      return numericDiff((given as { readonly pointer: string | null }).pointer, answer);
    case 'tool_trajectory':
      return toolTrajectory(given as ToolTrajectory, answer);
    case 'citations':
      return citations((given as { readonly min_count: number }).min_count, answer);
    case 'latency':
    case 'cost':
    case 'tokens':
    case 'turns':
      return bounded(type, (given as { readonly max: number }).max, answer);
    case 'regex':
    case 'json_schema':
    case 'embedding_similarity':
    case 'llm_judge':
    case 'pairwise':
      return null;
    default:
      return type satisfies never;
  }
}
