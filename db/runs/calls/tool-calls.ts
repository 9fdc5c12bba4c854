import { followedTime } from '../../database-clock.ts';
import type { ToolCallState } from '../../../workflows/contracts/runs.ts';
import { newId } from '../../ids.ts';
import { row, rows, queueStatement } from '../../sql.ts';
import { appendFrames, type FrameBatch } from '../../streams/append.ts';
import type { AttachmentPart, ContentBlock } from '../../streams/frame-parts.schema.ts';
import type { FrameDraft, RetryCause } from '../../streams/frame.schema.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { identityOfCall, openStates, stepKindOf, type CallState } from './call-state.ts';
import { toolCallFrame, toolResultFrame, type ToolResult } from '../run-frames.ts';
import { retriesWithLost } from '../steps/retries.ts';
import type { StepFault, StepRetry } from '../run-types.ts';
import { insertToolMessages } from './tool-messages.ts';

/**
 * Records why a try of a call ended without a result, so that it doesn't count as lost: its worker stops (`shutdown`), or people are to say what
 * becomes of the call.
 */
export async function recordRetry(
  tx: TenantTransaction,
  call: CallState,
  { attempt, cause, code }: { readonly attempt: number; readonly cause: RetryCause; readonly code: string | null },
): Promise<void> {
  const retry: StepRetry = { attempt, cause, error_code: code, at: followedTime(tx.em).toISOString(), delay_ms: 0 };
  await rows(
    tx.em,
    `update run_steps set retries = retries || ?::jsonb where run_id = ? and step = ? and tool_call_id = ? and attempt = ? and jsonb_array_length(retries) < attempt`,
    [JSON.stringify([retry]), call.run_id, call.step, call.id, attempt],
  );
}

/**
 * Claims a try of a call, in a commit of its own before any effect: ready → executing, attempt raised, its frame written.
 * From here on only a repeatable call may be executed again.
 */
export async function claimCall(tx: TenantTransaction, call: CallState): Promise<number> {
  const attempt = call.attempt + 1;
  const [claimed] = await rows<{ deadline_at: string }>(
    tx.em,
    `update tool_calls set state = 'executing', attempt = ?, claimed_at = clock_timestamp(), deadline_at = clock_timestamp() + make_interval(secs => timeout_s)
      where id = ? returning deadline_at`,
    [attempt, call.id],
  );
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
  const deadline = new Date(claimed?.deadline_at ?? followedTime(tx.em)).toISOString();
  await appendFrames(tx, [{ ...scopeOf(call, attempt), batch: 1, frames: [executingFrame(call, deadline)] }]);
  return attempt;
}

/** How a call ends: its state, what the model and the watchers get. */
export interface CallEnd {
  readonly state: Extract<ToolCallState, 'succeeded' | 'failed' | 'denied' | 'timed_out' | 'cancelled' | 'unknown'>;
  readonly result: ToolResult;
  /** The whole output when it was cut for the model. */
  readonly rest: string | null;
}

/**
 * Ends a call once: row, answer for the model, step. Gives its result frame for the caller to append, or null when the call had ended
 * or a later try holds it; the result is dropped then. `attempt` null ends it whoever holds it.
 */
export async function endCall(tx: TenantTransaction, call: CallState, attempt: number | null, end: CallEnd): Promise<FrameDraft | null> {
  const ended = await endCallBeside(tx, call, attempt, end);
  return ended && ended.frame;
}

/** A call that has ended. `hasWaits`: others of its run stand before people, clients or children, so that the run may have come to wait now. */
export interface EndedCall {
  readonly frame: FrameDraft;
  readonly hasWaits: boolean;
}

/** The same, and whether the run's state has to be settled (`settleStatus`) once this is committed. */
export async function endCallBeside(
  tx: TenantTransaction,
  call: CallState,
  attempt: number | null,
  end: CallEnd,
): Promise<EndedCall | null> {
  const { result } = end;
  // Whoever opens a wait holds all open calls: it is seen here, or sees this end.
  const ended = await rows<{ duration_ms: number | null; has_waits: boolean }>(
    tx.em,
    `update tool_calls c set state = ?, output = ?::jsonb, output_type = ?, total_chars = ?, truncated = ?, error = ?::jsonb, finished_at = clock_timestamp()
      where c.id = ? and c.state = any (?) and (?::int is null or (c.attempt = ?::int and c.state = 'executing'))
      returning (extract(epoch from clock_timestamp() - claimed_at) * 1000)::int as duration_ms,
        exists (select from tool_calls o where o.run_id = c.run_id and o.id <> c.id
          and (o.state = 'gated' or (o.state in ('ready', 'executing') and (o.client_owned or o.child_run_id is not null)))) as has_waits`,
    [
      end.state,
      JSON.stringify(result.output ?? null),
      result.output === null ? null : result.outputType,
      result.totalChars,
      result.truncated,
      result.error === null ? null : JSON.stringify(result.error),
      call.id,
      openStates,
      attempt,
      attempt,
    ],
  );
  const [closed] = ended;
  if (!closed) return null;

  if (end.rest !== null) await keepWholeOutput(tx, call, end.rest);
  await insertToolMessages(tx, { ...call, id: call.run_id }, [
    { toolCallId: call.id, step: call.step, pos: call.message_pos + 1 + call.pos, content: contentOf(result) },
  ]);
  await closeToolStep(tx, call, end, result.error);
  const frame = toolResultFrame({ id: call.run_id }, call.id, { ...result, durationMs: closed.duration_ms });
  return { frame, hasWaits: closed.has_waits };
}

