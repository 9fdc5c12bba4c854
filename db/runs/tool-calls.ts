import type { Scope } from '../../workflows/contracts/access.ts';
import { isTerminal, type RunStatus, type ToolCallState, type ToolKind } from '../../workflows/contracts/runs.ts';
import { newId } from '../ids.ts';
import { row, rows } from '../sql.ts';
import { appendFrames } from '../streams/append.ts';
import type { AttachmentPart, ContentBlock } from '../streams/frame-parts.schema.ts';
import type { FrameDraft } from '../streams/frame.schema.ts';
import type { RunIdentity } from '../streams/frame-text.ts';
import { isToolOn } from '../tools/tool-on.sql.ts';
import type { Unit } from '../unit.ts';
import type { Manifest } from './manifest.ts';
import { toolCallFrame, toolResultFrame, type ToolResult } from './run-frames.ts';
import { retriesWithLost } from './retries.sql.ts';
import { frozenSql } from './run-state.ts';
import type { StepFault, StepRetry } from './run-types.ts';
import { insertToolMessages } from './tool-messages.ts';

/** A call's row with what its run and its message say, locked to the end of the transaction. */
export interface CallState {
  readonly id: string;
  readonly run_id: string;
  readonly organization_id: string;
  readonly workspace_id: string;
  readonly conversation_id: string;
  readonly root_run_id: string;
  readonly parent_run_id: string | null;
  readonly agent_slug: string;
  readonly turn_no: number | null;
  readonly run_status: RunStatus;
  readonly run_input: { readonly text?: string; readonly json?: unknown };
  readonly subject_kind: string | null;
  readonly subject_id: string | null;
  readonly manifest: Manifest | null;
  readonly step: number;
  readonly pos: number;
  readonly message_id: string;
  readonly message_pos: number;
  readonly tool_id: string | null;
  readonly slug: string;
  readonly kind: ToolKind | null;
  readonly effect: 'read' | 'write';
  readonly is_idempotent: boolean;
  readonly timeout_s: number;
  readonly response_max_chars: number;
  readonly args: Record<string, unknown>;
  readonly state: ToolCallState;
  readonly attempt: number;
  readonly claimed_at: string | null;
  /** Tries that ended without a result, as its step records them. */
  readonly retries: readonly StepRetry[];
  readonly concurrency: 'read' | 'write' | 'exclusive';
  /** `read`: the run may not change anything. */
  readonly max_effect: 'read' | 'write';
  /** Read live: what stops a tool counts at its next call. Null: it has no row, or none any more. */
  readonly live: LiveTool | null;
  /** The run's place takes no more work. */
  readonly is_frozen: boolean;
}

/** The tool's row at the time of the call. */
export interface LiveTool {
  readonly scope: Scope;
  readonly effect: 'read' | 'write';
  readonly critical: boolean;
  readonly client_owned: boolean;
  readonly is_active: boolean;
  readonly is_quarantined: boolean;
}

const liveTool = `(select jsonb_build_object('scope', t.scope, 'effect', t.effect, 'critical', t.critical, 'client_owned', t.client_owned, 'is_active', ${isToolOn('t')},
    'is_quarantined', t.quarantined_at is not null) from tools t where t.id = c.tool_id and t.deleted_at is null) as live`;

const callColumns = `c.id, c.run_id, c.organization_id, c.workspace_id, r.conversation_id, r.root_run_id, r.parent_run_id, r.agent_slug, r.turn_no, r.status as run_status,
  r.input as run_input, r.subject_kind, r.subject_id, r.manifest, c.step, c.pos, c.message_id, m.pos as message_pos, c.tool_id, c.slug, c.kind, c.effect, c.is_idempotent,
  c.timeout_s, c.response_max_chars, c.args, c.state, c.attempt, c.claimed_at,
  coalesce((select s.retries from run_steps s where s.run_id = c.run_id and s.step = c.step and s.tool_call_id = c.id), '[]'::jsonb) as retries,
  c.concurrency, r.max_effect, ${liveTool},
  ${frozenSql('c.workspace_id')} as is_frozen`;

