import type { CallApproval } from '../../../workflows/contracts/runs/approvals.ts';
import type { ModelUsage } from '../../billing/ledger/usage.ts';
import { newId } from '../../ids.ts';
import { row, rows, queueStatement } from '../../sql.ts';
import type { ContentBlock } from '../../streams/frame-parts.schema.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { stepKindOf } from '../calls/call-state.ts';
import type { FollowUp } from '../start/follow-up.ts';
import type { CallIdentity, StopReason } from '../run-frames.ts';
import type { RunState } from '../run-state.ts';
import type { StepFault } from '../run-types.ts';
import { storedState } from '../calls/planned-calls.ts';

/** A call that the model asked for, after checks: `refusal` is its result when it cannot be executed at all. */
export interface CheckedCall extends CallIdentity {
  readonly pos: number;
  readonly providerCallId: string;
  readonly concurrency: 'read' | 'write' | 'exclusive';
  readonly timeoutS: number;
  readonly responseMaxChars: number;
  readonly isIdempotent: boolean;
  readonly args: Record<string, unknown>;
  readonly argsHash: string;
  readonly critical: boolean;
  readonly clientOwned: boolean;
  /** Why the call needs an approval before it is executed; null: it needs none. */
  readonly gate: CallApproval | null;
  readonly refusal: StepFault | null;
}

/** An answered model step, as it is stored. */
export interface ModelStepResult {
  readonly runId: string;
  readonly step: number;
  readonly attempt: number;
  readonly messageId: string;
  readonly model: string;
  readonly stopReason: StopReason;
  readonly content: ContentBlock[];
  readonly providerState: unknown;
  readonly calls: readonly CheckedCall[];
  /** The next message to the model when its answer was not accepted; null: none. */
  readonly followUp: FollowUp | null;
  readonly firstTokenAt: Date | null;
  readonly usage: ModelUsage;
}

/** Closes the step of a try. Returns false when a later try holds the step, or when it is closed. */
export async function closeStep(tx: TenantTransaction, result: ModelStepResult): Promise<boolean> {
  const preview = result.content
    .map((block) => ('text' in block && block.type === 'text' ? block.text : ''))
    .join('')
    .slice(0, 2_000)
    .toWellFormed();
  const closed = await rows(
    tx.em,
    `update run_steps set status = 'succeeded', in_flight = null, name = ?, message_id = ?, output_preview = ?, first_token_at = ?::timestamptz, finished_at = clock_timestamp(),
            duration_ms = extract(epoch from clock_timestamp() - started_at) * 1000
      where run_id = ? and step = ? and tool_call_id is null and attempt = ? and status = 'running' returning id`,
    [result.model, result.messageId, preview, result.firstTokenAt?.toISOString() ?? null, result.runId, result.step, result.attempt],
  );
  return closed.length > 0;
}

/** Returns whether the step's answer is stored: a commit whose reply was lost has written everything. */
export async function isStored(tx: TenantTransaction, result: ModelStepResult): Promise<boolean> {
  return (
    (await row(tx.em, `select 1 as stored from messages where id = ? and run_id = ? and stop_reason is not null`, [
      result.messageId,
      result.runId,
    ])) !== null
  );
}

/** Returns the position after the messages of a run. */
export async function nextPosition(tx: TenantTransaction, runId: string): Promise<number> {
  const found = await row<{ pos: number }>(tx.em, 'select coalesce(max(pos) + 1, 0)::int as pos from messages where run_id = ?', [runId]);
  return found?.pos ?? 0;
}

/** Writes the model's message. Goes with the next statement. */
export async function insertAssistantMessage(tx: TenantTransaction, run: RunState, result: ModelStepResult, pos: number): Promise<void> {
  await queueStatement(
    tx.em,
    `insert into messages (id, organization_id, workspace_id, conversation_id, run_id, turn, pos, step, role, origin, content, tool_call_ids, model, stop_reason,
       state, attempt, provider_state, created_at)
     values (?, ?, ?, ?, ?, ?, ?, ?, 'assistant', 'model', ?::jsonb, ?::uuid[], ?, ?, 'pending', ?, ?::jsonb, now())`,
    [
      result.messageId,
      run.organization_id,
      run.workspace_id,
      run.conversation_id,
      run.id,
      run.turn_no ?? 0,
      pos,
      result.step,
      JSON.stringify(result.content),
      result.calls.map((call) => call.toolCallId),
      result.model,
      result.stopReason,
      result.attempt,
      result.providerState === null ? null : JSON.stringify(result.providerState),
    ],
  );
}

