import type { Severity } from './review/code-review.ts';
import type { TerminalRunStatus } from './runs/runs.ts';

/**
 * What a transaction adds to the metrics of its process once it has committed, so that nothing is counted twice, or counted and then rolled back. Holds no id
 * and no text of a tenant.
 */
export type Measurement =
  | {
      readonly kind: 'run_ended';
      readonly status: TerminalRunStatus;
      readonly source: string;
      /** Seconds from its begin to its end without the time it waited; null when it never began. */
      readonly activeS: number | null;
    }
  | {
      readonly kind: 'first_frame';
      readonly source: string;
      /** Seconds from the moment the run could begin to the first frame of its model's answer. */
      readonly afterS: number;
    }
  | {
      readonly kind: 'usage';
      /** Id in the deployment's model registry. */
      readonly provider: string;
      /** Counts by disjoint bucket of the ledger. */
      readonly tokens: Readonly<Record<TokenBucket, number>>;
      /** Decimal string. */
      readonly cost: string;
      /** The part of the cost that was not held in a budget or cap before the call: decimal string. */
      readonly aboveEstimate: string;
      readonly currency: string;
    }
  | {
      readonly kind: 'search';
      readonly searcher: (typeof searchers)[number];
      readonly outcome: SearchOutcome;
      /** Seconds, with the vector of the query. */
      readonly afterS: number;
    }
  | {
      readonly kind: 'delivery';
      /** What a delivery to a webhook endpoint came to, as its row has it. */
      readonly status: string;
    }
  | {
      readonly kind: 'review_ended';
      readonly outcome: ReviewOutcome;
      /** New findings, and those that came back, by severity. */
      readonly findings: Readonly<Partial<Record<Severity, number>>>;
    }
  | { readonly kind: 'evaluation_ended'; readonly status: EvaluationOutcome; readonly results: number; readonly errors: number };

/** Who searches knowledge: a caller of the API, or a run. */
export const searchers = ['caller', 'run'] as const;
/** `degraded`: a leg did not cover a whole base. */
export const searchOutcomes = ['found', 'nothing', 'degraded', 'failed'] as const;
export type SearchOutcome = (typeof searchOutcomes)[number];

/** What a run of a review did: `skipped` for a pull request that it did not judge; `ask` and `fix` for commands in comments. */
export const reviewOutcomes = ['reviewed', 'skipped', 'ask', 'fix'] as const;
export type ReviewOutcome = (typeof reviewOutcomes)[number];
export const evaluationOutcomes = ['succeeded', 'failed', 'cancelled'] as const;
export type EvaluationOutcome = (typeof evaluationOutcomes)[number];

export const tokenBuckets = ['input', 'output', 'cached_read', 'cached_write', 'reasoning'] as const;
export type TokenBucket = (typeof tokenBuckets)[number];
