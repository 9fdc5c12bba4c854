import { afterMs } from '../../../ports/deadline.ts';
import { EgressRefused, EgressUndecodable, EgressUnreachable, type Egress } from '../../../ports/egress/egress.ts';
import { hopsHeader, runHeader } from '../../../workflows/contracts/triggers/hops.ts';
import { withTraceparent } from '../../../ports/telemetry/spans.ts';
import { TemplateError } from '../../../ports/templates/templates.ts';
import { Failure } from '../../../workflows/contracts/failure.ts';
import { isGivenUpFailure } from '../../support/failures.ts';
import { createAccessTokens, type AccessTokens } from '../http/access-tokens.ts';
import { executeBuiltin } from '../builtin/builtin.ts';
import { executeCode } from '../builtin/code-exec.ts';
import type { ToolDeps } from '../tool-deps.ts';
import { executeHttp } from '../http/http.ts';
import { failed, toolError, type GuardedExecution, type ToolError, type ToolExecution, type ToolOutcome } from './outcome.ts';
import { executeRemote } from '../builtin/remote-protocol.ts';
import { createSecretMask } from '../http/secret-mask.ts';
import { executeSchedule } from '../builtin/schedule.ts';
import { executeWebFetch } from '../builtin/web-fetch.ts';
import { executeWebSearch } from '../builtin/web-search.ts';

export interface ToolExecutor {
  execute(execution: ToolExecution): Promise<ToolOutcome>;
}

/**
 * The executor of one process. It throws only when the execution's own signal is aborted, or when Temporal has given up the attempt. Everything else is an
 * outcome, in which the name of each secret replaces its value.
 */
export function createToolExecutor(deps: ToolDeps): ToolExecutor {
  const own = { ...deps, tokens: createAccessTokens(deps.egress) };
  return {
    async execute(execution) {
      const { secret, conceal, mask, maskOutcome } = createSecretMask(execution.secret);
      const deadline = new AbortController();
      const cancel = afterMs(execution.timeoutMs, () => deadline.abort(new DOMException('the tool took too long', 'TimeoutError')));
      const signal = AbortSignal.any([execution.signal, deadline.signal]);
      try {
        return maskOutcome(await dispatch(own, { ...execution, signal, secret, conceal, mask }));
      } catch (error) {
        if (execution.signal.aborted) throw execution.signal.reason;
        if (isGivenUpFailure(error)) throw error;
        if (deadline.signal.aborted)
          return {
            status: 'timed_out',
            error: toolError('timed_out', `no result within ${execution.timeoutMs / 1000} s`, true),
            mayHaveHappened: true,
          };
        const mayHaveHappened = (error instanceof EgressUnreachable || error instanceof EgressRefused) && error.mayHaveArrived;
        return maskOutcome({ status: 'failed', error: errorOf(error), mayHaveHappened });
      } finally {
        cancel();
      }
    },
  };
}

type OwnDeps = ToolDeps & { readonly tokens: AccessTokens };

function dispatch(deps: OwnDeps, execution: GuardedExecution): Promise<ToolOutcome> {
  switch (execution.tool.kind) {
    case 'http':
      return executeHttp(counted(deps, execution), execution);
    case 'web_search':
      return executeWebSearch(deps, execution);
    case 'web_fetch':
      return executeWebFetch(counted(deps, execution), execution);
    case 'builtin':
      return executeBuiltin(deps, execution);
    case 'schedule':
      return executeSchedule(execution);
    case 'remote_protocol':
      return executeRemote(deps, execution);
    case 'code_exec':
      return executeCode(deps, execution);
    case 'delegate':
      return Promise.resolve(failed('tool_unavailable', 'this deployment does not run tools of this kind', false));
    default:
      return execution.tool.kind satisfies never;
  }
}

/**
 * Returns the same dependencies with requests that carry how many hooks their cause has come through, and which run they belong to: so a chain that leads back
 * to a hook or an event ends somewhere.
 */
function counted<P extends { readonly egress: Egress }>(deps: P, { hops, run }: GuardedExecution): P {
  const { egress } = deps;
  const ofChain = { [hopsHeader]: String(hops), ...(run === null ? {} : { [runHeader]: run.id }) };
  const withHops = <R extends { readonly headers: Readonly<Record<string, string>> }>(request: R): R => {
    const own = Object.entries(request.headers).filter(([name]) => ![hopsHeader, runHeader].includes(name.toLowerCase()));
    return { ...request, headers: withTraceparent({ ...Object.fromEntries(own), ...ofChain }) };
  };
  return {
    ...deps,
    egress: {
      fetch: (request) => egress.fetch(withHops(request)),
      open: (request) => egress.open(withHops(request)),
      close: () => egress.close(),
    },
  };
}

/** Maps an error to its meaning for the model; passes on only messages that the guard or the engine has written. */
export function errorOf(error: unknown): ToolError {
  if (error instanceof EgressRefused) return toolError('egress_refused', error.message, false);
  if (error instanceof EgressUndecodable) return toolError('upstream_status', error.message, false, 'undecodable');
  if (error instanceof EgressUnreachable) return toolError('upstream_unreachable', error.message, true);
  if (error instanceof TemplateError)
    return toolError('invalid_arguments', `a template of the tool failed: ${error.message}`, false, 'template');
  if (error instanceof Failure && error.code === 'service_unavailable') return toolError('tool_unavailable', error.detail, true, 'busy');
  return toolError('tool_unavailable', 'the tool failed unexpectedly', true, 'internal');
}