/** Writes the calls that the model asked for. Goes with the next statement; sends none when there are no calls. */
export async function insertCalls(tx: TenantTransaction, run: RunState, result: ModelStepResult): Promise<void> {
  if (result.calls.length === 0) return;
  const calls = result.calls.map((call) => ({
    id: call.toolCallId,
    pos: call.pos,
    provider_call_id: call.providerCallId,
    tool_id: call.toolId,
    slug: call.slug,
    kind: call.kind,
    effect: call.effect,
    concurrency: call.concurrency,
    is_idempotent: call.isIdempotent,
    timeout_s: call.timeoutS,
    response_max_chars: call.responseMaxChars,
    args: call.args,
    args_hash: call.argsHash,
    state: storedState(call),
    gate: call.gate,
    critical: call.critical,
    client_owned: call.clientOwned,
    error: call.refusal,
  }));
  await queueStatement(
    tx.em,
    `insert into tool_calls (id, organization_id, workspace_id, run_id, step, message_id, pos, provider_call_id, tool_id, slug, kind, effect, concurrency, is_idempotent,
       timeout_s, response_max_chars, args, args_hash, state, error, critical, client_owned, gate, attempt, truncated, finished_at, created_at)
     select c.id, ?, ?, ?, ?, ?, c.pos, c.provider_call_id, c.tool_id, c.slug, c.kind, c.effect, c.concurrency, c.is_idempotent,
            c.timeout_s, c.response_max_chars, c.args, c.args_hash, c.state, nullif(c.error, 'null'::jsonb), c.critical, c.client_owned, c.gate, 0, false,
            case when c.state = 'failed' then clock_timestamp() end, now()
       from jsonb_to_recordset(?::jsonb) as c(id uuid, pos int, provider_call_id text, tool_id uuid, slug text, kind text, effect text, concurrency text,
            is_idempotent boolean, timeout_s int, response_max_chars int, args jsonb, args_hash text, state text, error jsonb, critical boolean, client_owned boolean, gate text)`,
    [run.organization_id, run.workspace_id, run.id, result.step, result.messageId, JSON.stringify(calls)],
  );
}

/** Writes the steps of refused calls, so that they are found among the steps like any other. */
export async function insertRefusedSteps(
  tx: TenantTransaction,
  run: RunState,
  result: ModelStepResult,
  refused: readonly CheckedCall[],
): Promise<void> {
  if (refused.length === 0) return;
  const steps = refused.map((call) => ({
    id: newId(),
    call: call.toolCallId,
    kind: stepKindOf(call.kind),
    slug: call.slug,
    args: call.args,
    error: call.refusal,
  }));
  await queueStatement(
    tx.em,
    `insert into run_steps (id, organization_id, workspace_id, run_id, step, kind, name, status, attempt, tool_call_id, message_id, args, retries, error, started_at, finished_at,
       duration_ms, created_at)
     select s.id, ?, ?, ?, ?, s.kind, s.slug, 'failed', 1, s.call, ?, s.args, '[]', s.error, clock_timestamp(), clock_timestamp(), 0, now()
       from jsonb_to_recordset(?::jsonb) as s(id uuid, call uuid, kind text, slug text, args jsonb, error jsonb)`,
    [run.organization_id, run.workspace_id, run.id, result.step, result.messageId, JSON.stringify(steps)],
  );
}

/** Records that a run has reached a step. Goes with the next statement. */
export async function countStep(tx: TenantTransaction, runId: string, step: number): Promise<void> {
  await queueStatement(tx.em, 'update runs set steps = greatest(steps, ?::int), updated_at = now() where id = ?', [step, runId]);
}
