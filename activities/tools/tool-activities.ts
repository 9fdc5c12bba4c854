import type { Attributes } from '@opentelemetry/api';
import { askAgain, requireApproval } from '../../domain/runs/calls/require-approval.ts';
import { isHeld, isOpen, isRepeatable, lockCall, lostTries, type CallState } from '../../db/runs/calls/call-state.ts';
import { readRunTools, type RunTool } from '../../db/runs/start/manifest-tools.ts';
import { workerFrozen } from '../../db/runs/steps/retries.ts';
import { claimCall, recordRetry } from '../../domain/runs/calls/tool-calls.ts';
import { isAimedAsNow } from '../../domain/secrets/secret-aim.ts';
import { resolveSecret } from '../../domain/secrets/resolve-secret.ts';
import { recordAlive } from '../../domain/runs/steps/tries.ts';
import { readWholeOutput } from '../../db/runs/calls/whole-output.ts';
import { readEgressAllowlist } from '../../db/tenancy/organizations/egress-policy.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { AgentRunActivities, RunToolInput, RunToolResult } from '../../workflows/contracts/runs/agent-run.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { newStepSpan, type StepSpan } from '../../ports/telemetry/origin.ts';
import type { EgressPolicy } from '../../ports/egress/egress.ts';
import { attribute, contentAttribute, ownAttribute } from '../../ports/telemetry/conventions.ts';
import { failSpan, genAiName, inSpan } from '../../ports/telemetry/spans.ts';
import type { ActivityDeps } from '../deps.ts';
import { settleRun, endAndSettle, isCritical } from './calls/end-call.ts';
import { transactAsRun } from '../runs/as-run.ts';
import { stopSuspended } from '../runs/stop-frozen.ts';
import { addContent } from '../support/trace-content.ts';
import { openAbort } from '../support/abort.ts';
import { refuseGivenUp, refuseStale, sendingWhileAwaited } from '../support/stale-attempt.ts';
import { fenced, isFenced, runCancelled, toApplicationFailure, workerLost } from '../support/failures.ts';
import { retryDespiteCancellation, retryWhileUnavailable } from '../support/retry-unavailable.ts';
import { createToolExecutor, type ToolExecutor } from './calls/execute.ts';
import { lockLease, type HeldLease } from './calls/lease.ts';
import { failed, toolError, type ToolOutcome } from './calls/outcome.ts';
import { gateOf, refusalOf } from './calls/refusal.ts';
import { maxTries, settleTool } from './calls/settle-tool.ts';
import { failedEnd, settlementOf, type Settlement } from './calls/settlement.ts';

/** The activities of a single tool call. The claim is committed before the effect, the result before the activity completes. */
export function createToolActivities(deps: ActivityDeps): Pick<AgentRunActivities, 'runTool' | 'settleTool'> {
  const executor = createToolExecutor({ ...deps, ...sendingWhileAwaited(deps) });
  return {
    runTool: (input) => runTool(deps, executor, input),
    settleTool: (input) => settleTool(deps, input),
  };
}

interface ClaimedCall {
  readonly call: CallState;
  readonly attempt: number;
  /** Its span, which the step's row names; null: nothing is traced. */
  readonly span: StepSpan | null;
  readonly tool: RunTool | null;
  readonly policy: EgressPolicy;
}

/** A call that another try holds and has not ended. */
interface HeldCall {
  readonly heldBy: number;
}

/** A call of an exclusive tool that has to hold the tool first. */
interface WaitingCall {
  readonly waiting: CallState;
}

/** What a claim may find instead of a call to execute: it has ended, or it awaits approval. */
type NoClaim = 'ended' | 'gated';

async function runTool(deps: ActivityDeps, executor: ToolExecutor, input: RunToolInput): Promise<RunToolResult> {
  const abort = openAbort({ cancelBus: deps.cancelBus, runId: input.runId });
  let lease: HeldLease | null = null;
  try {
    let claimed = await claim(deps, input, false);
    if (typeof claimed === 'object' && 'waiting' in claimed) {
      lease = await lockTool(deps, claimed.waiting, abort.signal);
      if (lease === null) return await recordBusy(deps, claimed.waiting);
      lease.signal.throwIfAborted();
      claimed = await claim(deps, input, true);
    }
    if (typeof claimed !== 'object' || 'waiting' in claimed) return await unclaimed(deps, input, claimed);

    const { call, attempt } = claimed;
    const signal = lease === null ? abort.signal : AbortSignal.any([abort.signal, lease.signal]);
    const outcome = await measured(deps, claimed, () => execute(deps, executor, claimed, signal)).catch(async (error: unknown) => {
      if (abort.cause() === 'cancelled') throw runCancelled();
      if (abort.cause() === 'shutdown')
        await transactAsRun(deps, input.runId, (tx) => recordRetry(tx, call, { attempt, cause: 'shutdown', code: null }));
      if (abort.cause() === 'unawaited')
        await transactAsRun(deps, input.runId, (tx) => recordRetry(tx, call, { attempt, cause: 'worker_lost', code: workerFrozen }));
      throw error;
    });
    const settle = await settlementOf(deps, call, outcome, signal);
    return await retryWhileUnavailable(() => record(deps, claimed, { outcome, settle })).catch(async (error: unknown) => {
      if (isFenced(error))
        await retryDespiteCancellation(() => transactAsRun(deps, input.runId, (tx) => recordAlive(tx, { ...takenTryOf(call), attempt })));
      throw error;
    });
  } finally {
    abort.close();
    await lease?.release();
  }
}