/** Appends a call's result under its own scope, so that a try that was replaced can add nothing. */
export async function appendResult(tx: TenantTransaction, call: CallState, attempt: number, frame: FrameDraft): Promise<void> {
  await appendFrames(tx, [resultBatch(call, attempt, frame)]);
}

/** A call's result as a batch of a larger change. */
export function resultBatch(call: CallState, attempt: number, frame: FrameDraft): FrameBatch {
  return { ...scopeOf(call, attempt), batch: 2, frames: [frame] };
}

/**
 * Part of the whole output of an earlier call of the run's conversation, or of one that it took over (fork), also of one that was never cut: it may
 * have been left out of the prompt since. Null when none is stored under that id.
 */
export async function readWholeOutput(
  tx: TenantTransaction,
  runId: string,
  callId: string,
  offset: number,
  limit: number,
): Promise<{ text: string; totalChars: number } | null> {
  if (!callIdPattern.test(callId)) return null; // a model writes what it likes
  const found = await row<{ body: string }>(
    tx.em,
    `select coalesce(o.body, c.output #>> '{}') as body from tool_calls c join runs r on r.id = c.run_id
       left join tool_outputs o on o.run_id = c.run_id and o.call_id = c.id
      where c.id = ?::uuid and coalesce(o.body, c.output #>> '{}') is not null and exists (select from runs k where k.id = ? and (r.conversation_id = k.conversation_id
        or exists (select from messages m where m.conversation_id = k.conversation_id and m.tool_call_id = c.id and m.state = 'committed')))`,
    [callId, runId],
  );
  return found ? { text: found.body.slice(offset, offset + limit), totalChars: found.body.length } : null;
}

const callIdPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

function scopeOf(call: CallState, attempt: number) {
  return { run: identityOfCall(call), scope: `c:${call.id}`, attempt };
}

/** Tells that a call is executed from now on, here or by its client, and until when. */
export function executingFrame(call: CallState, deadline: string): FrameDraft {
  const identity = {
    toolCallId: call.id,
    messageId: call.message_id,
    toolId: call.tool_id,
    slug: call.slug,
    kind: call.kind,
    effect: call.effect,
    critical: call.critical,
    clientOwned: call.client_owned,
  };
  return toolCallFrame(identity, { phase: 'executing', deadline_at: deadline });
}

async function keepWholeOutput(tx: TenantTransaction, call: CallState, body: string): Promise<void> {
  await queueStatement(
    tx.em,
    `insert into tool_outputs (run_id, call_id, organization_id, workspace_id, body, media_type, created_at) values (?, ?, ?, ?, ?, 'text/plain', now()) on conflict do nothing`,
    [call.run_id, call.id, call.organization_id, call.workspace_id, body],
  );
}

/** A call that was never claimed gets its step here, so that every call is found among the steps. */
async function closeToolStep(tx: TenantTransaction, call: CallState, end: CallEnd, error: StepFault | null): Promise<void> {
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

function contentOf(result: ToolResult): ContentBlock[] {
  if (result.error === null) return outputBlocks(result);
  const told: ContentBlock = { type: 'text', text: result.error.message };
  return result.output === null ? [told] : [...outputBlocks(result), told];
}

function outputBlocks(result: ToolResult): ContentBlock[] {
  if (result.outputType === 'json') return [{ type: 'json', value: result.output }];
  // The first block is what the model reads; the files behind it are for people.
  if (result.outputType === 'attachment') return [{ type: 'json', value: result.output }, ...(result.files ?? []).map(attachmentBlock)];
  return [{ type: 'text', text: String(result.output ?? '') }];
}

function attachmentBlock(file: AttachmentPart): ContentBlock {
  return { type: 'attachment', ...file };
}
