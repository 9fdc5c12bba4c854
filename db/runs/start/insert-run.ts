import type { OutboxMessage } from '../../../workflows/contracts/outbox.ts';
import { outboxRow } from '../../outbox.ts';
import { queueStatement } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { RunIdentity } from '../../streams/frame-text.ts';
import { hardDeadlineDays, type ConversationRow, type QueuePosition } from './conversations.ts';
import type { ContentBlock, RunLimits, UsageTotals } from '../run-types.ts';
import type { RunInput } from '../read/run-view.ts';
import type { StartRun } from './start-run.ts';
import type { StartTarget } from './start-target.ts';

/** A run about to be written; its conversation is locked or new. */
export interface NewRun {
  readonly id: string;
  readonly messageId: string;
  readonly conversation: ConversationRow;
  readonly isNewConversation: boolean;
  readonly line: QueuePosition;
  readonly target: StartTarget;
  readonly start: StartRun;
  /** The requested persona, else the conversation's, else the agent's default. */
  readonly personaSlug: string | null;
  readonly limits: RunLimits;
  readonly usage: UsageTotals;
  readonly at: Date;
}

/** What is written to set a new run without a parent going. */
export interface InitialWrites {
  /** The frame's whole text. */
  readonly firstFrame: string;
  /** The start of the run's workflow; null: the run waits in the queue. */
  readonly start: OutboxMessage | null;
}

/** A statement with its parameters in the order of its placeholders. */
interface Statement {
  readonly sql: string;
  readonly params: readonly unknown[];
}

const dayMs = 86_400_000;

/**
 * Writes conversation, run, user message, stream with its first frame and outbox row in one statement, which goes with the next one; foreign keys are
 * checked at its end. A child has no `beginnings`: its frames come from an append, which copies them to the root's stream, and its parent's workflow starts
 * the child's.
 */
export async function insertRun(tx: TenantTransaction, run: NewRun, beginnings: InitialWrites | null): Promise<void> {
  const { firstFrame = null, start = null } = beginnings ?? {};
  const stream = { ...placeOf(run), run_id: run.id, root_run_id: rootOf(run), head_seq: firstFrame === null ? 0 : 1 };
  // The workflow that follows a pull request is woken for each of its runs.
  const dedupeKey = run.start.review ? `${start?.workflowId}:${run.id}` : start?.workflowId;
  const startRow = start && dedupeKey !== undefined ? outboxRow(tx, { message: start, dedupeKey }) : null;
  const beside: Statement[] = [
    run.isNewConversation ? insertInto('conversations', conversationValues(run)) : moveConversation(run),
    insertInto('run_streams', stream),
    insertInto('messages', messageValues(run)),
    ...(firstFrame === null ? [] : [insertInto('run_frame_chunks', chunkValues(run, firstFrame))]),
    ...(startRow ? [insertInto('outbox', { ...startRow, payload: JSON.stringify(startRow.payload) })] : []),
  ];
  const made = insertInto('runs', { ...runValues(run), ...startValues(run.start) });

  await queueStatement(tx.em, `with ${beside.map(({ sql }, n) => `s${n} as (${sql})`).join(', ')} ${made.sql}`, [
    ...beside.flatMap(({ params }) => params),
    ...made.params,
  ]);
  if (firstFrame !== null) tx.outgoing.frames.push({ runId: run.id, firstSeq: 1, frames: [firstFrame] });
  if (startRow) tx.outgoing.outboxIds.push(startRow.id);
}

/** The run identity that the new run's first frame carries. */
export function identityOfNew(run: NewRun): RunIdentity {
  const { target, start } = run;
  return {
    runId: run.id,
    rootRunId: rootOf(run),
    parentRunId: start.parent?.runId ?? null,
    organizationId: target.organizationId,
    workspaceId: target.workspaceId,
    path: start.parent?.path ?? [target.agentSlug],
  };
}

function rootOf({ id, start }: NewRun): string {
  return start.parent?.rootRunId ?? id;
}

/** Pairs names with values: forty positional parameters would be a trap. */
function insertInto(table: string, values: Readonly<Record<string, unknown>>): Statement {
  const names = Object.keys(values);
  return { sql: `insert into ${table} (${names.join(', ')}) values (${names.map(() => '?').join(', ')})`, params: Object.values(values) };
}

