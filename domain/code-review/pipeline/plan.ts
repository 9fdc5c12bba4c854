import type { CommentText } from './comment-text.ts';
import type { Conclusion } from './conclude.ts';
import type { Annotation, CheckConclusion } from './verdict.ts';

/** Everything that is posted of a review, stored before the first post, so that a repeated post sends the same. */
export interface PlannedReview {
  readonly kind: 'review';
  readonly headSha: string;
  readonly baseSha: string | null;
  readonly mergeBaseSha: string | null;
  readonly baseRef: string;
  readonly conclusion: Conclusion;
  readonly comments: readonly CommentText[];
  /** In Markdown, without markers; empty: the binding wants none. */
  readonly summary: string;
  /** `REQUEST_CHANGES` only when the binding says so and no person has dismissed such a review. */
  readonly event: 'COMMENT' | 'REQUEST_CHANGES';
  readonly check: {
    readonly conclusion: CheckConclusion;
    readonly title: string;
    readonly summary: string;
    readonly annotations: readonly Annotation[];
  };
}

/** The post of an ask: a reply. */
export interface PlannedReply {
  readonly kind: 'ask';
  readonly headSha: string;
  readonly text: string;
}

/** The result of a fix. */
export interface PlannedFix {
  readonly kind: 'fix';
  readonly headSha: string;
  readonly text: string;
  readonly commitSha: string | null;
  readonly branch: string | null;
}

export type ReviewPlan = PlannedReview | PlannedReply | PlannedFix;

/** The key of a run's plan among its answers. */
export const planAnswer = { stage: 'plan', ordinal: 0 } as const;
