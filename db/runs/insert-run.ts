import { rows } from '../sql.ts';
import type { Unit } from '../unit.ts';
import { newId } from '../ids.ts';
import { conversationColumns, hardDeadlineDays, type ConversationRow } from './conversations.ts';
import type { ContentBlock, RunLimits, UsageTotals } from './run-types.ts';
import type { RunInput } from './run-view.ts';
import type { StartRun } from './start-run.ts';
import type { StartTarget } from './start-target.ts';

/** A run about to be written, its conversation locked or new. */
export interface NewRun {
  readonly id: string;
  readonly messageId: string;
  readonly conversation: ConversationRow;
  readonly isNewConversation: boolean;
  /** Nothing is active in the conversation: the run becomes active at once, else it waits in line. */
  readonly isFree: boolean;
  readonly target: StartTarget;
  readonly start: StartRun;
  readonly limits: RunLimits;
  readonly usage: UsageTotals;
  readonly at: Date;
}

export interface SessionKey {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly agentId: string;
  readonly subject: { readonly kind: 'user' | 'guest'; readonly id: string } | null;
  readonly sessionKey: string;
}

/** Finds or makes the conversation of a session key and locks it to the end of the transaction, in one statement. */
export async function lockSession(unit: Unit, key: SessionKey): Promise<ConversationRow> {
  const [conversation] = await rows<ConversationRow>(
    unit.em,
    `insert into conversations as c (id, organization_id, workspace_id, agent_id, subject_kind, subject_id, session_key, queue_length, next_queue_no, turn_no, created_at)
     values (?, ?, ?, ?, ?, ?, ?, 0, 1, 0, now())
     on conflict (workspace_id, agent_id, subject_kind, subject_id, session_key) where session_key is not null do update set turn_no = c.turn_no
     returning ${conversationColumns}`,
    [newId(), key.organizationId, key.workspaceId, key.agentId, key.subject?.kind ?? null, key.subject?.id ?? null, key.sessionKey],
  );
  if (!conversation) throw new Error('the conversation upsert returned no row');
  return conversation;
}

/** Writes conversation, run, user message and stream in one statement; foreign keys are checked at its end. */
export async function insertRun(unit: Unit, run: NewRun): Promise<void> {
  const conversation = run.isNewConversation ? newConversation(run) : movedConversation(run);
  const { target, start } = run;
  const turn = run.isFree ? run.conversation.turn_no + 1 : null;
  const usage = JSON.stringify(run.usage);
  const tenant = [target.organizationId, target.workspaceId];
  const activatedAt = run.isFree ? run.at : null;

  await rows(
    unit.em,
    `with conversation as (${conversation.sql}),
     stream as (
       insert into run_streams (run_id, organization_id, workspace_id, root_run_id, head_seq, ended, cancel_requested, updated_at) values (?, ?, ?, ?, 0, false, false, now())
     ), message as (
       insert into messages (id, organization_id, workspace_id, conversation_id, run_id, turn, pos, step, role, origin, content, tool_call_ids, state, attempt, created_at)
       values (?, ?, ?, ?, ?, ?, 0, null, 'user', 'user', ?::jsonb, '{}', 'pending', 1, ?)
     )
     insert into runs (id, organization_id, workspace_id, agent_id, agent_revision_id, conversation_id, root_run_id, agent_slug, session_key, source, subject_kind, subject_id,
       created_by_kind, created_by_id, created_by_acting_user_id, status, turn_no, queue_no, input, warnings, limits, usage_own, usage_subtree, steps, depth, pending_approvals,
       on_busy, metadata, event_depth, untrusted, max_effect, active_ms, activated_at, hard_deadline_at, created_at, updated_at)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'queued', ?::int, ?::int, ?::jsonb, '[]', ?::jsonb, ?::jsonb, ?::jsonb, 0, 0, 0,
       ?, ?::jsonb, 0, false, 'write', 0, ?::timestamptz, ?::timestamptz + interval '${hardDeadlineDays} days', ?, ?)`,
    [
      ...conversation.params,
      run.id, ...tenant, run.id,
      run.messageId, ...tenant, run.conversation.id, run.id, turn ?? 0, JSON.stringify(contentOf(start.input)), run.at,
      run.id, ...tenant, target.agentId, target.revisionId, run.conversation.id, run.id, target.agentSlug, start.sessionKey, start.source,
      start.subject?.kind ?? null, start.subject?.id ?? null, start.createdBy.kind, start.createdBy.id, start.createdBy.actingUserId,
      turn, run.isFree ? null : run.conversation.next_queue_no, JSON.stringify(start.input), JSON.stringify(run.limits), usage, usage,
      start.onBusy, JSON.stringify(start.metadata), activatedAt, activatedAt, run.at, run.at,
    ],
  );
}

function newConversation(run: NewRun): { readonly sql: string; readonly params: readonly unknown[] } {
  const { target, start } = run;
  return {
    sql: `insert into conversations (id, organization_id, workspace_id, agent_id, subject_kind, subject_id, session_key, active_run_id, queue_length, next_queue_no, turn_no, created_at)
          values (?, ?, ?, ?, ?, ?, null, ?, 0, 1, 1, now())`,
    params: [run.conversation.id, target.organizationId, target.workspaceId, target.agentId, start.subject?.kind ?? null, start.subject?.id ?? null, run.id],
  };
}

function movedConversation(run: NewRun): { readonly sql: string; readonly params: readonly unknown[] } {
  if (run.isFree) {
    return { sql: 'update conversations set active_run_id = ?, turn_no = turn_no + 1 where id = ?', params: [run.id, run.conversation.id] };
  }
  return { sql: 'update conversations set queue_length = queue_length + 1, next_queue_no = next_queue_no + 1 where id = ?', params: [run.conversation.id] };
}

function contentOf(input: RunInput): ContentBlock[] {
  return [
    ...(input.text === undefined ? [] : [{ type: 'text' as const, text: input.text }]),
    ...(input.json === undefined ? [] : [{ type: 'json' as const, value: input.json }]),
  ];
}