function moveConversation(run: NewRun): Statement {
  const { id, conversation, line } = run;
  const persona = conversationPersonaOf(run);
  const keep = 'persona_slug = coalesce(?, persona_slug)';
  switch (line.kind) {
    case 'active':
      return {
        sql: `update conversations set active_run_id = ?, turn_no = turn_no + 1, ${keep} where id = ?`,
        params: [id, persona, conversation.id],
      };
    case 'delayed':
      return { sql: `update conversations set ${keep} where id = ?`, params: [persona, conversation.id] };
    case 'line':
      return {
        sql: `update conversations set queue_length = queue_length + 1, next_queue_no = next_queue_no + ?, ${keep} where id = ?`,
        params: [line.isFirst ? 0 : 1, persona, conversation.id],
      };
    default:
      return line satisfies never;
  }
}

/** Returns the persona that a run sets on its conversation for later runs, or null for none. A retried run changes nothing there. */
export function conversationPersonaOf({ start }: Pick<NewRun, 'start'>): string | null {
  return start.continued ? null : start.personaSlug;
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
    // No other run enters a child's conversation while the child lives, so there is no queue to hold up.
    active_run_id: run.line.kind === 'active' && !run.start.parent ? run.id : null,
    queue_length: 0,
    next_queue_no: 1,
    turn_no: run.line.kind === 'active' ? 1 : 0,
    created_at: run.at,
  };
}

function chunkValues(run: NewRun, frame: string) {
  return { ...placeOf(run), run_id: run.id, first_seq: 1, last_seq: 1, frames: [frame] };
}

function messageValues(run: NewRun) {
  return {
    ...placeOf(run),
    id: run.messageId,
    conversation_id: run.conversation.id,
    run_id: run.id,
    turn: turnOf(run) ?? 0,
    pos: run.start.continued?.firstPos ?? 0,
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
    root_run_id: rootOf(run),
    path: identityOfNew(run).path,
    status: 'queued',
    turn_no: turnOf(run),
    queue_no: run.line.kind === 'line' ? run.line.queueNo : null,
    limits: JSON.stringify(run.limits),
    usage_own: usage,
    usage_subtree: usage,
    activated_at: isActive(run) ? run.at : null,
    hard_deadline_at: isActive(run) ? new Date(run.at.getTime() + hardDeadlineDays * dayMs) : null,
    created_at: run.at,
    updated_at: run.at,
  };
}

function startValues(start: StartRun) {
  return {
    session_key: start.sessionKey,
    source: start.source,
    trigger_id: start.triggerId ?? null,
    ...(start.evaluationRunId ? { evaluation_run_id: start.evaluationRunId } : {}),
    subject_kind: start.subject?.kind ?? null,
    subject_id: start.subject?.id ?? null,
    created_by_kind: start.createdBy.kind,
    created_by_id: start.createdBy.id,
    created_by_acting_user_id: start.createdBy.actingUserId,
    input: JSON.stringify(start.input),
    on_busy: start.onBusy,
    metadata: JSON.stringify(start.metadata),
    start_after: start.startAfter ?? null,
    ...lineageValues(start),
    ...reviewValues(start),
  };
}

function reviewValues({ review }: StartRun) {
  if (!review) return {};
  return {
    binding_id: review.bindingId,
    review_pull_request_id: review.pullRequestId,
    review_round: review.round,
    review_head_sha: review.headSha,
    playbook_revision_id: review.playbookRevisionId,
    review: JSON.stringify(review.request),
  };
}

/** Columns whose defaults suit most runs, so that the statement of a plain run stays short. */
function lineageValues({ parent, continued, cause }: StartRun) {
  return {
    ...(parent
      ? { parent_run_id: parent.runId, parent_tool_call_id: parent.toolCallId, lineage: parent.lineage, depth: parent.depth }
      : {}),
    ...(continued ? { retry_of_run_id: continued.retryOfRunId ?? null, forked_at_message_id: continued.forkedAtMessageId ?? null } : {}),
    ...(cause
      ? {
          root_event_id: cause.rootEventId ?? null,
          event_depth: cause.eventDepth ?? 0,
          untrusted: cause.untrusted ?? false,
          max_effect: cause.maxEffect ?? 'write',
          hops: cause.hops ?? 0,
        }
      : {}),
  };
}

/** A run gets its turn number when it becomes active. */
function turnOf(run: NewRun): number | null {
  return isActive(run) ? run.conversation.turn_no + 1 : null;
}

function isActive({ line }: NewRun): boolean {
  return line.kind === 'active';
}

/** Returns what the model reads of an input. */
export function contentOf(input: RunInput): ContentBlock[] {
  return [
    ...(input.text === undefined ? [] : [{ type: 'text' as const, text: input.text }]),
    ...(input.json === undefined ? [] : [{ type: 'json' as const, value: input.json }]),
    ...(input.attachments ?? []).map((file) => ({ type: 'attachment' as const, ...file })),
  ];
}
