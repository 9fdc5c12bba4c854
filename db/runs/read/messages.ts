import { fetchPage } from '../../page-query.ts';
import type { Page, PageRequest } from '../../page.ts';
import { iso } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { ContentBlock } from '../run-types.ts';
import { messageCallsSql, toMessageCallView, type MessageCallRow } from '../calls/shown-calls.ts';

export interface MessageRow {
  readonly id: string;
  readonly run_id: string;
  readonly turn: number;
  readonly pos: number;
  readonly step: number | null;
  readonly role: 'user' | 'assistant' | 'tool' | 'system';
  readonly origin: 'user' | 'model' | 'system' | 'injected';
  readonly content: ContentBlock[];
  readonly tool_call_ids: string[];
  readonly tool_calls: readonly MessageCallRow[];
  readonly tool_call_id: string | null;
  readonly model: string | null;
  readonly stop_reason: 'stop' | 'tool_calls' | 'max_output' | 'refused' | 'cancelled' | 'error' | null;
  readonly state: 'pending' | 'committed' | 'discarded';
  readonly created_at: Date | string;
}

export interface MessageFilters {
  readonly scope?: 'run' | 'conversation';
  readonly include_discarded?: boolean;
  readonly message_id?: string;
  readonly tool_call_id?: string;
}

const columns = `m.id, m.run_id, m.turn, m.pos, m.step, m.role, m.origin, m.content, m.tool_call_ids, m.tool_call_id, m.model, m.stop_reason, m.state, m.created_at,
  ${messageCallsSql} as tool_calls`;

/**
 * Lists messages of a run that the caller may see, oldest first. Scope conversation adds the messages of earlier turns that were committed or, when
 * requested, discarded.
 */
export function listMessageRows(
  tx: Pick<TenantTransaction, 'em'>,
  run: { readonly id: string; readonly workspace_id: string },
  filters: MessageFilters,
  page: PageRequest,
): Promise<Page<MessageRow>> {
  const where = ['m.workspace_id = ?'];
  const params: unknown[] = [run.workspace_id];
  if (filters.scope === 'conversation') {
    // A queued run has no turn yet: it comes after everything committed so far.
    where.push(
      `m.conversation_id = t.conversation_id and (m.run_id = t.id or (m.state <> 'pending' and m.turn > 0 and (t.turn_no is null or m.turn < t.turn_no)))`,
    );
  } else {
    where.push('m.run_id = t.id');
  }
  if (filters.include_discarded !== true) where.push(`m.state <> 'discarded'`);
  if (filters.message_id !== undefined) {
    where.push('m.id = ?');
    params.push(filters.message_id);
  }
  if (filters.tool_call_id !== undefined) {
    where.push('m.tool_call_id = ?');
    params.push(filters.tool_call_id);
  }
  return fetchPage<MessageRow>(tx.em, {
    select: columns,
    from: 'messages m join runs t on t.id = ?',
    where: where.join(' and '),
    params: [run.id, ...params],
    order: [
      { column: '(m.run_id = t.id)::int', type: 'int', descending: false },
      { column: 'm.turn', type: 'int', descending: false },
      { column: 'm.pos', type: 'int', descending: false },
      { column: 'm.id', type: 'uuid', descending: false },
    ],
    page,
  });
}

/** Returns the wire form of a message. */
export function toMessageView(row: MessageRow) {
  return {
    id: row.id,
    run_id: row.run_id,
    turn: row.turn,
    pos: row.pos,
    step: row.step,
    role: row.role,
    origin: row.origin,
    content: row.content,
    tool_call_ids: row.tool_call_ids,
    tool_calls: row.tool_calls.map(toMessageCallView),
    tool_call_id: row.tool_call_id,
    model: row.model,
    stop_reason: row.stop_reason,
    state: row.state,
    created_at: iso(row.created_at),
  };
}
