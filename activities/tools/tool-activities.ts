import { cancelledEnd } from '../../db/runs/finish-run.ts';
import { readRunTools, type RunTool } from '../../db/runs/manifest-tools.ts';
import { resultWithoutOutput } from '../../db/runs/run-frames.ts';
import {
  appendResult,
  claimCall,
  endCall,
  isOpen,
  isRepeatable,
  lockCall,
  lostTries,
  readWholeOutput,
  recordHandover,
  type CallEnd,
  type CallState,
} from '../../db/runs/tool-calls.ts';
import { readEgressAllowlist } from '../../db/tenancy/egress-policy.ts';
import type { AgentRunActivities, RunToolInput, SettleToolInput } from '../../workflows/contracts/agent-run.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { EgressPolicy } from '../../ports/egress.ts';
import type { ActivityDeps } from '../deps.ts';
import { cleanText } from '../model/plain-text.ts';
import { inTenant } from '../runs/in-tenant.ts';
import { stopFrozen } from '../runs/stop-frozen.ts';
import { openAbort } from '../support/abort.ts';
import { runCancelled, toApplicationFailure, workerLost } from '../support/failures.ts';
import { whileAway } from '../support/while-away.ts';
import { createToolExecutor, type ToolExecutor } from './execute.ts';
import { toolError, type ToolError, type ToolOutcome } from './outcome.ts';
import { capOutput } from './output.ts';

const mostTries = 3;

/** The activities of a single tool call. The claim is committed before the effect, the result before the activity completes. */
export function createToolActivities(deps: ActivityDeps): Pick<AgentRunActivities, 'runTool' | 'settleTool'> {
  const executor = createToolExecutor(deps);
  return {
    runTool: (input) => runTool(deps, executor, input),
    settleTool: (input) => settleTool(deps, input),
  };
}

interface ClaimedCall {
  readonly call: CallState;
  readonly attempt: number;
  readonly tool: RunTool | null;
  readonly policy: EgressPolicy;
}

async function runTool(deps: ActivityDeps, executor: ToolExecutor, input: RunToolInput): Promise<void> {
  const claimed = await claim(deps, input);
  if (claimed === null) return;
  if (claimed === 'frozen') {
    if (!(await stopFrozen(deps, input.runId))) return runTool(deps, executor, input);
    throw runCancelled();
  }

  const abort = openAbort({ cancelBus: deps.cancelBus, runId: input.runId });
  const outcome = await execute(deps, executor, claimed, abort.signal)
    .catch(async (error: unknown) => {
      if (abort.cause() === 'cancelled') throw runCancelled();
      if (abort.cause() === 'shutdown') await inTenant(deps, input.runId, (unit) => recordHandover(unit, claimed.call, claimed.attempt));
      throw error;
    })
    .finally(() => abort.close());
  const end = endOf(claimed.call, outcome);
  await whileAway(() => record(deps, claimed, end));
}

/** Null when there is nothing to execute: the call has ended, or its run has. `frozen`: its place takes no more work. Throws when it must not be executed again. */
function claim(deps: ActivityDeps, { runId, toolCallId }: RunToolInput): Promise<ClaimedCall | 'frozen' | null> {
  return inTenant(deps, runId, async (unit) => {
    const call = await lockCall(unit, runId, toolCallId);
    if (!call || !isOpen(call)) return null;
    if (call.run_status === 'cancelling') throw runCancelled();
    if (call.is_frozen) return 'frozen';
    // Between claim and result a write may have happened: only settleTool, which knows that nothing executes any more, may judge it.
    if (call.state === 'executing' && !isRepeatable(call))
      throw toApplicationFailure(fail('internal_error', { reason: 'outcome_unknown' }));
    if (lostTries(call) >= mostTries) throw workerLost();

    const tools = call.manifest === null ? [] : await readRunTools(unit, call.manifest);
    const policy = { allowHttp: deps.env.allowHttp, exceptions: await readEgressAllowlist(unit, call.organization_id) };
    const attempt = await claimCall(unit, call);
    return { call, attempt, tool: tools.find((tool) => tool.toolId === call.tool_id) ?? null, policy };
  });
}

