import Type, { type Static, type TSchema } from 'typebox';
import { frameTypes, streamProtocol, type FrameType } from '../../workflows/contracts/runs/frames.ts';
import { finishReasons, runSources, terminalRunStatuses, toolKinds, waitingOn } from '../../workflows/contracts/runs/runs.ts';
import {
  choice,
  ContentBlockPart,
  ErrorCodeName,
  FreeJson,
  FreeObject,
  Id,
  Instant,
  line,
  orNull,
  RunErrorPart,
  RunLimitsPart,
  RunOutputPart,
  RunStatusName,
  Sha256,
  TokenCounts,
  UsageTotalsPart,
  Whole,
} from './frame-parts.schema.ts';

/** Why a step is retried. */
export const retryCauses = ['worker_lost', 'upstream_error', 'rate_limited', 'timeout', 'shutdown'] as const;
export type RetryCause = (typeof retryCauses)[number];

const RetryPart = Type.Object({ cause: choice(retryCauses), error_code: orNull(line(120)), delay_ms: Whole });

const RunStartedData = Type.Object({
  agent_id: Id,
  agent_revision_id: Id,
  persona_slug: orNull(line(120)),
  session_key: orNull(line(400)),
  subject: orNull(Type.Object({ kind: choice(['user', 'guest']), id: orNull(line(200)) })),
  trigger_id: orNull(Id),
  tool_call_id: orNull(Id),
  source: choice(runSources),
  input_summary: line(500),
  depth: Whole,
  protocol: Type.Literal(streamProtocol),
  limits: RunLimitsPart,
});

const RunStatusData = Type.Object({
  status: RunStatusName,
  previous: orNull(RunStatusName),
  waiting_on: orNull(choice(waitingOn)),
  waiting_until: orNull(Instant),
  queue_position: orNull(Whole),
  reason: orNull(line(200)),
  attempt: Type.Integer({ minimum: 1 }),
  retry: orNull(RetryPart),
  discarded_message_ids: Type.Array(Id, { maxItems: 1_000 }),
});

const MessageDeltaData = Type.Object({
  message_id: Id,
  role: choice(['assistant']),
  step: Whole,
  index: Whole,
  block: choice(['text', 'refusal', 'json']),
  delta: Type.String({ minLength: 1, description: 'Never half a surrogate pair.' }),
  offset: Type.Integer({ minimum: 0, description: 'UTF-16 units of this block before it.' }),
});

const ReasoningDeltaData = Type.Object({
  message_id: Id,
  step: Whole,
  index: Whole,
  offset: Whole,
  delta: Type.String({ minLength: 1 }),
  kind: choice(['summary', 'full']),
});

const MessageCompletedData = Type.Object({
  message_id: Id,
  role: choice(['user', 'assistant', 'system']),
  step: orNull(Whole),
  model: orNull(line(200)),
  stop_reason: orNull(choice(['stop', 'tool_calls', 'max_output', 'refused', 'cancelled', 'error'])),
  content: Type.Array(ContentBlockPart, { maxItems: 1_000 }),
  tool_call_ids: Type.Array(Id, { maxItems: 1_000 }),
  origin: choice(['model', 'user', 'system', 'injected']),
  truncated: Type.Boolean(),
  ref: orNull(line(400)),
});

const ToolCallData = Type.Object({
  tool_call_id: Id,
  message_id: Id,
  tool_id: orNull(Id),
  slug: line(120),
  kind: orNull(choice(toolKinds)),
  effect: choice(['read', 'write']),
  critical: Type.Boolean(),
  client_owned: Type.Boolean(),
  phase: choice(['started', 'args_delta', 'ready', 'executing', 'progress']),
  args_delta: Type.Optional(Type.String({ description: 'In phase args_delta.' })),
  args: Type.Optional(FreeObject),
  args_hash: Type.Optional(Sha256),
  deadline_at: Type.Optional(Instant),
  progress: Type.Optional(Type.Object({ pct: orNull(Type.Integer({ minimum: 0, maximum: 100 })), text: orNull(line(2_000)) })),
});

const ToolResultData = Type.Object({
  tool_call_id: Id,
  status: choice(['succeeded', 'failed', 'denied', 'timed_out', 'cancelled']),
  output: Type.Unsafe<unknown>({ description: 'String, JSON or null; at most 64 KB.' }),
  output_type: choice(['text', 'json', 'attachment']),
  truncated: Type.Boolean(),
  cached: Type.Boolean(),
  total_chars: orNull(Whole),
  ref: orNull(line(400)),
  error: orNull(Type.Object({ code: line(120), message: line(1_000), retryable: Type.Boolean(), reason: orNull(line(120)) })),
  duration_ms: orNull(Whole),
});

