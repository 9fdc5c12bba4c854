import Type from 'typebox';
import { closed, FreeObject, idOf, integer, listOf, nullable, oneOf, text, Timestamp } from '../http/input/schema.ts';
import { UsageTotals } from './run.schema.ts';

export const stepKinds = ['model', 'tool', 'sub_agent', 'system'] as const;

const StepError = closed(
  {
    code: text(60, { description: 'An error code, or the result code of a tool' }),
    message: text(1_000),
    retryable: Type.Boolean(),
    reason: nullable(text(120)),
  },
  { $id: 'StepError' },
);

const StepRetry = closed(
  {
    attempt: integer({ minimum: 1 }),
    cause: oneOf(['worker_lost', 'upstream_error', 'rate_limited', 'timeout', 'shutdown']),
    error_code: nullable(text(60)),
    at: Timestamp,
    delay_ms: integer(),
  },
  { $id: 'StepRetry', description: 'A try that failed, and why' },
);

export const RunStepView = closed(
  {
    id: idOf('Other'),
    run_id: idOf('Run'),
    step: integer(),
    kind: oneOf(stepKinds),
    name: text(200),
    status: oneOf(['running', 'succeeded', 'failed', 'denied', 'timed_out', 'cancelled']),
    attempt: integer({ minimum: 1 }),
    message_id: nullable(idOf('Message')),
    tool_call_id: nullable(idOf('ToolCall')),
    child_run_id: nullable(idOf('Run')),
    args: nullable(FreeObject),
    output_preview: nullable(text(2_000)),
    error: nullable(StepError),
    retries: listOf(StepRetry, { maxItems: 100 }),
    usage: nullable(UsageTotals),
    started_at: Timestamp,
    first_token_at: nullable(Timestamp),
    finished_at: nullable(Timestamp),
    duration_ms: nullable(integer()),
    trace_id: nullable(text(32, { description: 'W3C trace id of the step; null where nothing is traced' })),
    span_id: nullable(text(16, { description: 'W3C span id of the last try of the step; null where nothing is traced' })),
  },
  { $id: 'RunStepView', description: 'A model call or tool call of a run' },
);

export const StepFilters = closed({
  kind: Type.Optional(oneOf(stepKinds)),
  tool_call_id: Type.Optional(idOf('ToolCall')),
});
