import type { OutboxMessage } from '../../../workflows/contracts/outbox.ts';
import { taskQueues, workflowIds } from '../../../workflows/contracts/queues.ts';
import type { RunPriority, RunSource } from '../../../workflows/contracts/runs.ts';
import { addOutbox } from '../../outbox.ts';
import { row, rows } from '../../sql.ts';
import { appendFrames, stateBatch } from '../../streams/append.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { pathOf } from '../run-state.ts';
import { statusFrame } from '../status-frame.ts';

/** A run lives at most this long once it is active. */
export const hardDeadlineDays = 30;

/** How many runs may stand in a conversation's line. */
export const limitQueue = 20;

/** A conversation's line, locked: whoever holds it may start, end or move its runs. */
export interface ConversationRow {
  readonly id: string;
  readonly active_run_id: string | null;
  readonly queue_length: number;
  readonly next_queue_no: number;
  readonly turn_no: number;
  /** The persona that its runs wear unless they name another. */
  readonly persona_slug: string | null;
}

export const conversationColumns = 'c.id, c.active_run_id, c.queue_length, c.next_queue_no, c.turn_no, c.persona_slug';

/** Locks a conversation to the end of the transaction: always the first lock of a change of a run. Null when it is not visible. */
export function lockConversation(tx: TenantTransaction, conversationId: string): Promise<ConversationRow | null> {
  return row<ConversationRow>(tx.em, `select ${conversationColumns} from conversations c where c.id = ? for no key update`, [
    conversationId,
  ]);
}

/** Locks the conversation of a run; null when the run is not in the transaction's tenant. */
export function lockConversationOfRun(tx: TenantTransaction, runId: string): Promise<ConversationRow | null> {
  return row<ConversationRow>(
    tx.em,
    `select ${conversationColumns} from conversations c where c.id = (select r.conversation_id from runs r where r.id = ? and r.deleted_at is null) for no key update`,
    [runId],
  );
}

/** Locks the conversations of runs by ascending id; those of runs that are not in the transaction's tenant are left out. */
export function lockConversationsOfRuns(tx: TenantTransaction, runIds: readonly string[]): Promise<ConversationRow[]> {
  return rows<ConversationRow>(
    tx.em,
    `select ${conversationColumns} from conversations c
      where c.id = any (array(select r.conversation_id from runs r where r.id = any (?::uuid[]) and r.deleted_at is null)) order by c.id for no key update`,
    [[...runIds]],
  );
}

interface ActivatedRun {
  readonly id: string;
  readonly organization_id: string;
  readonly workspace_id: string;
  readonly agent_id: string;
  readonly agent_slug: string;
  readonly path: readonly string[];
  readonly root_run_id: string;
  readonly parent_run_id: string | null;
  readonly source: RunSource;
}

/**
 * Moves the line of a conversation whose active run has ended: the first in line becomes active, gets its turn and its workflow; without one
 * the conversation is free. The caller holds the conversation's lock and has written the ended run. Gives the activated run's id.
 */
export async function activateNext(tx: TenantTransaction, conversationId: string): Promise<string | null> {
  const activated = await row<ActivatedRun>(
    tx.em,
    `with next as (
       select r.id from runs r where r.conversation_id = ?::uuid and r.status = 'queued' and r.queue_no is not null order by r.queue_no limit 1 for no key update
     ), activated as (
       update runs r set queue_no = null, activated_at = now(), hard_deadline_at = now() + interval '${hardDeadlineDays} days', turn_no = c.turn_no + 1, updated_at = now()
         from next, conversations c where r.id = next.id and c.id = r.conversation_id and r.status = 'queued'
       returning r.id, r.organization_id, r.workspace_id, r.agent_id, r.agent_slug, r.path, r.root_run_id, r.parent_run_id, r.source, r.turn_no
     ), placed as (
       update messages m set turn = a.turn_no from activated a where m.run_id = a.id
     ), moved as (
       update conversations c
          set active_run_id = (select a.id from activated a), turn_no = coalesce((select a.turn_no from activated a), c.turn_no),
              -- counted anew, so that a length that went wrong heals here
              queue_length = (select count(*) from runs q where q.conversation_id = c.id and q.status = 'queued' and q.queue_no is not null)
                - (select count(*) from activated a)
        where c.id = ?::uuid
     )
     select * from activated`,
    [conversationId, conversationId],
  );
  if (!activated) return null;

  const run = {
    runId: activated.id,
    rootRunId: activated.root_run_id,
    parentRunId: activated.parent_run_id,
    organizationId: activated.organization_id,
    workspaceId: activated.workspace_id,
    path: pathOf(activated),
  };
  await appendFrames(tx, [stateBatch(run, [statusFrame({ status: 'queued', previous: 'queued' })])]);
  await addRunStart(tx, {
    id: activated.id,
    organizationId: activated.organization_id,
    workspaceId: activated.workspace_id,
    agentId: activated.agent_id,
    source: activated.source,
  });
  return activated.id;
}

/** What the start of a run's workflow needs to know of it. */
export interface StartableRun {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly agentId: string;
  readonly source: RunSource;
}

/** Writes the start of an active run's workflow into the outbox; a second one for the same run changes nothing. */
export async function addRunStart(tx: TenantTransaction, run: StartableRun): Promise<void> {
  await addOutbox(tx, runStartMessage(run, tx.correlationId), { dedupeKey: workflowIds.run(run.id) });
}

/** The start of a run's workflow as an outbox message. */
export function runStartMessage(run: StartableRun, correlationId: string): Extract<OutboxMessage, { kind: 'workflow.start' }> {
  return {
    kind: 'workflow.start',
    workflowType: 'agentRun',
    workflowId: workflowIds.run(run.id),
    taskQueue: taskQueues.runs,
    args: [{ runId: run.id }],
    organizationId: run.organizationId,
    workspaceId: run.workspaceId,
    correlationId,
    reuse: 'reject_duplicate',
    priority: priorityOf(run.source),
    searchAttributes: { AgentId: run.agentId, RunKind: run.source },
  };
}

/** The start of the workflow that makes a delayed run active, as an outbox message. */
export function delayedStartMessage(
  run: StartableRun,
  { startAfter, correlationId }: { startAfter: Date; correlationId: string },
): OutboxMessage {
  return {
    ...runStartMessage(run, correlationId),
    workflowType: 'delayedStart',
    workflowId: workflowIds.delayedStart(run.id),
    startAt: startAfter.toISOString(),
  };
}

/** What a run's workflow has in its queue. */
export function priorityOf(source: RunSource): RunPriority {
  switch (source) {
    case 'channel':
    case 'sub_agent':
    case 'mcp':
      return 1;
    case 'api':
    case 'webhook':
    case 'schedule':
    case 'event':
      return 3;
    case 'code_review':
    case 'evaluation':
      return 5;
    default:
      return source satisfies never;
  }
}
