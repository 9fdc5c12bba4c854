import { sql } from 'kysely';
import { literal } from '../../expressions.ts';
import { preparedList } from '../../page-query.ts';
import type { PageRequest } from '../../page.ts';
import type { ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { iso } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { messageCallsSql, toMessageCallView, type MessageCallRow } from '../calls/shown-calls.ts';

/** A message as it is read. */
export type MessageRow = Awaited<ReturnType<typeof listMessageRows>>['items'][number];

export interface MessageFilters {
  readonly scope?: 'run' | 'conversation';
  readonly include_discarded?: boolean;
  readonly message_id?: string;
  readonly tool_call_id?: string;
}

interface ListArguments {
  readonly runId: string;
  readonly workspaceId: string;
  readonly ofConversation: true | undefined;
  readonly withDiscarded: true | undefined;
  readonly messageId: string | undefined;
  readonly toolCallId: string | undefined;
}

function selectMessages({ runId, workspaceId }: ParametersOf<ListArguments>) {
  return (
    query
      .selectFrom('messages as m')
      .innerJoin('runs as t', (join) => join.on('t.id', '=', runId))
      // Messages of the run come after those of earlier turns.
      .crossJoinLateral(sql<{ isOwn: number }>`(select (m.run_id = t.id)::int as is_own)`.as('o'))
      .where('m.workspaceId', '=', workspaceId)
      .select(['m.id', 'm.runId', 'm.turn', 'm.pos', 'm.step', 'm.role', 'm.origin', 'm.content', 'm.toolCallIds', 'm.toolCallId'])
      .select(['m.model', 'm.stopReason', 'm.state', 'm.createdAt', sql.raw<readonly MessageCallRow[]>(messageCallsSql).as('toolCalls')])
  );
}

const messageList = preparedList(
  (p: ParametersOf<ListArguments>) => {
    let messages = selectMessages(p);
    if (p.ofConversation)
      messages = messages.whereRef('m.conversationId', '=', 't.conversationId').where(({ and, eb, or }) =>
        or([
          eb('m.runId', '=', eb.ref('t.id')),
          and([
            eb('m.state', '<>', literal('pending')),
            eb('m.turn', '>', literal(0)),
            // A queued run has no turn yet: it comes after everything committed so far.
            or([eb('t.turnNo', 'is', null), eb('m.turn', '<', eb.ref('t.turnNo'))]),
          ]),
        ]),
      );
    else messages = messages.whereRef('m.runId', '=', 't.id');
    if (!p.withDiscarded) messages = messages.where('m.state', '<>', literal('discarded'));
    if (p.messageId) messages = messages.where('m.id', '=', p.messageId);
    if (p.toolCallId) messages = messages.where('m.toolCallId', '=', p.toolCallId);
    return messages;
  },
  [
    { column: 'o.isOwn', type: 'int', descending: false },
    { column: 'm.turn', type: 'int', descending: false },
    { column: 'm.pos', type: 'int', descending: false },
    { column: 'm.id', type: 'uuid', descending: false },
  ],
);

/**
 * Lists messages of a run that the caller may see, oldest first. Scope conversation adds the messages of earlier turns that were committed or, when
 * requested, discarded.
 */
export function listMessageRows(
  tx: Pick<TenantTransaction, 'em'>,
  run: { readonly id: string; readonly workspace_id: string },
  filters: MessageFilters,
  page: PageRequest,
) {
  const ofConversation = filters.scope === 'conversation' || undefined;
  const withDiscarded = filters.include_discarded === true || undefined;
  const named = { messageId: filters.message_id, toolCallId: filters.tool_call_id };
  return messageList(tx.em, { runId: run.id, workspaceId: run.workspace_id, ofConversation, withDiscarded, ...named }, page);
}

/** Returns the wire form of a message. */
export function toMessageView(row: MessageRow) {
  return {
    id: row.id,
    run_id: row.runId,
    turn: row.turn,
    pos: row.pos,
    step: row.step,
    role: row.role,
    origin: row.origin,
    content: row.content,
    tool_call_ids: row.toolCallIds,
    tool_calls: row.toolCalls.map(toMessageCallView),
    tool_call_id: row.toolCallId,
    model: row.model,
    stop_reason: row.stopReason,
    state: row.state,
    created_at: iso(row.createdAt),
  };
}
