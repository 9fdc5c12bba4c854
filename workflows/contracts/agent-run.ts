import type { ErrorCode } from './error-codes.ts';
import type { FinishReason } from './runs.ts';

/** Input of the workflow `agentRun`. `step` is set by continue-as-new only: the step to go on with (all else stands in rows). */
export interface AgentRunInput {
  readonly runId: string;
  readonly step?: number;
}

/** Activities of one run, by the names under which histories record them: never rename. */
export interface AgentRunActivities {
  beginRun(input: { runId: string }): Promise<BeginRunResult>;
  callModel(input: { runId: string; step: number }): Promise<CallModelResult>;
  runTool(input: RunToolInput): Promise<void>;
  settleTool(input: SettleToolInput): Promise<SettleToolResult>;
  finishRun(input: FinishRunInput): Promise<FinishRunResult>;
}

/** `done` when the run is terminal already; else what the loop needs to decide, all from the pinned manifest. */
export type BeginRunResult =
  | { readonly done: true }
  | { readonly done: false; readonly maxSteps: number; readonly remainingMs: number; readonly cancelRequested: boolean };

export type CallModelResult =
  | { readonly outcome: 'final' | 'refused' | 'max_output' }
  | { readonly outcome: 'calls'; readonly calls: readonly PlannedCall[] };

/** One tool call as the workflow sees it: enough to order it and to bound it, no arguments. */
export interface PlannedCall {
  readonly toolCallId: string;
  readonly effect: 'read' | 'write';
  /** What may run beside it; the effect's own when absent. */
  readonly concurrency?: 'read' | 'write' | 'exclusive';
  readonly timeoutS: number;
  /** A read or idempotent call may be executed again; any other write is attempted once. */
  readonly isRepeatable: boolean;
  /** Already ended while the model step was stored (unknown tool, invalid arguments): nothing to execute. */
  readonly isSettled: boolean;
}

export interface RunToolInput {
  readonly runId: string;
  readonly toolCallId: string;
}

export interface SettleToolInput extends RunToolInput {
  readonly cause: 'timeout' | 'lost' | 'cancelled';
}

/** `again` when the call was never claimed and may be run anew. */
export interface SettleToolResult {
  readonly again: boolean;
}

export interface FinishRunInput {
  readonly runId: string;
  readonly reason: FinishReason;
  readonly error?: { readonly code: ErrorCode; readonly message: string; readonly reason?: string };
}

/** `more` when unread input came in and the run takes another step instead of succeeding. */
export interface FinishRunResult {
  readonly more: boolean;
}

/** Signals only wake the workflow; what they announce stands in rows. */
export const agentRunSignals = { inputAdded: 'inputAdded' } as const;

/** Failure types that activities throw and the workflow classifies, beside the 38 codes. */
export const activityFailureTypes = {
  /** Three tries in a row left neither result nor error: the run costs its workers their lives. */
  workerLost: 'worker_lost',
  /** The worker stops; the next attempt goes on elsewhere and this one doesn't count. */
  shutdown: 'worker_shutdown',
  /** The activity found its run cancelling or ended. */
  cancelled: 'run_cancelled',
} as const;

/** Second argument of such a failure, its only detail. */
export interface ActivityFailureDetails {
  readonly reason?: string;
  /** Ends the run with this reason instead of `error`. */
  readonly finishReason?: FinishReason;
}
