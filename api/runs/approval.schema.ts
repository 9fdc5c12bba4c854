import Type from 'typebox';
import { approvalDecisions, approvalReasons, approvalStatuses } from '../../workflows/contracts/runs/approvals.ts';
import { closed, FreeObject, idOf, integer, listOf, nullable, oneOf, text, Timestamp, ToolArguments } from '../http/input/schema.ts';
import { RunView } from './run.schema.ts';
import { ArgsHash } from './tool-call.schema.ts';

const AnyJson = (description: string) => Type.Unsafe<unknown>({ description });
const Comment = text(2_000, { minLength: 1, description: 'For a rejection, the text that the agent gets' });

export const ApprovalFilters = closed({ status: Type.Optional(oneOf(approvalStatuses)) });

const ApprovalAnswer = closed(
  {
    approval_id: idOf('Approval', 'A question of the run or of a descendant'),
    decision: oneOf(approvalDecisions, { description: 'One of the decisions that the question allows' }),
    edited_args: Type.Optional(ToolArguments),
    response: Type.Optional(
      AnyJson('With respond: the answer, or the result to use instead of the call’s own; must match response_schema'),
    ),
    comment: Type.Optional(nullable(Comment)),
    args_hash: Type.Optional(ArgsHash),
  },
  { $id: 'ApprovalAnswer', description: 'edited_args is required with edit, response with respond' },
);

export const RunApprovalsResolve = closed(
  { resolutions: listOf(ApprovalAnswer, { minItems: 1, maxItems: 50, description: 'Either all are applied, or none' }) },
  { $id: 'RunApprovalsResolve' },
);

const ApprovalResolver = closed(
  { kind: oneOf(['user', 'service_key', 'system']), id: nullable(idOf('Other')) },
  { $id: 'ApprovalResolver', description: 'Who answered' },
);

export const ApprovalView = closed(
  {
    id: idOf('Approval'),
    run_id: idOf('Run'),
    root_run_id: idOf('Run'),
    agent_id: idOf('Agent'),
    tool_call_id: nullable(idOf('ToolCall')),
    tool_slug: nullable(text(120)),
    reason: oneOf(approvalReasons),
    status: oneOf(approvalStatuses),
    prompt: text(8_000),
    args: nullable(FreeObject),
    args_hash: nullable(ArgsHash),
    response_schema: nullable(FreeObject),
    decisions: listOf(oneOf(approvalDecisions), { maxItems: 4, description: 'The allowed decisions' }),
    critical: Type.Boolean(),
    approver_floor: oneOf(['member', 'admin']),
    expires_at: Timestamp,
    on_expiry: oneOf(['deny', 'fail']),
    edited_args: nullable(FreeObject),
    response: AnyJson('The response; null for a consent, whose code cannot be read again'),
    comment: nullable(Comment),
    resolved_by: nullable(ApprovalResolver),
    resolved_at: nullable(Timestamp),
    created_at: Timestamp,
  },
  { $id: 'ApprovalView', description: 'A question of a run to people' },
);

export const ApprovalResolutionView = closed(
  {
    items: listOf(ApprovalView, { maxItems: 50, description: 'The current state of the questions, in the order of the answers' }),
    applied: integer(),
    unchanged: integer({ description: 'Questions that already had the same answer' }),
    run: RunView,
  },
  { $id: 'ApprovalResolutionView' },
);