function takenTryOf({ runId, step, id: toolCallId }: CallState) {
  return { runId, step, toolCallId };
}

/** An earlier try that ended the call may have died before it settled what its run waits for. */
async function unclaimed(deps: ActivityDeps, { runId }: RunToolInput, found: NoClaim | WaitingCall): Promise<RunToolResult> {
  if (found === 'ended') await settleRun(deps, runId);
  return { gated: found === 'gated' };
}

/** Waits for an exclusive tool for as long as a call of it may take. */
function lockTool(deps: ActivityDeps, call: CallState, signal: AbortSignal): Promise<HeldLease | null> {
  const { organizationId, workspaceId, id } = call;
  const key = { organizationId, workspaceId, toolId: call.toolId ?? id, holder: id };
  return lockLease({ transact: (work) => transactAsRun(deps, call.runId, work), key, waitMs: call.timeoutS * 1_000, signal });
}

/**
 * Claims the call, or stops a run whose tenant accepts no more work. `ended`: there is nothing to execute, because the call or its run has ended, or because
 * its client executes it. `waiting`: its tool is exclusive and not held yet. Throws when the call must not be executed again.
 */
async function claim(deps: ActivityDeps, input: RunToolInput, hasTool: boolean): Promise<ClaimedCall | WaitingCall | NoClaim> {
  await refuseStale();
  let over: number | null = null;
  for (;;) {
    const asked: AskedCall = { input, hasTool, over };
    const claimed = await transactAsRun(deps, input.runId, (tx) => claimIn(deps, tx, asked));
    if (typeof claimed === 'object' && 'heldBy' in claimed) {
      await refuseGivenUp();
      over = claimed.heldBy;
    } else if (claimed !== 'frozen') return claimed;
    else if (await stopSuspended(deps, input.runId)) throw runCancelled();
  }
}

interface AskedCall {
  readonly input: RunToolInput;
  /** Whether this call holds its tool, where that is required. */
  readonly hasTool: boolean;
  /** The try that the call may be taken from, because Temporal has given it up. */
  readonly over: number | null;
}

async function claimIn(
  deps: ActivityDeps,
  tx: TenantTransaction,
  { input, hasTool, over }: AskedCall,
): Promise<ClaimedCall | HeldCall | WaitingCall | NoClaim | 'frozen'> {
  const call = await lockCall(tx, input.runId, input.toolCallId);
  if (!call || !isOpen(call)) return 'ended';
  if (call.runStatus === 'cancelling') throw runCancelled();
  if (call.isFrozen) return 'frozen';
  if (call.state === 'recorded' || call.state === 'gated') return 'gated';
  if (call.clientOwned) return 'ended';
  // Between claim and result a write may have happened: only settleTool, which knows that nothing executes any more, may decide on it.
  if (call.state === 'executing' && !isRepeatable(call)) throw toApplicationFailure(fail('internal_error', { reason: 'outcome_unknown' }));
  if (isHeld(call) && call.attempt !== over) return { heldBy: call.attempt };
  if (lostTries(call) >= maxTries) throw workerLost();
  const isRefused = refusalOf(call) !== null;
  const gate = isRefused ? null : gateOf(call);
  if (gate !== null && (await requireApproval(tx, call, gate))) return 'gated';
  if (call.concurrency === 'exclusive' && !hasTool && !isRefused) return { waiting: call };

  const tools = call.manifest === null ? [] : await readRunTools(tx, call.manifest);
  const policy = { allowHttp: deps.env.allowHttp, exceptions: await readEgressAllowlist(tx, call.organizationId) };
  const span = newStepSpan();
  const attempt = await claimCall(tx, call, span);
  return { call, attempt, span, tool: tools.find((tool) => tool.slug === call.slug) ?? null, policy };
}

