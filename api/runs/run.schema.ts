import Type from 'typebox';
import { errorCodeNames } from '../../workflows/contracts/error-codes.ts';
import { finishReasons, runSources, runStatuses, waitingOn } from '../../workflows/contracts/runs/runs.ts';
import {
  Amount,
  closed,
  Decimal,
  FreeObject,
  idOf,
  integer,
  listOf,
  nullable,
  oneOf,
  Slug,
  text,
  Timestamp,
} from '../http/input/schema.ts';
import { PendingToolCall } from './tool-call.schema.ts';

export const RunParams = closed({ run_id: idOf('Run') });

const InputText = text(262_144, { minLength: 1 });
const SessionKey = text(400, { minLength: 1, description: 'Runs with the same key share a conversation' });
const onBusyKinds = ['enqueue', 'reject', 'interrupt', 'rollback', 'steer'] as const;
const admissions = ['started', 'queued', 'delayed', 'steered'] as const;

const AttachmentInput = closed(
  { attachment_id: idOf('Attachment') },
  { $id: 'AttachmentInput', description: 'A previously uploaded file' },
);

export const RunInput = closed(
  {
    text: Type.Optional(InputText),
    json: Type.Optional(FreeObject),
    attachments: Type.Optional(
      listOf(AttachmentInput, { maxItems: 20, description: 'Files for the agent; they are kept and visible as long as the run' }),
    ),
  },
  { $id: 'RunInput', description: 'The input for the agent; text or json is required' },
);

const SubjectInput = closed(
  { kind: oneOf(['user', 'guest']), id: text(200, { minLength: 1 }) },
  { $id: 'SubjectInput', description: 'For whom the agent works' },
);

export const RunLimitsInput = closed(
  {
    max_steps: Type.Optional(integer({ minimum: 1, maximum: 500 })),
    max_duration_s: Type.Optional(integer({ minimum: 10, maximum: 604_800, description: 'Time spent waiting does not count' })),
    max_output_tokens: Type.Optional(nullable(integer({ minimum: 1, maximum: 200_000 }))),
    max_cost: Type.Optional(nullable(Amount)),
    max_children: Type.Optional(integer({ minimum: 0, maximum: 50, description: 'Total number of sub-agents, at any depth' })),
    max_depth: Type.Optional(integer({ minimum: 0, maximum: 5 })),
    approval_ttl_s: Type.Optional(integer({ minimum: 30, maximum: 2_592_000, description: 'How long a question waits for its answer' })),
    on_expiry: Type.Optional(
      oneOf(['deny', 'fail'], { description: 'What happens when a question expires: its call is denied, or the run fails' }),
    ),
    on_budget: Type.Optional(oneOf(['fail', 'wait'], { description: 'What happens when a budget is exhausted: the run fails, or waits' })),
  },
  { $id: 'RunLimitsInput', description: 'Limits of this run; they can only lower those of the revision' },
);

const ReviewInput = closed(
  {
    binding_id: idOf('RepoBinding', 'The bound repository'),
    pull_number: integer({ minimum: 1, maximum: 2_147_483_647, description: 'Its number at the Git host' }),
    full: Type.Optional(Type.Boolean({ default: false, description: 'Reviews everything, not only what is new' })),
    post: Type.Optional(
      Type.Boolean({ default: true, description: 'false: nothing is written to the Git host, and no findings are stored' }),
    ),
    instructions: Type.Optional(nullable(text(4_000, { minLength: 1, description: 'What to look at' }))),
  },
  { $id: 'ReviewInput', description: 'A pull request to review with the binding’s agent; agent and input must be omitted' },
);

