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
import { resolveSecret } from '../../db/secrets/resolve-secret.ts';
import { readEgressAllowlist } from '../../db/tenancy/egress-policy.ts';
import type { Unit } from '../../db/unit.ts';
import type { AgentRunActivities, RunToolInput, SettleToolInput } from '../../workflows/contracts/agent-run.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { EgressPolicy } from '../../ports/egress.ts';
import { filesEnd, keptFor, recordFiles, storeFiles } from '../attachments/keep-files.ts';
import type { ActivityDeps } from '../deps.ts';
import { cleanText } from '../model/plain-text.ts';
import { inTenant } from '../runs/in-tenant.ts';
import { stopFrozen } from '../runs/stop-frozen.ts';
import { openAbort } from '../support/abort.ts';
import { runCancelled, toApplicationFailure, workerLost } from '../support/failures.ts';
import { whileAway } from '../support/while-away.ts';
import { createToolExecutor, type ToolExecutor } from './execute.ts';
import { holdLease, type HeldLease } from './lease.ts';
import { failed, toolError, type ToolError, type ToolOutcome } from './outcome.ts';
import { capOutput } from './output.ts';
import { refusalOf } from './refusal.ts';

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

/** A call of an exclusive tool that has to hold it first. */
interface WaitingCall {
  readonly waiting: CallState;
}

async function runTool(deps: ActivityDeps, executor: ToolExecutor, input: RunToolInput): Promise<void> {
  const abort = openAbort({ cancelBus: deps.cancelBus, runId: input.runId });
  let lease: HeldLease | null = null;
  try {
    let claimed = await claim(deps, input, false);
    if (claimed !== null && 'waiting' in claimed) {
      lease = await holdTool(deps, claimed.waiting, abort.signal);
      if (lease === null) return await recordBusy(deps, claimed.waiting);
      claimed = await claim(deps, input, true);
    }
    if (claimed === null || 'waiting' in claimed) return;

    const { call, attempt } = claimed;
    const signal = lease === null ? abort.signal : AbortSignal.any([abort.signal, lease.signal]);
    const outcome = await execute(deps, executor, claimed, signal).catch(async (error: unknown) => {
      if (abort.cause() === 'cancelled') throw runCancelled();
      if (abort.cause() === 'shutdown') await inTenant(deps, input.runId, (unit) => recordHandover(unit, call, attempt));
      throw error;
    });
    const settle = await settlementOf(deps, call, outcome, signal);
    await whileAway(() => record(deps, claimed, settle));
  } finally {
    abort.close();
    await lease?.release();
  }
}

/** Waits for an exclusive tool as long as a call of it may take. */
function holdTool(deps: ActivityDeps, call: CallState, signal: AbortSignal): Promise<HeldLease | null> {
  const key = {
    organizationId: call.organization_id,
    workspaceId: call.workspace_id,
    toolId: call.tool_id ?? call.id,
    holder: call.id,
  };
  return holdLease({ transact: (work) => inTenant(deps, call.run_id, work), key, waitMs: call.timeout_s * 1_000, signal });
}

/**
 * Claims the call, or stops a run whose place takes no more work. Null when there is nothing to execute: the call has ended, or its run has.
 * `waiting`: its tool is exclusive and not held yet. Throws when the call must not be executed again.
 */
async function claim(deps: ActivityDeps, input: RunToolInput, isHeld: boolean): Promise<ClaimedCall | WaitingCall | null> {
  const claimed = await inTenant(deps, input.runId, (unit) => claimIn(deps, unit, { input, isHeld }));
  if (claimed !== 'frozen') return claimed;
  if (!(await stopFrozen(deps, input.runId))) return claim(deps, input, isHeld);
  throw runCancelled();
}

