import type { TokenBucket } from '../measurements.ts';

/** What the span of a run says once the run has ended. */
export interface EndedRun {
  readonly runId: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly agentId: string;
  readonly agentSlug: string;
  readonly revisionId: string;
  readonly conversationId: string;
  readonly source: string;
  readonly finishReason: string;
  /** Null: it did not fail. */
  readonly errorCode: string | null;
  /** Of its own calls, by disjoint bucket. */
  readonly tokens: Readonly<Record<TokenBucket, number>>;
  readonly startedAt: Date;
  readonly finishedAt: Date;
  /** The trace in which it was started, as text; null: none. */
  readonly trace: string | null;
}
