import type { ReviewVerdict, Severity, SkipReason } from '../../../workflows/contracts/review/code-review.ts';
import { titleOf } from './comment-text.ts';
import type { PlacedFinding } from './finding.ts';
import { rankOf } from './gates.ts';

/** The facts of a review's outcome. */
export interface ReviewEnd {
  readonly skipReason: SkipReason | null;
  /** Limits, a budget or a model that failed left files unread or findings unjudged. */
  readonly isPartial: boolean;
  readonly openSeverities: readonly Severity[];
}

/** The verdict; skipped takes precedence over partial, partial over findings, findings over clean. */
export function verdictOf({ skipReason, isPartial, openSeverities }: ReviewEnd): ReviewVerdict {
  if (skipReason !== null) return 'skipped';
  if (isPartial) return 'partial';
  return openSeverities.length > 0 ? 'findings' : 'clean';
}

export type CheckConclusion = 'success' | 'neutral' | 'failure' | 'cancelled';

/**
 * The conclusion of the check. It fails only when the binding requests changes and a finding has at least the playbook's blocking severity; unread files
 * prevent success.
 */
export function checkConclusion(end: ReviewEnd, rules: { readonly requestChanges: boolean; readonly blockMin: Severity }): CheckConclusion {
  if (end.skipReason !== null) return 'neutral';
  if (blocks(end.openSeverities, rules)) return 'failure';
  return end.openSeverities.length === 0 && !end.isPartial ? 'success' : 'neutral';
}

/** Whether the review requests changes; the caller omits that when a person has dismissed such a review. */
export function blocks(
  open: readonly Severity[],
  { requestChanges, blockMin }: { readonly requestChanges: boolean; readonly blockMin: Severity },
): boolean {
  return requestChanges && open.some((severity) => rankOf(severity) <= rankOf(blockMin));
}

/** An annotation of a check (GitHub REST API, "Update a check run", `output.annotations`). */
export interface Annotation {
  readonly path: string;
  readonly start_line: number;
  readonly end_line: number;
  readonly annotation_level: 'notice' | 'warning' | 'failure';
  readonly title: string;
  readonly message: string;
}

const maxTitle = 255;
const maxMessage = 60_000;

/** Annotations of findings on lines of the new side: the host shows no others. */
export function annotationsOf(findings: readonly PlacedFinding[]): Annotation[] {
  return findings.flatMap((finding): Annotation[] => {
    const { anchor, path, severity, scenario } = finding;
    if (anchor === null || anchor.side === 'LEFT') return [];
    return [
      {
        path,
        start_line: anchor.startLine,
        end_line: anchor.line,
        annotation_level: rankOf(severity) <= rankOf('high') ? 'failure' : rankOf(severity) <= rankOf('medium') ? 'warning' : 'notice',
        title: titleOf(finding).slice(0, maxTitle).toWellFormed(),
        message: scenario.slice(0, maxMessage).toWellFormed(),
      },
    ];
  });
}