const openStates = ['recorded', 'gated', 'ready', 'executing'];

/** Locks a call; null when it is not there. */
export function lockCall(unit: Unit, runId: string, toolCallId: string): Promise<CallState | null> {
  return row<CallState>(
    unit.em,
    `select ${callColumns} from tool_calls c join runs r on r.id = c.run_id join messages m on m.id = c.message_id where c.id = ? and c.run_id = ? for no key update of c`,
    [toolCallId, runId],
  );
}

/** Locks the calls of a run that have no result yet, in the order in which the model asked. */
export function lockOpenCalls(unit: Unit, runId: string): Promise<CallState[]> {
  return rows<CallState>(
    unit.em,
    `select ${callColumns} from tool_calls c join runs r on r.id = c.run_id join messages m on m.id = c.message_id
      where c.run_id = ? and c.state = any (?) order by c.step, c.pos for no key update of c`,
    [runId, openStates],
  );
}

export function isOpen(call: CallState): boolean {
  return openStates.includes(call.state) && !isTerminal(call.run_status);
}

/** Whether executing the call again can do no harm. */
export function isRepeatable(call: CallState): boolean {
  return call.effect === 'read' || call.is_idempotent;
}

/** Tries whose worker died under them; the one that is open counts, since whoever asks has found it without a result. */
export function lostTries(call: CallState): number {
  const recorded = call.retries.filter((retry) => retry.cause === 'worker_lost').length;
  return recorded + (call.state === 'executing' && call.retries.length < call.attempt ? 1 : 0);
}

/** Records that a try was handed over by a worker that stops: it doesn't count as lost. */
export async function recordHandover(unit: Unit, call: CallState, attempt: number): Promise<void> {
  const retry: StepRetry = { attempt, cause: 'shutdown', error_code: null, at: new Date().toISOString(), delay_ms: 0 };
  await rows(
    unit.em,
    `update run_steps set retries = retries || ?::jsonb where run_id = ? and step = ? and tool_call_id = ? and attempt = ? and jsonb_array_length(retries) < attempt`,
    [JSON.stringify([retry]), call.run_id, call.step, call.id, attempt],
  );
}

/**
 * Claims a try of a call, in a commit of its own before any effect: ready → executing, attempt raised, its frame written.
 * From here on only a repeatable call may be executed again.
 */
