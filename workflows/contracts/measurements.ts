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
    };

export const tokenBuckets = ['input', 'output', 'cached_read', 'cached_write', 'reasoning'] as const;
export type TokenBucket = (typeof tokenBuckets)[number];
