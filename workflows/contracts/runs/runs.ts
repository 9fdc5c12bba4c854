export const runStatuses = ['queued', 'running', 'waiting', 'cancelling', 'succeeded', 'failed', 'cancelled'] as const;
export type RunStatus = (typeof runStatuses)[number];

export const terminalRunStatuses = ['succeeded', 'failed', 'cancelled'] as const satisfies readonly RunStatus[];
export type TerminalRunStatus = (typeof terminalRunStatuses)[number];

export const liveRunStatuses = ['queued', 'running', 'waiting', 'cancelling'] as const satisfies readonly RunStatus[];
export type LiveRunStatus = (typeof liveRunStatuses)[number];

export function isTerminal(status: RunStatus): boolean {
  return status === 'succeeded' || status === 'failed' || status === 'cancelled';
}

export const waitingOn = ['approval', 'input', 'client_tool', 'auth', 'budget', 'timer'] as const;
export type WaitingOn = (typeof waitingOn)[number];

export const finishReasons = [
  'stop',
  'max_steps',
  'max_output',
  'timeout',
  'budget_exceeded',
  'cancelled',
  'superseded',
  'approval_expired',
  'refused',
  'error',
] as const;
export type FinishReason = (typeof finishReasons)[number];

export const runSources = ['api', 'webhook', 'schedule', 'event', 'channel', 'code_review', 'evaluation', 'sub_agent', 'mcp'] as const;
export type RunSource = (typeof runSources)[number];

/** Priorities of a run's workflow in Temporal; a lower number goes first. */
export const runPriorities = [1, 3, 5] as const;
export type RunPriority = (typeof runPriorities)[number];

/** Returns the priority of a run's workflow in its task queue. */
export function priorityOf(source: RunSource): RunPriority {
  switch (source) {
    case 'channel':
    case 'sub_agent':
    case 'mcp':
      return 1;
    case 'api':
    case 'webhook':
    case 'schedule':
    case 'event':
      return 3;
    case 'code_review':
    case 'evaluation':
      return 5;
    default:
      return source satisfies never;
  }
}

export const toolCallStates = [
  'recorded',
  'gated',
  'ready',
  'executing',
  'succeeded',
  'failed',
  'denied',
  'timed_out',
  'cancelled',
  'unknown',
] as const;
export type ToolCallState = (typeof toolCallStates)[number];

export const toolKinds = ['http', 'remote_protocol', 'builtin', 'code_exec', 'web_search', 'web_fetch', 'delegate', 'schedule'] as const;
export type ToolKind = (typeof toolKinds)[number];

/** Codes of a failed tool result, as the model and the frames see them. */
export const toolResultCodes = [
  'invalid_arguments',
  'tool_unavailable',
  'tool_quarantined',
  'secret_missing',
  'auth_required',
  'egress_refused',
  'upstream_status',
  'upstream_unreachable',
  'timed_out',
  'sandbox_limit',
  'isolation_unavailable',
  'tool_busy',
  'outcome_unknown',
  'effect_not_allowed',
] as const;
export type ToolResultCode = (typeof toolResultCodes)[number];