export const RunCreate = closed(
  {
    workspace_id: Type.Optional(idOf('Workspace')),
    agent_id: Type.Optional(idOf('Agent', 'The agent; exactly one of agent_id and agent_slug is required')),
    agent_slug: Type.Optional(Slug),
    revision_id: Type.Optional(nullable(idOf('AgentRevision', 'Any revision of the agent; defaults to the active one'))),
    persona_slug: Type.Optional(
      nullable(
        text(200, {
          minLength: 1,
          description: 'A persona of the agent; defaults to that of the conversation, otherwise to that of the agent',
        }),
      ),
    ),
    input: Type.Optional(RunInput),
    review: Type.Optional(ReviewInput),
    session_key: Type.Optional(nullable(SessionKey)),
    subject: Type.Optional(nullable(SubjectInput)),
    on_busy: Type.Optional(
      oneOf(onBusyKinds, {
        default: 'enqueue',
        description:
          'When the conversation has an active run: queue the new run, reject it, replace the active run (interrupt keeps its output, rollback discards it), or steer: the input joins the active run',
      }),
    ),
    mode: Type.Optional(oneOf(['async', 'wait'], { default: 'async' })),
    wait_timeout_s: Type.Optional(integer({ minimum: 1, maximum: 60, default: 60 })),
    start_after: Type.Optional(nullable(Timestamp)),
    limits: Type.Optional(RunLimitsInput),
    metadata: Type.Optional(FreeObject),
  },
  { $id: 'RunCreate' },
);

export const RunCancel = closed(
  {
    policy: Type.Optional(
      oneOf(['interrupt', 'rollback'], {
        default: 'interrupt',
        description: 'interrupt keeps the output so far, rollback discards the turn with its input',
      }),
    ),
    reason: Type.Optional(nullable(text(500, { minLength: 1 }))),
  },
  { $id: 'RunCancel' },
);

export const WaitQuery = closed({ timeout_s: Type.Optional(integer({ minimum: 0, maximum: 60, default: 30 })) });

export const RunFilters = closed({
  workspace_id: Type.Optional(idOf('Workspace')),
  agent_id: Type.Optional(idOf('Agent')),
  status: Type.Optional(oneOf(runStatuses)),
  waiting_on: Type.Optional(oneOf(waitingOn)),
  session_key: Type.Optional(SessionKey),
  subject_id: Type.Optional(text(200, { minLength: 1 })),
  trigger_id: Type.Optional(idOf('Trigger')),
  parent_run_id: Type.Optional(idOf('Run')),
  evaluation_run_id: Type.Optional(idOf('Evaluation')),
  binding_id: Type.Optional(idOf('RepoBinding')),
  from: Type.Optional(Timestamp),
  to: Type.Optional(Timestamp),
});

const Subject = closed({ kind: oneOf(['user', 'guest']), id: text(200) }, { $id: 'Subject', description: 'For whom the agent works' });

const RunCreator = closed(
  { kind: oneOf(['user', 'service_key', 'system']), id: nullable(idOf('Other')), acting_user_id: nullable(idOf('User')) },
  { $id: 'RunCreator', description: 'Who started the run, and as whom' },
);

export const AttachmentRef = closed(
  { attachment_id: idOf('Attachment'), media_type: text(255), name: text(255), bytes: integer() },
  { $id: 'AttachmentRef' },
);

const RunInputView = closed(
  {
    text: Type.Optional(InputText),
    json: Type.Optional(FreeObject),
    attachments: listOf(AttachmentRef, { maxItems: 20 }),
    truncated: Type.Boolean(),
  },
  { $id: 'RunInputView', description: 'The input; lists truncate texts to 500 characters' },
);

const RunOutput = closed(
  {
    text: nullable(text(4 * 1024 * 1024)),
    json: nullable(FreeObject),
    attachments: listOf(AttachmentRef, { maxItems: 20 }),
    truncated: Type.Boolean(),
  },
  { $id: 'RunOutput', description: 'The final answer; lists truncate texts to 500 characters' },
);

const Tokens = closed(
  { input: integer(), output: integer(), cached_read: integer(), cached_write: integer(), reasoning: integer() },
  { $id: 'Tokens', description: 'Disjoint buckets' },
);

