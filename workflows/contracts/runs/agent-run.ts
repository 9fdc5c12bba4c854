import type { ErrorCode } from '../error-codes.ts';
import type { FinishReason } from './runs.ts';

/**
 * Input of the workflow `agentRun`. `step` is set where a run goes on in another execution: the step to take up (all else stands in rows). `wait`:
 * where the run itself waited before that step, and its workflow was lost.
 */
export interface AgentRunInput {
  readonly runId: string;
  readonly step?: number;
  readonly wait?: StepWait;
}

/** Activities of one run, by the names under which histories record them: never rename. */
export interface AgentRunActivities {
  beginRun(input: { runId: string }): Promise<BeginRunResult>;
  callModel(input: { runId: string; step: number }): Promise<CallModelResult>;
  /** Puts the questions of a step to people and opens its clients' calls; or opens a wait of the run itself. Repeatable. */
  openGates(input: GatesInput): Promise<CallApprovalState>;
  /** Judges what has been answered, and what has expired, since. Repeatable. */
  settleGates(input: GatesInput): Promise<CallApprovalState>;
  /** Makes the run of a delegate call, or ends the call when there may be none. */
  openChild(input: RunToolInput): Promise<OpenChildResult>;
  /** Null in histories of before there were gates. */
  runTool(input: RunToolInput): Promise<RunToolResult | null | void>;
  settleTool(input: SettleToolInput): Promise<SettleToolResult>;
  finishRun(input: FinishRunInput): Promise<FinishRunResult>;
}

/** `done` when the run is terminal already; else what the loop needs to decide, all from the pinned manifest. */
export type BeginRunResult =
  | { readonly done: true }
  | {
      readonly done: false;
      readonly maxSteps: number;
      readonly remainingMs: number;
      readonly cancelRequested: boolean;
      /** Its time stands still now; absent: no. */
      readonly isWaiting?: boolean;
    };

export type CallModelResult =
  | { readonly outcome: 'final' | 'refused' | 'max_output' }
  /** The model was not called: the budget is full, or the provider asked for a longer pause. The same step is tried again after the wait. */
  | { readonly outcome: 'wait'; readonly wait: StepWait }
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
  /** People have to approve or answer it first; absent: no. */
  readonly gate?: boolean;
  /** The client executes it; absent: no. */
  readonly client?: boolean;
  /** Another run executes it (`openChild`); absent: no. */
  readonly child?: boolean;
}

/**
 * A wait of the run itself rather than of one of its calls. `untilMs` (timer): Unix time in milliseconds. `fullAt` (budget): the period or cap
 * that is full; `needed`: what the call may cost, a decimal in the billing currency.
 */
export type StepWait =
  | { readonly on: 'budget'; readonly fullAt?: string; readonly needed?: string }
  | { readonly on: 'timer'; readonly untilMs: number };

export interface GatesInput {
  readonly runId: string;
  readonly step: number;
  /** Absent: the gated and the client's calls of the step. */
  readonly wait?: StepWait;
}

/** What stands between a step and its end. */
export interface CallApprovalState {
  /** Calls that were gated and may be executed now; those given before may come again. */
  readonly ready: readonly PlannedCall[];
  /** Questions, clients' calls and waits without an end yet. */
  readonly open: number;
  /** Milliseconds until the first of them expires; 0 when none is open. */
  readonly nextMs: number;
  /** The run ends with this: an answer that had to come did not. */
  readonly ends?: FinishReason;
}

/** `child` null: the call has its result, there is nothing to execute. */
export interface OpenChildResult {
  readonly child: {
    readonly runId: string;
    readonly agentId: string;
    readonly organizationId: string;
    readonly workspaceId: string;
  } | null;
  /** Where the child goes on that was begun before and whose workflow was lost; absent: at its start. */
  readonly from?: Omit<AgentRunInput, 'runId'>;
  /** People have to approve the call now: `openGates` puts the question. */
  readonly gated?: boolean;
}

/** `gated`: the call was not executed, or not to an end, and stands before people now: `openGates` puts the question. */
export interface RunToolResult {
  readonly gated: boolean;
}

export interface RunToolInput {
  readonly runId: string;
  readonly toolCallId: string;
}

export interface SettleToolInput extends RunToolInput {
  /** `child`: the run of a delegate call is over. */
  readonly cause: 'timeout' | 'lost' | 'cancelled' | 'child';
}

/** `again` when the call was never claimed and may be run anew; `gated` when people have to say what becomes of it. */
export interface SettleToolResult {
  readonly again: boolean;
  readonly gated?: boolean;
}

export interface FinishRunInput {
  readonly runId: string;
  readonly reason: FinishReason;
  /** With `stop`: the step whose answer is the last one. A run in which a later one has begun goes on. */
  readonly step?: number;
  /** `retryable` where it differs from the code's. */
  readonly error?: { readonly code: ErrorCode; readonly message: string; readonly reason?: string; readonly retryable?: boolean };
}

/** `more` when unread input came in, or a later step has begun, and the run takes another step instead of succeeding. */
export interface FinishRunResult {
  readonly more: boolean;
}

/** Signals only wake the workflow; what they announce stands in rows. */
export const agentRunSignals = {
  inputAdded: 'inputAdded',
  approvalDecided: 'approvalDecided',
  resultsAdded: 'resultsAdded',
  budgetChanged: 'budgetChanged',
} as const;

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
  /** Whether the run can go well later; absent: as its code says. */
  readonly retryable?: boolean;
}
