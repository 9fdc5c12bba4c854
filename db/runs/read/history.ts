import { sql } from 'kysely';
import { literal } from '../../expressions.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { rows } from '../../sql.ts';
import type { ContentBlock } from '../../streams/frame-parts.schema.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

export interface HistoryCall {
  readonly tool_call_id: string;
  readonly provider_call_id: string;
  readonly slug: string;
  readonly args: Record<string, unknown>;
}

/**
 * One message of the prompt: a committed message of an earlier turn, or a pending message of the run itself, whose turn is not over (`isOwn`). `calls`: those that
 * an assistant message asks for, in the model's order. `answers`: the call that a tool message answers. `counted`: prompt tokens of the model call that
 * produced this message of the run itself, as its provider counted them; null or absent when it did not count them.
 */
export type HistoryMessage = Omit<HistoryRow, 'content' | 'counted'> & {
  readonly content: readonly ContentBlock[];
  readonly counted?: number | null;
};
type HistoryRow = Awaited<ReturnType<typeof readHistory>>[number];

export interface HistoryAnswer extends HistoryCall {
  readonly state: string;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly truncated: boolean;
  readonly total_chars: number | null;
}

const calls = sql<readonly HistoryCall[]>`coalesce((
  select jsonb_agg(jsonb_build_object('tool_call_id', c.id, 'provider_call_id', c.provider_call_id, 'slug', c.slug, 'args', c.args) order by c.pos)
    from tool_calls c where c.id = any (m.tool_call_ids)), '[]'::jsonb)`;

const answers = sql<HistoryAnswer | null>`(
  select jsonb_build_object('tool_call_id', c.id, 'provider_call_id', c.provider_call_id, 'slug', c.slug, 'args', c.args, 'state', c.state, 'error', c.error,
           'truncated', c.truncated, 'total_chars', c.total_chars)
    from tool_calls c where c.id = m.tool_call_id)`;

interface HistoryAsk {
  readonly runId: string;
  readonly conversationId: string;
  readonly turn: number;
  readonly firstTurn: number;
}

const historyOf = prepared(({ runId, conversationId, turn, firstTurn }: ParametersOf<HistoryAsk>) =>
  query
    .selectFrom('messages as m')
    .where('m.conversationId', '=', conversationId)
    .where(({ and, eb, or }) =>
      or([
        and([
          eb('m.state', '=', literal('committed')),
          eb('m.turn', '<', turn),
          eb('m.turn', '>=', firstTurn),
          eb('m.role', '<>', literal('system')),
        ]),
        and([eb('m.runId', '=', runId), eb('m.state', '=', literal('pending'))]),
      ]),
    )
    .select(['m.id', 'm.role', 'm.origin', 'm.turn', 'm.content', 'm.providerState'])
    .select(sql<boolean>`m.run_id = ${runId} and m.state = 'pending'`.as('isOwn'))
    .select([calls.as('calls'), answers.as('answers')])
    .select(
      sql<number | null>`(
        select (s.usage->'tokens'->>'input')::int + (s.usage->'tokens'->>'cached_read')::int + (s.usage->'tokens'->>'cached_write')::int
          from run_steps s where m.role = 'assistant' and m.run_id = ${runId} and s.run_id = m.run_id and s.step = m.step and s.tool_call_id is null
           and s.usage->>'estimated' = 'false')`.as('counted'),
    )
    .orderBy('m.turn')
    .orderBy('m.pos'),
);

/** Returns the messages that the model reads, oldest first: the last turns of the conversation, without passages injected into them, and the run's own. */
export function readHistory(
  tx: TenantTransaction,
  run: { readonly id: string; readonly conversation_id: string; readonly turn_no: number | null },
  lastTurns: number,
) {
  const turn = run.turn_no ?? 0;
  return rows(tx.em, historyOf({ runId: run.id, conversationId: run.conversation_id, turn, firstTurn: turn - lastTurns }));
}