async function claimIn(
  deps: ActivityDeps,
  unit: Unit,
  { input, isHeld }: { readonly input: RunToolInput; readonly isHeld: boolean },
): Promise<ClaimedCall | WaitingCall | 'frozen' | null> {
  const call = await lockCall(unit, input.runId, input.toolCallId);
  if (!call || !isOpen(call)) return null;
  if (call.run_status === 'cancelling') throw runCancelled();
  if (call.is_frozen) return 'frozen';
  // Between claim and result a write may have happened: only settleTool, which knows that nothing executes any more, may judge it.
  if (call.state === 'executing' && !isRepeatable(call)) throw toApplicationFailure(fail('internal_error', { reason: 'outcome_unknown' }));
  if (lostTries(call) >= mostTries) throw workerLost();
  if (call.concurrency === 'exclusive' && !isHeld && refusalOf(call) === null) return { waiting: call };

  const tools = call.manifest === null ? [] : await readRunTools(unit, call.manifest);
  const policy = { allowHttp: deps.env.allowHttp, exceptions: await readEgressAllowlist(unit, call.organization_id) };
  const attempt = await claimCall(unit, call);
  return { call, attempt, tool: tools.find((tool) => tool.slug === call.slug) ?? null, policy };
}

function execute(
  deps: ActivityDeps,
  executor: ToolExecutor,
  { call, tool, policy }: ClaimedCall,
  signal: AbortSignal,
): Promise<ToolOutcome> {
  const refusal = refusalOf(call);
  if (refusal !== null) return Promise.resolve({ status: 'failed', error: refusal });
  if (tool === null) return Promise.resolve(failed('tool_unavailable', 'the run has no such tool', false));
  const { manifest } = call;
  const transact = <R>(work: (unit: Unit) => Promise<R>) => inTenant(deps, call.run_id, work);
  return executor.execute({
    tool,
    toolCallId: call.id,
    args: call.args,
    run: { id: call.run_id },
    place: { organizationId: call.organization_id, workspaceId: call.workspace_id },
    secret: (name) => transact((unit) => secretOf(deps, unit, { call, name })),
    transact,
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
    readOutput: (callId, offset, limit) => transact((unit) => readWholeOutput(unit, call.run_id, callId, offset, limit)),
  });
}

/** Never from a scope wider than the tool's own. The platform's own tools name none. */
function secretOf(
  deps: ActivityDeps,
  unit: Unit,
  { call, name }: { readonly call: CallState; readonly name: string },
): Promise<string | null> {
  if (call.live === null || call.tool_id === null) return Promise.resolve(null);
  const row = { scope: call.live.scope, toolId: call.tool_id, organizationId: call.organization_id, workspaceId: call.workspace_id };
  return resolveSecret(unit, deps.keys, { name, row });
}

/** The tool was another call's all the time: a result for the model, which may try again. */
async function recordBusy(deps: ActivityDeps, { id, run_id: runId, timeout_s: seconds }: CallState): Promise<void> {
  const error = toolError('tool_busy', `another call has held the tool for ${seconds} s`, true);
  await whileAway(() =>
    inTenant(deps, runId, async (unit) => {
      const call = await lockCall(unit, runId, id);
      if (!call || !isOpen(call)) return;
      const frame = await endCall(unit, call, null, failedEnd('failed', 'failed', error));
      if (frame !== null) await appendResult(unit, call, call.attempt + 1, frame);
    }),
  );
}

async function record(deps: ActivityDeps, { call, attempt }: ClaimedCall, settle: Settlement): Promise<void> {
  await inTenant(deps, call.run_id, async (unit) => {
    const locked = await lockCall(unit, call.run_id, call.id);
    if (!locked || !isOpen(locked)) return; // a result for an ended call is dropped
    const frame = await endCall(unit, locked, attempt, await settle(unit));
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

/** Writes what comes with a result, in its transaction, and gives the end. */
type Settlement = (unit: Unit) => Promise<CallEnd>;

/** Files are stored before the transaction that records them. */
async function settlementOf(deps: ActivityDeps, call: CallState, outcome: ToolOutcome, signal: AbortSignal): Promise<Settlement> {
  if (outcome.status !== 'succeeded' || outcome.type !== 'files') {
    const end = endOf(call, outcome);
    return async () => end;
  }
  const { maxBytes: limitBytes, scan } = deps.env.attachments;
  const kept = await storeFiles(deps.storage, outcome, { organizationId: call.organization_id, limitBytes, signal });
  const recorded = { stored: kept.stored, isScanned: scan !== null };
  return async (unit) => filesEnd(await recordFiles(unit, keptFor(call), recorded), kept.text, call.response_max_chars);
}

function endOf(call: CallState, outcome: Exclude<ToolOutcome, { readonly type: 'files' }>): CallEnd {
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
