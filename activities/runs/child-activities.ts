import { readChildAsk, type ChildAsk } from '../../db/runs/children/child-ask.ts';
import { openChild, refuseChild, type OpenedChild } from '../../domain/runs/children/open-child.ts';
import type { CallState } from '../../db/runs/calls/call-state.ts';
import type { StepError } from '../../db/runs/run-types.ts';
import type { AgentRunActivities, OpenChildResult, RunToolInput } from '../../workflows/contracts/runs/agent-run.ts';
import { Failure } from '../../workflows/contracts/failure.ts';
import type { ActivityDeps } from '../deps.ts';
import { runCancelled } from '../support/failures.ts';
import { tenantOfActivity } from '../support/tenant.ts';
import { gateOf, refusalOf } from '../tools/calls/refusal.ts';
import { transactAsRun } from './as-run.ts';
import { stopSuspended } from './stop-frozen.ts';

/** The activity that starts the run of a delegate call. It decides by the call's row: when repeated, it returns the existing child. */
export function createChildActivities(deps: ActivityDeps): Pick<AgentRunActivities, 'openChild'> {
  return { openChild: (input) => open(deps, input) };
}

async function open(deps: ActivityDeps, input: RunToolInput): Promise<OpenChildResult> {
  const misfit = await misfitOf(deps, await transactAsRun(deps, input.runId, (tx) => readChildAsk(tx, input)));
  const opened = await openOrRefuse(deps, input, misfit);
  switch (opened.kind) {
    case 'child':
      deps.log.info({ run_id: input.runId, child_run_id: opened.child.runId }, 'child run made');
      return { child: opened.child, ...(opened.from ? { from: opened.from } : {}) };
    case 'gated':
      return { child: null, gated: true };
    case 'over':
      return { child: null };
    case 'frozen':
      if (!(await stopSuspended(deps, input.runId))) return open(deps, input);
      throw runCancelled();
    case 'cancelling':
      throw runCancelled();
    default:
      return opened satisfies never;
  }
}

/** A final refusal of a start is the call's result; an error that may pass is retried. */
async function openOrRefuse(deps: ActivityDeps, input: RunToolInput, misfit: StepError | null): Promise<OpenedChild> {
  const judge = (call: CallState) => ({ refusal: refusalOf(call) ?? misfit, gate: gateOf(call) });
  try {
    return await transactAsRun(deps, input.runId, (tx) => openChild(tx, { ...input, currency: deps.env.billingCurrency, judge }));
  } catch (error) {
    if (!(error instanceof Failure) || (error.retryable && error.code !== 'rate_limited')) throw error;
    const reason = error.context['reason'];
    const stepError = {
      code: 'tool_unavailable',
      message: error.detail,
      retryable: error.retryable,
      reason: typeof reason === 'string' ? reason : error.code,
    };
    await transactAsRun(deps, input.runId, (tx) => refuseChild(tx, input, stepError));
    return { kind: 'over' };
  }
}

/** Checks whether the structured input fits the input schema of the delegate agent. */
async function misfitOf({ schemas }: ActivityDeps, ask: ChildAsk | null): Promise<StepError | null> {
  if (ask === null) return null;
  const problems = await schemas.of(tenantOfActivity().organizationId).validate(ask.inputSchema, ask.input);
  if (problems.length === 0) return null;
  const told = problems.slice(0, 5).map(({ pointer, message }) => `/input${pointer} ${message}`);
  return {
    code: 'invalid_arguments',
    message: `The input does not fit the agent: ${told.join('; ')}`.slice(0, 1_000),
    retryable: false,
    reason: null,
  };
}
