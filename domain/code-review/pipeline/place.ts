import type { Severity } from '../../../workflows/contracts/review/code-review.ts';
import type { Candidate, PlacedFinding } from './finding.ts';
import { rankOf } from './gates.ts';
import { byWeight } from './merge.ts';

export interface PlacementRules {
  /** The most comments on lines and files together. */
  readonly maxComments: number;
  /** Less severe findings are reported in the summary. */
  readonly inlineMin: Severity;
  /** Whether the host accepts a comment on these lines, by our own reading of the diff that is posted on. */
  readonly isCommentable: (finding: Candidate) => boolean;
}

/**
 * Ranks findings by severity times confidence and decides where each is posted: on its lines while the limit allows; on its file when it has no lines and is
 * severe; else in the summary.
 */
export function placeFindings(candidates: readonly Candidate[], rules: PlacementRules): PlacedFinding[] {
  let left = rules.maxComments;
  return candidates.toSorted(byWeight).map((candidate) => {
    const placement = left > 0 ? placementOf(candidate, rules) : 'summary';
    if (placement !== 'summary') left -= 1;
    return { ...candidate, placement };
  });
}

function placementOf(candidate: Candidate, { inlineMin, isCommentable }: PlacementRules): 'inline' | 'file' | 'summary' {
  if (rankOf(candidate.severity) > rankOf(inlineMin)) return 'summary';
  if (candidate.anchor !== null) return isCommentable(candidate) ? 'inline' : 'summary';
  return rankOf(candidate.severity) <= rankOf('high') ? 'file' : 'summary';
}
