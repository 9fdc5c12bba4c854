import { rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { ContentBlock } from '../../streams/frame-parts.schema.ts';
import type { messageOrigins } from './message.entity.ts';

export interface HistoryCall {
  readonly tool_call_id: string;
  readonly provider_call_id: string;
  readonly slug: string;
  readonly args: Record<string, unknown>;
}

/** One message of the prompt: a committed message of an earlier turn, or a pending message of the run itself. */
export interface HistoryMessage {
  readonly id: string;
  readonly role: 'user' | 'assistant' | 'tool' | 'system';
  readonly origin: (typeof messageOrigins)[number];
  readonly turn: number;
  /** True for a message of the run itself, whose turn is not over. */
  readonly is_own: boolean;
  readonly content: readonly ContentBlock[];
  readonly provider_state: unknown;
  /** The calls that an assistant message asks for, in the model's order. */
  readonly calls: readonly HistoryCall[];
  /** The call that a tool message answers; else null. */
  readonly answers: HistoryAnswer | null;
  /** Prompt tokens of the model call that produced this message of the run itself, as its provider counted them; null or absent when it did not count them. */
  readonly counted?: number | null;
}

export interface HistoryAnswer extends HistoryCall {
  readonly state: string;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly truncated: boolean;
  readonly total_chars: number | null;
}

/** Returns the messages that the model reads, oldest first: the last turns of the conversation, without passages injected into them, and the run's own. */
export function readHistory(
  tx: TenantTransaction,
  run: { readonly id: string; readonly conversation_id: string; readonly turn_no: number | null },
  lastTurns: number,
): Promise<HistoryMessage[]> {
  return rows<HistoryMessage>(
    tx.em,
    `select m.id, m.role, m.origin, m.turn, m.run_id = ? and m.state = 'pending' as is_own, m.content, m.provider_state,
            coalesce((select jsonb_agg(jsonb_build_object('tool_call_id', c.id, 'provider_call_id', c.provider_call_id, 'slug', c.slug, 'args', c.args) order by c.pos)
                        from tool_calls c where c.id = any (m.tool_call_ids)), '[]'::jsonb) as calls,
            (select jsonb_build_object('tool_call_id', c.id, 'provider_call_id', c.provider_call_id, 'slug', c.slug, 'args', c.args, 'state', c.state, 'error', c.error,
                      'truncated', c.truncated, 'total_chars', c.total_chars)
               from tool_calls c where c.id = m.tool_call_id) as answers,
            (select (s.usage->'tokens'->>'input')::int + (s.usage->'tokens'->>'cached_read')::int + (s.usage->'tokens'->>'cached_write')::int
               from run_steps s where m.role = 'assistant' and m.run_id = ? and s.run_id = m.run_id and s.step = m.step and s.tool_call_id is null
                and s.usage->>'estimated' = 'false') as counted
       from messages m
      where m.conversation_id = ?
        and ((m.state = 'committed' and m.turn < ? and m.turn >= ? and m.role <> 'system') or (m.run_id = ? and m.state = 'pending'))
      order by m.turn, m.pos`,
    [run.id, run.id, run.conversation_id, run.turn_no ?? 0, (run.turn_no ?? 0) - lastTurns, run.id],
  );
}
