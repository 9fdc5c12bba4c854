import type { ErrorCode } from '../error-codes.ts';
import type { FinishReason } from './runs.ts';

/**
 * Input of the workflow `agentRun`. `step` is set where a run continues in another execution: the step to resume (everything else stands in rows). `wait`: the
 * wait of the run itself before that step, when its workflow was lost during it.
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
  /** Opens the approvals of a step and its clients' calls, or opens a wait of the run itself. Repeatable. */
  openGates(input: GatesInput): Promise<CallApprovalState>;
  /** Judges what has been answered or has expired since. Repeatable. */
  settleGates(input: GatesInput): Promise<CallApprovalState>;
  /** Creates the run of a delegate call, or ends the call when it may not have one. */
  openChild(input: RunToolInput): Promise<OpenChildResult>;
  /** Null in histories from before approvals existed. */
  runTool(input: RunToolInput): Promise<RunToolResult | null | void>;
  settleTool(input: SettleToolInput): Promise<SettleToolResult>;
  finishRun(input: FinishRunInput): Promise<FinishRunResult>;
}

/** `done` when the run is already terminal; otherwise what the loop needs to decide, all from the pinned manifest. */
export type BeginRunResult =
  | { readonly done: true }
  | {
      readonly done: false;
      readonly maxSteps: number;
      readonly remainingMs: number;
      readonly cancelRequested: boolean;
      /** Its clock is stopped now; absent: it runs. */
      readonly isWaiting?: boolean;
    };

export type CallModelResult =
  | { readonly outcome: 'final' | 'refused' | 'max_output' }
  /** The model was not called: the budget is full, or the provider asked for a longer delay. The same step is tried again after the wait. */
  | { readonly outcome: 'wait'; readonly wait: StepWait }
  | { readonly outcome: 'calls'; readonly calls: readonly PlannedCall[] };

/** One tool call as the workflow sees it: enough to order and bound it, without its arguments. */
export interface PlannedCall {
  readonly toolCallId: string;
  readonly effect: 'read' | 'write';
  /** What may run beside it; absent: as its effect says. */
  readonly concurrency?: 'read' | 'write' | 'exclusive';
  readonly timeoutS: number;
  /** A read or idempotent call may be executed again; any other write is attempted once. */
  readonly isRepeatable: boolean;
  /** Already ended when the model step was stored (unknown tool, invalid arguments): nothing to execute. */
  readonly isSettled: boolean;
  /** People have to approve or answer it first; absent: no. */
  readonly gate?: boolean;
  /** The client executes it; absent: no. */
  readonly client?: boolean;
  /** Another run executes it (`openChild`); absent: no. */
  readonly child?: boolean;
}

/**
 * A wait of the run itself rather than of one of its calls. `untilMs` (timer): Unix time in milliseconds. `fullAt` (budget): the period or cap that is full;
 * `needed`: the estimated cost of the call, a decimal in the billing currency.
 */
export type StepWait =
  | { readonly on: 'budget'; readonly fullAt?: string; readonly needed?: string }
  | { readonly on: 'timer'; readonly untilMs: number };

export interface GatesInput {
  readonly runId: string;
  readonly step: number;
  /** Absent: the gated calls and the clients' calls of the step. */
  readonly wait?: StepWait;
}

/** What a step still waits for. */
export interface CallApprovalState {
  /** Calls that were gated and may be executed now; calls returned earlier may appear again. */
  readonly ready: readonly PlannedCall[];
  /** Number of questions, clients' calls and waits that have not ended. */
  readonly open: number;
  /** Milliseconds until the first of these expires; 0 when none is open. */
  readonly nextMs: number;
  /** The run ends with this reason: a required answer did not come. */
  readonly ends?: FinishReason;
}

/** `child` is null when the call already has its result and there is nothing to execute. */
export interface OpenChildResult {
  readonly child: {
    readonly runId: string;
    readonly agentId: string;
    readonly organizationId: string;
    readonly workspaceId: string;
  } | null;
  /** Where a child continues that was begun earlier and whose workflow was lost; absent: at its start. */
  readonly from?: Omit<AgentRunInput, 'runId'>;
  /** The call now awaits approval: `openGates` opens the question. */
  readonly gated?: boolean;
}

/** `gated`: the call was not executed, or not completely, and now awaits approval: `openGates` opens the question. */
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

/** `again` when the call was never claimed and may be run anew; `gated` when people have to decide what becomes of it. */
export interface SettleToolResult {
  readonly again: boolean;
  readonly gated?: boolean;
}

export interface FinishRunInput {
  readonly runId: string;
  readonly reason: FinishReason;
  /** With `stop`: the step whose answer is the last one. A run in which a later step has begun continues. */
  readonly step?: number;
  /** `retryable` is set where it differs from the code's. */
  readonly error?: { readonly code: ErrorCode; readonly message: string; readonly reason?: string; readonly retryable?: boolean };
}

/** `more` when unread input came in or a later step has begun, so that the run takes another step instead of succeeding. */
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

/** Failure types besides the 38 codes that activities throw and the workflow classifies. */
export const activityFailureTypes = {
  /** Three tries in a row left neither result nor error: the run kills its workers. */
  workerLost: 'worker_lost',
  /** The worker stops; the next attempt continues elsewhere and this one doesn't count. */
  shutdown: 'worker_shutdown',
  /** The activity found its run cancelling or ended. */
  cancelled: 'run_cancelled',
} as const;

/** Second argument of such a failure, its only detail. */
export interface ActivityFailureDetails {
  readonly reason?: string;
  /** Ends the run with this reason instead of `error`. */
  readonly finishReason?: FinishReason;
  /** Whether the run can succeed later; absent: as its code says. */
  readonly retryable?: boolean;
}
