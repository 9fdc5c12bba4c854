import { query } from '../../query.ts';
import { change, row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { countTerm, type BaseChange } from '../bases/base-counters.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** Precedes all item ids. */
export const noItem = '00000000-0000-0000-0000-000000000000';

/**
 * After a change of language, marks the next items of a base as waiting for their index, at most `limit`, in the caller's transaction. Returns their
 * number; 0: none are left.
 */
export async function markRelexed(tx: Tx, kbId: string, limit: number): Promise<number> {
  const base = await row(
    tx.em,
    query
      .selectFrom('knowledge_bases as b')
      .where('b.id', '=', kbId)
      .where('b.deletedAt', 'is', null)
      .where('b.relexedTo', 'is not', null)
      .select('b.relexedTo')
      .forUpdate(),
  );
  if (base === null) return 0;
  const marked = await rows<{ id: string }>(
    tx.em,
    `with next as (select id from knowledge_items where kb_id = ?::uuid and id > ?::uuid and deleted_at is null and staged_run_id is null order by id limit ? for update),
          marked as (update knowledge_items i set index_state = 'pending', index_error = null from next where i.id = next.id and i.index_state <> 'pending')
     select id from next order by id`,
    [kbId, base.relexedTo, limit],
  );
  const last = marked.length === limit ? (marked.at(-1)?.id ?? null) : null;
  await change(tx.em, 'update knowledge_bases set relexed_to = ?::uuid where id = ?::uuid', [last, kbId]);
  return marked.length;
}

/** Whether a base has items, including staged ones. */
export async function hasItems(tx: Tx, kbId: string): Promise<boolean> {
  return (await row(tx.em, query.selectFrom('knowledge_items as i').where('i.kbId', '=', kbId).select('i.id').limit(1))) !== null;
}

/** New lexemes for a chunk whose text stays. */
export interface RelexedChunk {
  readonly itemId: string;
  readonly ord: number;
  /** Text of a tsvector. */
  readonly lexemes: string;
  readonly lexLen: number;
}

interface Removed {
  readonly lexLen: number;
  readonly terms: Readonly<Record<string, number>>;
}

/** Replaces the lexemes of chunks and records the old ones as removed in `changes`; the caller records the new ones. */
export async function relexChunks(tx: Tx, chunks: readonly RelexedChunk[], changes: BaseChange): Promise<void> {
  if (chunks.length === 0) return;
  const of = <K extends keyof RelexedChunk>(name: K) => chunks.map((chunk) => chunk[name]);
  const removed = await row<Removed>(
    tx.em,
    `with new as (select * from unnest(?::uuid[], ?::int[], ?::text[], ?::int[]) as n (item_id, ord, lexemes, lex_len)),
          old as materialized (select c.id, c.lexemes, c.lex_len, n.lexemes::tsvector as new_lexemes, n.lex_len as new_len
                                 from new n join knowledge_chunks c on c.item_id = n.item_id and c.ord = n.ord for update of c),
          written as (update knowledge_chunks c set lexemes = o.new_lexemes, lex_len = o.new_len from old o where o.id = c.id),
          counted as (select substr(l.lexeme, strpos(l.lexeme, ':') + 1) as term, count(*)::int as df
                        from old, unnest(tsvector_to_array(old.lexemes)) as l (lexeme) group by l.lexeme)
     select (select coalesce(sum(lex_len), 0)::int from old) as "lexLen", (select coalesce(jsonb_object_agg(term, df), '{}') from counted) as terms`,
    [of('itemId'), of('ord'), of('lexemes'), of('lexLen')],
  );
  if (removed === null) return;
  changes.lexLen -= removed.lexLen;
  for (const [lexeme, df] of Object.entries(removed.terms)) countTerm(changes, lexeme, -df);
}
