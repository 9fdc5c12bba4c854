import { sql } from 'kysely';
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
  const marked = await rows(
    tx.em,
    query
      .with('next', (of) =>
        of
          .selectFrom('knowledge_items as i')
          .where('i.kbId', '=', kbId)
          .where('i.id', '>', base.relexedTo)
          .where('i.deletedAt', 'is', null)
          .where('i.stagedRunId', 'is', null)
          .select('i.id')
          .orderBy('i.id')
          .limit(limit)
          .forUpdate(),
      )
      .with('marked', (of) =>
        of
          .updateTable('knowledge_items')
          .from('next')
          .set(({ ref }) => ({ indexState: 'pending', indexError: null, updatedAt: ref('knowledge_items.updatedAt') }))
          .whereRef('knowledge_items.id', '=', 'next.id')
          .where('knowledge_items.indexState', '<>', 'pending'),
      )
      .selectFrom('next')
      .select('next.id')
      .orderBy('next.id'),
  );
  const last = marked.length === limit ? (marked.at(-1)?.id ?? null) : null;
  await change(
    tx.em,
    query
      .updateTable('knowledge_bases')
      .set(({ ref }) => ({ relexedTo: last, updatedAt: ref('updatedAt') }))
      .where('id', '=', kbId),
  );
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

/** Replaces the lexemes of chunks and records the old ones as removed in `changes`; the caller records the new ones. */
export async function relexChunks(tx: Tx, chunks: readonly RelexedChunk[], changes: BaseChange): Promise<void> {
  if (chunks.length === 0) return;
  const of = <K extends keyof RelexedChunk>(name: K) => chunks.map((chunk) => chunk[name]);
  const lists = sql`${of('itemId')}::uuid[], ${of('ord')}::int[], ${of('lexemes')}::text[], ${of('lexLen')}::int[]`;
  const removed = await row(
    tx.em,
    query
      .with(
        (cte) => cte('old').materialized(),
        (given) =>
          given
            .selectFrom(sql<RelexedChunk>`unnest(${lists})`.as<'n'>(sql`n (item_id, ord, lexemes, lex_len)`))
            .innerJoin('knowledge_chunks as c', (join) => join.onRef('c.itemId', '=', 'n.itemId').onRef('c.ord', '=', 'n.ord'))
            .select(['c.id', 'c.lexemes', 'c.lexLen', sql<string>`n.lexemes::tsvector`.as('newLexemes'), 'n.lexLen as newLen'])
            .forUpdate('c'),
      )
      .with('written', (given) =>
        given
          .updateTable('knowledge_chunks')
          .from('old')
          .set(({ ref }) => ({ lexemes: ref('old.newLexemes'), lexLen: ref('old.newLen') }))
          .whereRef('old.id', '=', 'knowledge_chunks.id'),
      )
      .with('counted', (given) =>
        given
          .selectFrom('old')
          .innerJoinLateral(sql<{ lexeme: string }>`unnest(tsvector_to_array(old.lexemes))`.as<'l'>(sql`l (lexeme)`), (join) =>
            join.onTrue(),
          )
          .select([sql<string>`substr(l.lexeme, strpos(l.lexeme, ':') + 1)`.as('term'), sql<number>`count(*)::int`.as('df')])
          .groupBy('l.lexeme'),
      )
      .selectNoFrom([
        sql<number>`(select coalesce(sum(lex_len), 0)::int from old)`.as('lexLen'),
        sql<Readonly<Record<string, number>>>`(select coalesce(jsonb_object_agg(term, df), '{}') from counted)`.as('terms'),
      ]),
  );
  if (removed === null) return;
  changes.lexLen -= removed.lexLen;
  for (const [lexeme, df] of Object.entries(removed.terms)) countTerm(changes, lexeme, -df);
}
