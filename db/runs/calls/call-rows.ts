import type { ToolCallState } from '../../../workflows/contracts/runs/runs.ts';
import { newId } from '../../ids.ts';
import { row, rows, queueStatement } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { openStates, stepKindOf, type CallState } from './call-state.ts';
import type { ToolResult } from '../run-frames.ts';
import { retriesWithLost } from '../steps/retries.ts';
import type { StepFault, StepRetry } from '../run-types.ts';

/** The outcome of a call: its state, and what the model and the stream's readers get. */
export interface CallOutcome {
  readonly state: Extract<ToolCallState, 'succeeded' | 'failed' | 'denied' | 'timed_out' | 'cancelled' | 'unknown'>;
  readonly result: ToolResult;
  /** The whole output when it was truncated for the model. */
  readonly rest: string | null;
}

/** Stores the whole output of a call whose result was truncated. */
export async function keepWholeOutput(tx: TenantTransaction, call: CallState, body: string): Promise<void> {
  await queueStatement(
    tx.em,
    `insert into tool_outputs (run_id, call_id, organization_id, workspace_id, body, media_type, created_at) values (?, ?, ?, ?, ?, 'text/plain', now()) on conflict do nothing`,
    [call.run_id, call.id, call.organization_id, call.workspace_id, body],
  );
}

/** Closes the step of a call. A call that was never claimed gets its step here, so that every call is found among the steps. */
export async function closeToolStep(tx: TenantTransaction, call: CallState, end: CallOutcome, error: StepFault | null): Promise<void> {
  const text = typeof end.result.output === 'string' ? end.result.output : JSON.stringify(end.result.output ?? '');
  await queueStatement(
    tx.em,
    `insert into run_steps as s (id, organization_id, workspace_id, run_id, step, kind, name, status, attempt, tool_call_id, message_id, args, retries, output_preview, error,
       started_at, finished_at, duration_ms, created_at)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?::jsonb, '[]', ?, ?::jsonb, clock_timestamp(), clock_timestamp(), 0, now())
     on conflict (run_id, step, tool_call_id) do update set status = excluded.status, output_preview = excluded.output_preview, error = excluded.error,
       finished_at = clock_timestamp(), duration_ms = extract(epoch from clock_timestamp() - s.started_at) * 1000`,
    [
      newId(),
      call.organization_id,
      call.workspace_id,
      call.run_id,
      call.step,
      stepKindOf(call.kind),
      call.slug,
      end.result.status,
      Math.max(1, call.attempt),
      call.id,
      call.message_id,
      JSON.stringify(call.args),
      text.slice(0, 2_000).toWellFormed(),
      error === null ? null : JSON.stringify(error),
    ],
  );
}

/** Records why a try of a call ended, at most once per try. */
export async function addRetry(tx: TenantTransaction, call: Pick<CallState, 'id' | 'run_id' | 'step'>, retry: StepRetry): Promise<void> {
  await rows(
    tx.em,
    `update run_steps set retries = retries || ?::jsonb where run_id = ? and step = ? and tool_call_id = ? and attempt = ? and jsonb_array_length(retries) < attempt`,
    [JSON.stringify([retry]), call.run_id, call.step, call.id, retry.attempt],
  );
}

/** Claims a call for a try, for the timeout of its tool. Returns the end of that time, or null when the call does not exist. */
export async function writeClaim(tx: TenantTransaction, callId: string, attempt: number): Promise<string | null> {
  const claimed = await row<{ deadline_at: string }>(
    tx.em,
    `update tool_calls set state = 'executing', attempt = ?, claimed_at = clock_timestamp(), deadline_at = clock_timestamp() + make_interval(secs => timeout_s)
      where id = ? returning deadline_at`,
    [attempt, callId],
  );
  return claimed?.deadline_at ?? null;
}

/** Opens the step of a call for a try, or takes it over from the previous try. Goes with the next statement. */
export async function openToolStep(tx: TenantTransaction, call: CallState, attempt: number): Promise<void> {
  await queueStatement(
    tx.em,
    `insert into run_steps as s (id, organization_id, workspace_id, run_id, step, kind, name, status, attempt, tool_call_id, message_id, args, retries, started_at, created_at)
     values (?, ?, ?, ?, ?, 'tool', ?, 'running', ?, ?, ?, ?::jsonb, '[]', clock_timestamp(), now())
     on conflict (run_id, step, tool_call_id) do update set attempt = excluded.attempt,
       retries = ${retriesWithLost}`,
    [
      newId(),
      call.organization_id,
      call.workspace_id,
      call.run_id,
      call.step,
      call.slug,
      attempt,
      call.id,
      call.message_id,
      JSON.stringify(call.args),
    ],
  );
}

/** Writes the outcome of a call that has none. Returns null when the call already has an outcome, or when a try other than `attempt` holds it. */
export async function writeCallEnd(
  tx: TenantTransaction,
  callId: string,
  { attempt, end: { state, result } }: { readonly attempt: number | null; readonly end: CallOutcome },
): Promise<{ readonly duration_ms: number | null; readonly has_waits: boolean } | null> {
  return row<{ duration_ms: number | null; has_waits: boolean }>(
    tx.em,
    `update tool_calls c set state = ?, output = ?::jsonb, output_type = ?, total_chars = ?, truncated = ?, error = ?::jsonb, finished_at = clock_timestamp()
      where c.id = ? and c.state = any (?) and (?::int is null or (c.attempt = ?::int and c.state = 'executing'))
      returning (extract(epoch from clock_timestamp() - claimed_at) * 1000)::int as duration_ms,
        exists (select from tool_calls o where o.run_id = c.run_id and o.id <> c.id
          and (o.state = 'gated' or (o.state in ('ready', 'executing') and (o.client_owned or o.child_run_id is not null)))) as has_waits`,
    [
      state,
      JSON.stringify(result.output ?? null),
      result.output === null ? null : result.outputType,
      result.totalChars,
      result.truncated,
      result.error === null ? null : JSON.stringify(result.error),
      callId,
      openStates,
      attempt,
      attempt,
    ],
  );
}