const ApprovalRequestedData = Type.Object({
  approval_id: Id,
  tool_call_id: orNull(Id),
  reason: choice(['tool_call', 'input_required', 'confirmation', 'budget', 'auth']),
  prompt: Type.String(),
  args: orNull(FreeObject),
  args_hash: orNull(Sha256),
  response_schema: orNull(FreeObject),
  decisions: Type.Array(choice(['approve', 'reject', 'edit', 'respond']), { maxItems: 4 }),
  approver_floor: choice(['member', 'admin']),
  expires_at: Instant,
  on_expiry: choice(['deny', 'fail']),
});

const ApprovalResolvedData = Type.Object({
  approval_id: Id,
  decision: choice(['approved', 'rejected', 'edited', 'responded', 'expired', 'cancelled']),
  edited_args: orNull(FreeObject),
  response: FreeJson, // includes null; a oneOf with null would match it twice
  comment: orNull(line(2_000)),
  resolved_by: orNull(Type.Object({ kind: line(40), id: orNull(line(200)) })),
  resolved_at: Instant,
});

const SubAgentData = Type.Object({
  child_run_id: Id,
  tool_call_id: Id,
  agent_id: Id,
  agent_revision_id: Id,
  phase: choice(['started', 'waiting', 'finished']),
  status: RunStatusName,
  summary: orNull(line(2_000)),
  usage: orNull(UsageTotalsPart),
});

const UsageData = Type.Object({
  step: Whole,
  model: line(200),
  provider: line(120),
  tokens: TokenCounts,
  cost: Type.Object({ amount: line(40), currency: line(3), estimated: Type.Boolean() }),
  own_total: UsageTotalsPart,
  subtree_total: UsageTotalsPart,
  budget: orNull(
    Type.Object({
      period: line(20),
      limit: line(40),
      spent: line(40),
      reserved: line(40),
      pct: Type.Number(),
      threshold_crossed: Type.Boolean(),
    }),
  ),
});

const ErrorData = Type.Object({
  code: ErrorCodeName,
  message: line(1_000),
  retryable: Type.Boolean(),
  fatal: Type.Boolean({ description: 'False: the run goes on.' }),
  source: choice(['model', 'tool', 'mcp', 'knowledge', 'policy', 'stream'], 'stream: a notice for this connection alone.'),
  detail_ref: orNull(line(400)),
  resume_after_seq: Type.Optional(Type.Integer({ minimum: 0, description: 'In a notice: the last number this connection got.' })),
  problem: Type.Optional(FreeObject),
});

const RunFinishedData = Type.Object({
  status: choice(terminalRunStatuses),
  finish_reason: choice(finishReasons),
  output: orNull(RunOutputPart),
  error: orNull(RunErrorPart),
  usage: Type.Object({ own: UsageTotalsPart, subtree: UsageTotalsPart }),
  started_at: orNull(Instant),
  finished_at: Instant,
  steps: Whole,
  last_seq: Type.Integer({ minimum: 1, description: 'Its own number on its own stream.' }),
});

/** Data of the 13 frame types. */
export const frameDataSchemas = {
  'run.started': RunStartedData,
  'run.status': RunStatusData,
  'message.delta': MessageDeltaData,
  'reasoning.delta': ReasoningDeltaData,
  'message.completed': MessageCompletedData,
  'tool.call': ToolCallData,
  'tool.result': ToolResultData,
  'approval.requested': ApprovalRequestedData,
  'approval.resolved': ApprovalResolvedData,
  'sub_agent': SubAgentData,
  'usage': UsageData,
  'error': ErrorData,
  'run.finished': RunFinishedData,
} as const satisfies Record<FrameType, TSchema>;

/** The envelope of every frame. */
export const EnvelopeSchema = Type.Object({
  v: Type.Literal(streamProtocol),
  seq: orNull(Type.Integer({ minimum: 1, description: '1, 2, 3 … in this stream; null only in a notice.' })),
  origin_seq: Type.Optional(Type.Integer({ minimum: 1, description: 'Number on its own stream, on a frame copied from a descendant.' })),
  type: choice(frameTypes),
  ts: Instant,
  run_id: Id,
  root_run_id: Id,
  parent_run_id: orNull(Id),
  path: Type.Array(line(120), { maxItems: 20, description: 'Agent slugs, root first.' }),
  attempt: Type.Integer({ minimum: 1, description: 'Attempt of the writer; 1 for a state change.' }),
  data: FreeObject,
});

export type FrameData<T extends FrameType> = Static<(typeof frameDataSchemas)[T]>;

/** A frame to be written: its type and data. The rest of the envelope comes from the run, the writer and the archive. */
export type FrameDraft = { readonly [T in FrameType]: { readonly type: T; readonly data: FrameData<T> } }[FrameType];

/** A frame as read: the whole envelope. */
export type Frame = FrameDraft & Omit<Static<typeof EnvelopeSchema>, 'type' | 'data'>;