function execute(
  deps: ActivityDeps,
  executor: ToolExecutor,
  { call, tool, policy }: ClaimedCall,
  signal: AbortSignal,
): Promise<ToolOutcome> {
  if (tool === null || !call.is_tool_active) {
    return Promise.resolve({ status: 'failed', error: toolError('tool_unavailable', 'the tool is not active any more', false) });
  }
  const { manifest } = call;
  return executor.execute({
    tool,
    toolCallId: call.id,
    args: call.args,
    run: { id: call.run_id },
    place: { organizationId: call.organization_id, workspaceId: call.workspace_id },
    secret: async () => null,
    transact: (work) => inTenant(deps, call.run_id, work),
    variables: {
      run: { id: call.run_id },
      agent: manifest?.agent ?? {},
      workspace: manifest?.workspace ?? {},
      subject: { kind: call.subject_kind, id: call.subject_id },
      now: new Date().toISOString(),
      vars: manifest?.vars ?? {},
    },
    policy,
    timeoutMs: call.timeout_s * 1_000,
    signal,
    readOutput: (callId, offset, limit) => inTenant(deps, call.run_id, (unit) => readWholeOutput(unit, call.run_id, callId, offset, limit)),
  });
}

async function record(deps: ActivityDeps, { call, attempt }: ClaimedCall, end: CallEnd): Promise<void> {
  await inTenant(deps, call.run_id, async (unit) => {
    const locked = await lockCall(unit, call.run_id, call.id);
    if (!locked || !isOpen(locked)) return; // a result for an ended call is dropped
    const frame = await endCall(unit, locked, attempt, end);
    if (frame !== null) await appendResult(unit, locked, attempt, frame);
  });
}

/** Judges a call whose activity is over without a result, from its row: run anew, or ended with what can be said of it. */
function settleTool(deps: ActivityDeps, { runId, toolCallId, cause }: SettleToolInput): Promise<{ again: boolean }> {
  return inTenant(deps, runId, async (unit) => {
    const call = await lockCall(unit, runId, toolCallId);
    if (!call || !isOpen(call)) return { again: false };
    const mayRunAgain = call.state !== 'executing' || (cause === 'lost' && isRepeatable(call) && lostTries(call) < mostTries);
    if (cause !== 'cancelled' && call.run_status !== 'cancelling' && mayRunAgain) return { again: true };

    const frame = await endCall(unit, call, null, settledEnd(call, cause));
    // A scope above every try of the call: whoever still holds it is fenced from now on.
    if (frame !== null) await appendResult(unit, call, call.attempt + 1, frame);
    return { again: false };
  });
}

function settledEnd(call: CallState, cause: SettleToolInput['cause']): CallEnd {
  if (cause === 'cancelled' || call.run_status === 'cancelling') return cancelledEnd(call);
  if (!isRepeatable(call)) {
    return failedEnd(
      'unknown',
      'failed',
      toolError('outcome_unknown', 'The call was interrupted while it was executed; it may have happened.', false),
    );
  }
  if (cause === 'timeout') return failedEnd('timed_out', 'timed_out', toolError('timed_out', `no result within ${call.timeout_s} s`, true));
  return failedEnd('failed', 'failed', toolError('tool_unavailable', 'the call was interrupted three times', true, 'worker_lost'));
}

function endOf(call: CallState, outcome: ToolOutcome): CallEnd {
  if (outcome.status !== 'succeeded') {
    if (outcome.mayHaveHappened && !isRepeatable(call)) {
      return failedEnd(
        'unknown',
        outcome.status,
        toolError('outcome_unknown', `${outcome.error.message}; the call may have happened.`, false, outcome.error.code),
      );
    }
    return failedEnd(outcome.status, outcome.status, outcome.error);
  }
  if (outcome.type === 'files') return failedEnd('failed', 'failed', toolError('tool_unavailable', 'files are not kept yet', false));
  const capped = capOutput(outcome, call.response_max_chars);
  return {
    state: 'succeeded',
    result: {
      status: 'succeeded',
      output: capped.output,
      outputType: capped.type,
      truncated: capped.truncated,
      cached: outcome.cached ?? false,
      totalChars: capped.totalChars,
      error: null,
      durationMs: null,
    },
    rest: capped.rest,
  };
}

function failedEnd(state: CallEnd['state'], status: 'failed' | 'timed_out', error: ToolError): CallEnd {
  return {
    state,
    result: resultWithoutOutput(status, { ...error, message: cleanText(error.message) }),
    rest: null,
  };
}
