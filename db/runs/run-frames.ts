import { streamProtocol } from '../../workflows/contracts/runs/frames.ts';
import type { FinishReason, RunSource, terminalRunStatuses } from '../../workflows/contracts/runs/runs.ts';
import { iso } from '../sql.ts';
import type { AttachmentPart, ContentBlock } from '../streams/frame-parts.schema.ts';
import type { FrameData, FrameDraft } from '../streams/frame.schema.ts';
import type { RunState } from './run-state.ts';
import type { RunError } from './run-types.ts';

export type RunOutput = NonNullable<FrameData<'run.finished'>['output']>;
export type RunUsage = FrameData<'run.finished'>['usage'];
export type StopReason = NonNullable<FrameData<'message.completed'>['stop_reason']>;
export type ToolResultStatus = FrameData<'tool.result'>['status'];

const maxSummaryChars = 500;

export function startedFrame(run: RunState): FrameDraft {
  return {
    type: 'run.started',
    data: {
      agent_id: run.agent_id,
      agent_revision_id: run.agent_revision_id,
      persona_slug: run.persona_slug,
      session_key: run.session_key,
      subject: run.subject_kind === null ? null : { kind: run.subject_kind, id: run.subject_id },
      trigger_id: run.trigger_id,
      tool_call_id: run.parent_tool_call_id,
      source: run.source as RunSource, // the column's check allows only these
      input_summary: (run.input.text ?? JSON.stringify(run.input.json ?? '')).slice(0, maxSummaryChars).toWellFormed(),
      depth: run.depth,
      protocol: streamProtocol,
      limits: run.limits,
    },
  };
}

export interface CompletedMessage {
  readonly messageId: string;
  readonly role: 'user' | 'assistant' | 'system';
  readonly step: number | null;
  readonly model: string | null;
  readonly stopReason: StopReason | null;
  readonly content: ContentBlock[];
  readonly toolCallIds: string[];
  readonly origin: 'user' | 'model' | 'system' | 'injected';
}

export function messageFrame(message: CompletedMessage): FrameDraft {
  return {
    type: 'message.completed',
    data: {
      message_id: message.messageId,
      role: message.role,
      step: message.step,
      model: message.model,
      stop_reason: message.stopReason,
      content: message.content,
      tool_call_ids: message.toolCallIds,
      origin: message.origin,
      truncated: false,
      ref: null,
    },
  };
}

export interface FinishedRun {
  readonly status: (typeof terminalRunStatuses)[number];
  readonly finishReason: FinishReason;
  readonly output: RunOutput | null;
  readonly error: RunError | null;
  readonly finishedAt: Date;
  readonly lastSeq: number;
  readonly usage: RunUsage;
}

export function finishedFrame(run: RunState, end: FinishedRun): FrameDraft {
  return {
    type: 'run.finished',
    data: {
      status: end.status,
      finish_reason: end.finishReason,
      output: end.output,
      error: end.error,
      usage: end.usage,
      started_at: run.started_at === null ? null : iso(run.started_at),
      finished_at: iso(end.finishedAt),
      steps: run.steps,
      last_seq: end.lastSeq,
    },
  };
}

/** A tool call as its frames show it. */
export interface CallIdentity {
  readonly toolCallId: string;
  readonly messageId: string;
  readonly toolId: string | null;
  readonly slug: string;
  readonly kind: FrameData<'tool.call'>['kind'];
  readonly effect: 'read' | 'write';
  /** Omitted when false. */
  readonly critical?: boolean;
  readonly clientOwned?: boolean;
}

export function toolCallFrame(
  call: CallIdentity,
  phase: Pick<FrameData<'tool.call'>, 'phase' | 'args' | 'args_hash' | 'args_delta' | 'deadline_at'>,
): FrameDraft {
  return { type: 'tool.call', data: { ...toolCallData(call), ...phase } };
}

/** The data that every frame of a call carries about it. */
export function toolCallData(call: CallIdentity) {
  return {
    tool_call_id: call.toolCallId,
    message_id: call.messageId,
    tool_id: call.toolId,
    slug: call.slug,
    kind: call.kind,
    effect: call.effect,
    critical: call.critical ?? false,
    client_owned: call.clientOwned ?? false,
  };
}

export interface ToolResult {
  readonly status: ToolResultStatus;
  readonly output: unknown;
  readonly outputType: 'text' | 'json' | 'attachment';
  /** For output type attachment: the files that the output names. */
  readonly files?: readonly AttachmentPart[];
  readonly truncated: boolean;
  readonly cached: boolean;
  readonly totalChars: number | null;
  readonly error: FrameData<'tool.result'>['error'];
  readonly durationMs: number | null;
}

/** Returns the result of a call that has no output. */
export function resultWithoutOutput(status: ToolResultStatus, error: ToolResult['error']): ToolResult {
  return { status, output: null, outputType: 'text', truncated: false, cached: false, totalChars: null, error, durationMs: null };
}

/** A frame carries at most 64 KB of a result; the message that answers the call has the rest. */
const maxResultBytes = 64 * 1024;

export function toolResultFrame(run: { readonly id: string }, toolCallId: string, result: ToolResult): FrameDraft {
  const text = typeof result.output === 'string' ? result.output : JSON.stringify(result.output ?? null);
  const isTooLong = Buffer.byteLength(text) > maxResultBytes;
  return {
    type: 'tool.result',
    data: {
      tool_call_id: toolCallId,
      status: result.status,
      output: isTooLong
        ? Buffer.from(text)
            .subarray(0, maxResultBytes)
            .toString('utf8')
            .replace(/\uFFFD$/, '')
        : result.output,
      output_type: isTooLong ? 'text' : result.outputType,
      truncated: result.truncated || isTooLong,
      cached: result.cached,
      total_chars: result.totalChars,
      ref: isTooLong ? `/runs/${run.id}/messages?tool_call_id=${toolCallId}` : null,
      error: result.error,
      duration_ms: result.durationMs,
    },
  };
}