export async function claimCall(unit: Unit, call: CallState): Promise<number> {
  const attempt = call.attempt + 1;
  const [claimed] = await rows<{ deadline_at: string }>(
    unit.em,
    `update tool_calls set state = 'executing', attempt = ?, claimed_at = clock_timestamp(), deadline_at = clock_timestamp() + make_interval(secs => timeout_s)
      where id = ? returning deadline_at`,
    [attempt, call.id],
  );
  await rows(
    unit.em,
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
  const deadline = new Date(claimed?.deadline_at ?? Date.now()).toISOString();
  await appendFrames(unit, [{ ...scopeOf(call, attempt), batch: 1, frames: [executingFrame(call, deadline)] }]);
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
export async function endCall(unit: Unit, call: CallState, attempt: number | null, end: CallEnd): Promise<FrameDraft | null> {
  const { result } = end;
  const ended = await rows<{ duration_ms: number | null }>(
    unit.em,
    `update tool_calls set state = ?, output = ?::jsonb, output_type = ?, total_chars = ?, truncated = ?, error = ?::jsonb, finished_at = clock_timestamp()
      where id = ? and state = any (?) and (?::int is null or attempt = ?::int)
      returning (extract(epoch from clock_timestamp() - claimed_at) * 1000)::int as duration_ms`,
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

  if (end.rest !== null) await keepWholeOutput(unit, call, end.rest);
  await insertToolMessages(unit, { ...call, id: call.run_id }, [
    { toolCallId: call.id, step: call.step, pos: call.message_pos + 1 + call.pos, content: contentOf(result) },
  ]);
  await closeToolStep(unit, call, end, result.error);
  return toolResultFrame({ id: call.run_id }, call.id, { ...result, durationMs: closed.duration_ms });
}

/** Appends a call's result under its own scope, so that a try that was replaced can add nothing. */
export async function appendResult(unit: Unit, call: CallState, attempt: number, frame: FrameDraft): Promise<void> {
  await appendFrames(unit, [{ ...scopeOf(call, attempt), batch: 2, frames: [frame] }]);
}

/** Part of the whole output of an earlier call of the run's conversation; null when none is stored under that id. */
export async function readWholeOutput(
  unit: Unit,
  runId: string,
  callId: string,
  offset: number,
  limit: number,
): Promise<{ text: string; totalChars: number } | null> {
  const found = await row<{ body: string; total_chars: number }>(
    unit.em,
    `select body, total_chars from tool_outputs o join tool_calls c on c.id = o.call_id join runs r on r.id = o.run_id
      where o.call_id::text = ? and r.conversation_id = (select conversation_id from runs where id = ?)`,
    [callId, runId],
  );
  return found ? { text: found.body.slice(offset, offset + limit), totalChars: found.body.length } : null;
}

export function identityOfCall(call: CallState): RunIdentity {
  return {
    runId: call.run_id,
    rootRunId: call.root_run_id,
    parentRunId: call.parent_run_id,
    organizationId: call.organization_id,
    workspaceId: call.workspace_id,
    path: [call.agent_slug],
  };
}

function scopeOf(call: CallState, attempt: number) {
  return { run: identityOfCall(call), scope: `c:${call.id}`, attempt };
}

function executingFrame(call: CallState, deadline: string): FrameDraft {
  const identity = {
    toolCallId: call.id,
    messageId: call.message_id,
    toolId: call.tool_id,
    slug: call.slug,
    kind: call.kind,
    effect: call.effect,
  };
  return toolCallFrame(identity, { phase: 'executing', deadline_at: deadline });
}

async function keepWholeOutput(unit: Unit, call: CallState, body: string): Promise<void> {
  await rows(
    unit.em,
    `insert into tool_outputs (run_id, call_id, organization_id, workspace_id, body, media_type, created_at) values (?, ?, ?, ?, ?, 'text/plain', now()) on conflict do nothing`,
    [call.run_id, call.id, call.organization_id, call.workspace_id, body],
  );
}

/** A call that was never claimed gets its step here, so that every call is found among the steps. */
async function closeToolStep(unit: Unit, call: CallState, end: CallEnd, error: StepFault | null): Promise<void> {
  const text = typeof end.result.output === 'string' ? end.result.output : JSON.stringify(end.result.output ?? '');
  await rows(
    unit.em,
    `insert into run_steps as s (id, organization_id, workspace_id, run_id, step, kind, name, status, attempt, tool_call_id, message_id, args, retries, output_preview, error,
       started_at, finished_at, duration_ms, created_at)
     values (?, ?, ?, ?, ?, 'tool', ?, ?, ?, ?, ?, ?::jsonb, '[]', ?, ?::jsonb, clock_timestamp(), clock_timestamp(), 0, now())
     on conflict (run_id, step, tool_call_id) do update set status = excluded.status, output_preview = excluded.output_preview, error = excluded.error,
       finished_at = clock_timestamp(), duration_ms = extract(epoch from clock_timestamp() - s.started_at) * 1000`,
    [
      newId(),
      call.organization_id,
      call.workspace_id,
      call.run_id,
      call.step,
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
  if (result.error !== null) return [{ type: 'text', text: result.error.message }];
  if (result.outputType === 'json') return [{ type: 'json', value: result.output }];
  // The first block is what the model reads; the files behind it are for people.
  if (result.outputType === 'attachment') return [{ type: 'json', value: result.output }, ...(result.files ?? []).map(attachmentBlock)];
  return [{ type: 'text', text: String(result.output ?? '') }];
}

function attachmentBlock(file: AttachmentPart): ContentBlock {
  return { type: 'attachment', ...file };
}
