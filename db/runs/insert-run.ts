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
  /** The persona asked for, else the conversation's, else the agent's default. */
  readonly personaSlug: string | null;
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
  /** Kept for the runs that follow; null leaves what the conversation has. */
  readonly personaSlug: string | null;
}

/** Finds or makes the conversation of a session key and locks it to the end of the transaction, in one statement. */
export async function lockSession(unit: Unit, key: SessionKey): Promise<ConversationRow> {
  const [conversation] = await rows<ConversationRow>(
    unit.em,
    `insert into conversations as c (id, organization_id, workspace_id, agent_id, subject_kind, subject_id, session_key, persona_slug, queue_length, next_queue_no, turn_no, created_at)
     values (?, ?, ?, ?, ?, ?, ?, ?, 0, 1, 0, now())
     on conflict (workspace_id, agent_id, subject_kind, subject_id, session_key) where session_key is not null do update set persona_slug = coalesce(excluded.persona_slug, c.persona_slug)
     returning ${conversationColumns}`,
    [
      newId(),
      key.organizationId,
      key.workspaceId,
      key.agentId,
      key.subject?.kind ?? null,
      key.subject?.id ?? null,
      key.sessionKey,
      key.personaSlug,
    ],
  );
  if (!conversation) throw new Error('the conversation upsert returned no row');
  return conversation;
}

/** A statement with its parameters in the order of its placeholders. */
interface Statement {
  readonly sql: string;
  readonly params: readonly unknown[];
}

const dayMs = 86_400_000;

/** Writes conversation, run, user message and stream in one statement; foreign keys are checked at its end. */
export async function insertRun(unit: Unit, run: NewRun): Promise<void> {
  const conversation = run.isNewConversation ? insertInto('conversations', conversationValues(run)) : moveConversation(run);
  const stream = insertInto('run_streams', { ...placeOf(run), run_id: run.id, root_run_id: run.id });
  const message = insertInto('messages', messageValues(run));
  const made = insertInto('runs', { ...runValues(run), ...startValues(run.start) });

  await rows(unit.em, `with conversation as (${conversation.sql}), stream as (${stream.sql}), message as (${message.sql}) ${made.sql}`, [
    ...conversation.params,
    ...stream.params,
    ...message.params,
    ...made.params,
  ]);
}

/** Names and values side by side: forty positional parameters would be a trap. */
function insertInto(table: string, values: Readonly<Record<string, unknown>>): Statement {
  const names = Object.keys(values);
  return { sql: `insert into ${table} (${names.join(', ')}) values (${names.map(() => '?').join(', ')})`, params: Object.values(values) };
}

function moveConversation(run: NewRun): Statement {
  if (run.isFree) {
    return { sql: 'update conversations set active_run_id = ?, turn_no = turn_no + 1 where id = ?', params: [run.id, run.conversation.id] };
  }
  return {
    sql: 'update conversations set queue_length = queue_length + 1, next_queue_no = next_queue_no + 1 where id = ?',
    params: [run.conversation.id],
  };
}

function placeOf({ target }: NewRun) {
  return { organization_id: target.organizationId, workspace_id: target.workspaceId };
}

function conversationValues(run: NewRun) {
  return {
    ...placeOf(run),
    id: run.conversation.id,
    agent_id: run.target.agentId,
    subject_kind: run.start.subject?.kind ?? null,
    subject_id: run.start.subject?.id ?? null,
    session_key: null,
    persona_slug: run.start.personaSlug,
    active_run_id: run.id,
    queue_length: 0,
    next_queue_no: 1,
    turn_no: 1,
    created_at: run.at,
  };
}

function messageValues(run: NewRun) {
  return {
    ...placeOf(run),
    id: run.messageId,
    conversation_id: run.conversation.id,
    run_id: run.id,
    turn: turnOf(run) ?? 0,
    pos: 0,
    role: 'user',
    origin: 'user',
    content: JSON.stringify(contentOf(run.start.input)),
    state: 'pending',
    attempt: 1,
    created_at: run.at,
  };
}

function runValues(run: NewRun) {
  const usage = JSON.stringify(run.usage);
  return {
    ...placeOf(run),
    id: run.id,
    agent_id: run.target.agentId,
    agent_revision_id: run.target.revisionId,
    agent_slug: run.target.agentSlug,
    persona_slug: run.personaSlug,
    conversation_id: run.conversation.id,
    root_run_id: run.id,
    status: 'queued',
    turn_no: turnOf(run),
    queue_no: run.isFree ? null : run.conversation.next_queue_no,
    limits: JSON.stringify(run.limits),
    usage_own: usage,
    usage_subtree: usage,
    activated_at: run.isFree ? run.at : null,
    hard_deadline_at: run.isFree ? new Date(run.at.getTime() + hardDeadlineDays * dayMs) : null,
    created_at: run.at,
    updated_at: run.at,
  };
}

function startValues(start: StartRun) {
  return {
    session_key: start.sessionKey,
    source: start.source,
    trigger_id: start.triggerId ?? null,
    subject_kind: start.subject?.kind ?? null,
    subject_id: start.subject?.id ?? null,
    created_by_kind: start.createdBy.kind,
    created_by_id: start.createdBy.id,
    created_by_acting_user_id: start.createdBy.actingUserId,
    input: JSON.stringify(start.input),
    on_busy: start.onBusy,
    metadata: JSON.stringify(start.metadata),
  };
}

/** The turn is given when the run becomes active. */
function turnOf(run: NewRun): number | null {
  return run.isFree ? run.conversation.turn_no + 1 : null;
}

function contentOf(input: RunInput): ContentBlock[] {
  return [
    ...(input.text === undefined ? [] : [{ type: 'text' as const, text: input.text }]),
    ...(input.json === undefined ? [] : [{ type: 'json' as const, value: input.json }]),
    ...(input.attachments ?? []).map((file) => ({ type: 'attachment' as const, ...file })),
  ];
}