export const UsageTotals = closed(
  { model_calls: integer(), tokens: Tokens, cost_amount: Decimal, currency: text(3, { minLength: 3 }), estimated: Type.Boolean() },
  { $id: 'UsageTotals', description: 'Usage and cost' },
);

const RunUsage = closed(
  { own: UsageTotals, subtree: UsageTotals },
  { $id: 'RunUsage', description: 'For the run alone, and including its descendants' },
);

const RunLimits = closed(
  {
    max_steps: integer({ minimum: 1, maximum: 500 }),
    max_duration_s: integer({ minimum: 10, maximum: 604_800 }),
    max_output_tokens: nullable(integer({ minimum: 1, maximum: 200_000 })),
    max_cost: nullable(Decimal),
    max_children: integer({ minimum: 0, maximum: 50 }),
    max_depth: integer({ minimum: 0, maximum: 5 }),
    approval_ttl_s: integer({ minimum: 30, maximum: 2_592_000 }),
    on_expiry: oneOf(['deny', 'fail']),
    on_budget: oneOf(['fail', 'wait']),
  },
  { $id: 'RunLimits', description: 'Limits of the run, capped by its revision' },
);

const RunError = closed(
  { code: oneOf(errorCodeNames), message: text(1_000), retryable: Type.Boolean(), reason: nullable(text(120)) },
  { $id: 'RunError' },
);

const RunWarning = closed({ code: text(60), message: text(1_000) }, { $id: 'RunWarning' });

export const RunView = closed(
  {
    id: idOf('Run'),
    organization_id: idOf('Organization'),
    workspace_id: idOf('Workspace'),
    agent_id: idOf('Agent'),
    agent_revision_id: idOf('AgentRevision'),
    root_run_id: idOf('Run'),
    parent_run_id: nullable(idOf('Run')),
    parent_tool_call_id: nullable(idOf('ToolCall')),
    retry_of_run_id: nullable(idOf('Run')),
    forked_at_message_id: nullable(idOf('Message')),
    trigger_id: nullable(idOf('Trigger')),
    evaluation_run_id: nullable(idOf('Evaluation')),
    binding_id: nullable(idOf('RepoBinding')),
    agent_slug: Slug,
    persona_slug: nullable(Slug),
    session_key: nullable(text(400)),
    source: oneOf(runSources),
    subject: nullable(Subject),
    created_by: RunCreator,
    status: oneOf(runStatuses),
    waiting_on: nullable(oneOf(waitingOn)),
    waiting_until: nullable(Timestamp),
    finish_reason: nullable(oneOf(finishReasons)),
    queue_position: nullable(integer({ minimum: 1, description: 'Position in the queue, 1 = next; null when active' })),
    input: RunInputView,
    output: nullable(RunOutput),
    error: nullable(RunError),
    warnings: listOf(RunWarning, { maxItems: 20 }),
    limits: RunLimits,
    usage: RunUsage,
    steps: integer(),
    depth: integer(),
    last_seq: integer({ description: 'Sequence number of the last frame of its stream' }),
    pending_approvals: integer({ description: 'Including those of descendants' }),
    pending_tool_calls: nullable(
      listOf(PendingToolCall, {
        maxItems: 50,
        description:
          'Tool calls that clients must execute now, for the run and its descendants, oldest first; more can follow as results arrive. Null in lists',
      }),
    ),
    on_busy: oneOf(onBusyKinds),
    cancel_policy: nullable(oneOf(['interrupt', 'rollback'])),
    metadata: FreeObject,
    start_after: nullable(Timestamp),
    started_at: nullable(Timestamp),
    finished_at: nullable(Timestamp),
    cancel_requested_at: nullable(Timestamp),
    created_at: Timestamp,
    updated_at: Timestamp,
    admission: Type.Optional(oneOf(admissions, { description: 'Only in the reply to a start' })),
  },
  { $id: 'RunView', description: 'One turn of a conversation with an agent' },
);
