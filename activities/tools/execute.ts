import { EgressRefused, EgressUnreachable } from '../../ports/egress.ts';
import { TemplateError } from '../../ports/templates.ts';
import { executeBuiltin } from './builtin.ts';
import { executeHttp } from './http.ts';
import { failed, toolError, type ToolError, type ToolExecution, type ToolOutcome } from './outcome.ts';
import { executeWebFetch, type ExecutorParts } from './web-fetch.ts';

export interface ToolExecutor {
  execute(execution: ToolExecution): Promise<ToolOutcome>;
}

/** The executor of one process. It throws only when the execution's own signal is aborted; all else is an outcome. */
export function createToolExecutor(parts: ExecutorParts): ToolExecutor {
  return {
    async execute(execution) {
      const deadline = AbortSignal.timeout(execution.timeoutMs);
      const signal = AbortSignal.any([execution.signal, deadline]);
      try {
        return await dispatch(parts, { ...execution, signal });
      } catch (error) {
        if (execution.signal.aborted) throw execution.signal.reason;
        if (deadline.aborted)
          return {
            status: 'timed_out',
            error: toolError('timed_out', `no result within ${execution.timeoutMs / 1000} s`, true),
            mayHaveHappened: true,
          };
        return { status: 'failed', error: errorOf(error), mayHaveHappened: error instanceof EgressUnreachable && error.mayHaveArrived };
      }
    },
  };
}

function dispatch(parts: ExecutorParts, execution: ToolExecution): Promise<ToolOutcome> {
  switch (execution.tool.kind) {
    case 'http':
      return executeHttp(parts, execution);
    case 'web_fetch':
      return executeWebFetch(parts, execution);
    case 'builtin':
      return executeBuiltin(execution);
    case 'remote_protocol':
    case 'code_exec':
    case 'web_search':
    case 'delegate':
    case 'schedule':
      return Promise.resolve(failed('tool_unavailable', 'this deployment does not run tools of this kind', false));
    default:
      return execution.tool.kind satisfies never;
  }
}

function errorOf(error: unknown): ToolError {
  if (error instanceof EgressRefused) return toolError('egress_refused', error.message, false);
  if (error instanceof EgressUnreachable) return toolError('upstream_unreachable', error.message, true);
  if (error instanceof TemplateError)
    return toolError('invalid_arguments', `a template of the tool failed: ${error.message}`, false, 'template');
  return toolError('tool_unavailable', 'the tool failed unexpectedly', true, 'internal');
}