/** Measures the duration and outcome of an execution, as metrics and as a span `execute_tool`. */
async function measured(deps: ActivityDeps, { call, span: named }: ClaimedCall, work: () => Promise<ToolOutcome>): Promise<ToolOutcome> {
  const startedAt = performance.now();
  let ended = 'aborted';
  try {
    return await inSpan(
      {
        name: genAiName('execute_tool', call.slug),
        kind: 'internal',
        attributes: callAttributes(call),
        ...(named === null ? {} : { ids: { spanId: named.spanId } }),
      },
      async (span) => {
        const outcome = await work();
        ended = outcome.status === 'succeeded' ? 'ok' : outcome.error.code;
        if (outcome.status !== 'succeeded') failSpan(span, outcome.error.code);
        await addContent(deps, span, () => ({
          [contentAttribute.toolArguments]: call.args,
          [contentAttribute.toolResult]: shownOutcome(outcome),
        }));
        return outcome;
      },
    );
  } finally {
    deps.metrics.toolCalled(call.kind, ended, (performance.now() - startedAt) / 1_000);
  }
}

/** An outcome as its span shows it, without the bytes of files. */
function shownOutcome(outcome: ToolOutcome): unknown {
  if (outcome.status !== 'succeeded') return { error: outcome.error };
  if (outcome.type === 'json') return outcome.value;
  return outcome.type === 'text' ? outcome.text : { text: outcome.text, files: outcome.files.map(({ name }) => name) };
}

function callAttributes(call: CallState): Attributes {
  return {
    [attribute.operation]: 'execute_tool',
    [attribute.toolName]: call.slug,
    [attribute.toolType]: 'function',
    [attribute.toolCallId]: call.id,
    [ownAttribute.runId]: call.runId,
    [ownAttribute.step]: call.step,
  };
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
  const transact = <R>(work: (tx: TenantTransaction) => Promise<R>) => transactAsRun(deps, call.runId, work);
  return executor.execute({
    tool,
    toolCallId: call.id,
    args: call.args,
    run: { id: call.runId },
    hops: call.hops + 1,
    place: { organizationId: call.organizationId, workspaceId: call.workspaceId },
    secret: (name) => transact((tx) => secretOf(deps, tx, { call, name, config: tool.config })),
    transact,
    variables: {
      run: { id: call.runId },
      agent: manifest?.agent ?? {},
      workspace: manifest?.workspace ?? {},
      subject: { kind: call.subjectKind, id: call.subjectId },
      now: deps.db.clock.now().toISOString(),
      vars: manifest?.vars ?? {},
    },
    policy,
    timeoutMs: call.timeoutS * 1_000,
    signal,
    readOutput: (callId, offset, limit) => transact((tx) => readWholeOutput(tx, call.runId, callId, offset, limit)),
  });
}

/**
 * Reads a secret of the tool, never from a scope wider than the tool's. The platform's built-in tools name none. A value that was set for another origin than
 * that of the run's version of the tool is not used.
 */
async function secretOf(
  deps: ActivityDeps,
  tx: TenantTransaction,
  { call, name, config }: { readonly call: CallState; readonly name: string; readonly config: RunTool['config'] },
): Promise<string | null> {
  if (call.live === null || call.toolId === null) return null;
  const toolId = (await isAimedAsNow(tx, call.toolId, config)) ? call.toolId : null;
  const row = { scope: call.live.scope, toolId, organizationId: call.organizationId, workspaceId: call.workspaceId };
  return resolveSecret(tx, deps.keys, { name, row });
}

/** Another call held the tool all the time: the result tells the model, which may try again. */
async function recordBusy(deps: ActivityDeps, { id, runId, timeoutS: seconds }: CallState): Promise<RunToolResult> {
  await refuseStale();
  const error = toolError('tool_busy', `another call has held the tool for ${seconds} s`, true);
  return await retryWhileUnavailable(() =>
    endAndSettle(deps, { runId, toolCallId: id }, async (tx) => {
      const call = await lockCall(tx, runId, id);
      return call && isOpen(call) ? { call, attempt: null, end: failedEnd('failed', 'failed', error) } : null;
    }),
  );
}

interface Came {
  readonly outcome: ToolOutcome;
  readonly settle: Settlement;
}

/** Stores the outcome. A result for an ended call is dropped; a try that has lost its claim on the call throws `fenced`. */
function record(deps: ActivityDeps, { call, attempt }: ClaimedCall, { outcome, settle }: Came): Promise<RunToolResult> {
  return endAndSettle(deps, { runId: call.runId, toolCallId: call.id }, async (tx) => {
    const locked = await lockCall(tx, call.runId, call.id);
    if (!locked || !isOpen(locked)) return null;
    if (locked.attempt !== attempt) throw fenced();
    const needsConsent = outcome.status === 'failed' && outcome.needsConsent === true;
    if (needsConsent && (await askAgain(tx, locked, { gate: 'auth', attempt, code: outcome.error.code }))) return 'gated';
    const end = await settle(tx);
    const isInDoubt = end.state === 'unknown' && isCritical(locked) && locked.runStatus !== 'cancelling';
    if (isInDoubt && (await askAgain(tx, locked, { gate: 'confirmation', attempt, code: 'outcome_unknown' }))) return 'gated';
    return { call: locked, attempt, end };
  });
}
