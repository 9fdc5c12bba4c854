import { sql } from 'kysely';
import { query } from '../../query.ts';
import { change, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { none } from '../runs/copies.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** Live items `i` of a base with their chunks `c`. */
function itemChunks(kbId: string) {
  return (
    query
      .selectFrom('knowledge_live_items as i')
      // Each item looks up its own chunks: in a plain join, PostgreSQL could compare every chunk with every item of a base that the statistics don't know.
      .crossJoinLateral((eb) =>
        eb
          .selectFrom('knowledge_chunks as c')
          .select(['c.tokenCount', 'c.lexLen', 'c.lexemes'])
          .whereRef('c.itemId', '=', 'i.id')
          .offset(none)
          .as('c'),
      )
      .where('i.kbId', '=', kbId)
  );
}

/** Begins a query with the actual counts of a base, `actual`. */
function withActualCounts(kbId: string) {
  return query
    .with('items', (of) => of.selectFrom('knowledge_live_items as i').where('i.kbId', '=', kbId).select('i.curationState'))
    .with('actual', () =>
      itemChunks(kbId).select([
        sql<number>`(select count(*) filter (where curation_state = 'pending') from items)::int`.as('pending'),
        sql<number>`(select count(*) filter (where curation_state = 'reviewed') from items)::int`.as('reviewed'),
        sql<number>`(select count(*) filter (where curation_state = 'promoted') from items)::int`.as('promoted'),
        sql<number>`(select count(*) filter (where curation_state = 'superseded') from items)::int`.as('superseded'),
        sql<number>`(select count(*) filter (where curation_state = 'retired') from items)::int`.as('retired'),
        sql<number>`count(*)::int`.as('chunks'),
        sql<number>`coalesce(sum(c.token_count), 0)::int`.as('tokens'),
        sql<number>`coalesce(sum(c.lex_len), 0)::int`.as('lexLen'),
      ]),
    );
}

/** A stored counter and the actual count. */
interface ComparedCount {
  readonly name: string;
  readonly stored: number | null;
  readonly actual: number;
}

/** Returns the counters of a base that differ from the actual counts, in one snapshot. */
export function findWrongCounters(tx: Tx, kbId: string) {
  const compared = sql<ComparedCount>`(
    values ('pending', c.pending, a.pending), ('reviewed', c.reviewed, a.reviewed), ('promoted', c.promoted, a.promoted),
      ('superseded', c.superseded, a.superseded), ('retired', c.retired, a.retired), ('chunks', c.chunks, a.chunks), ('tokens', c.tokens, a.tokens),
      ('lex_len', c.lex_len, a.lex_len))`;
  return rows(
    tx.em,
    withActualCounts(kbId)
      .selectFrom('actual as a')
      .leftJoin('knowledge_base_counters as c', (on) => on.on('c.kbId', '=', kbId))
      .crossJoinLateral(compared.as<'v'>(sql`v (name, stored, actual)`))
      .whereRef('v.stored', 'is distinct from', 'v.actual')
      .select(['v.name', 'v.stored', 'v.actual']),
  );
}

/** The terms of a base, each with the number of chunks that contain it. */
function countedTerms(kbId: string) {
  const term = sql<string>`substr(l.lexeme, strpos(l.lexeme, ':') + 1)`;
  return query
    .selectFrom(itemChunks(kbId).select('c.lexemes').as('c'))
    .crossJoinLateral(sql<{ lexeme: string }>`unnest(tsvector_to_array(c.lexemes))`.as<'l'>(sql`l (lexeme)`))
    .groupBy(term)
    .select([term.as('lexeme'), sql<number>`count(*)::int`.as('df')]);
}

/** Returns terms of a base with a wrong count, at most 1,000. `actual` null: no chunk contains the term. */
export function findWrongTerms(tx: Tx, kbId: string) {
  const name = sql<string>`coalesce(a.lexeme, t.lexeme)`;
  const stored = query.selectFrom('knowledge_terms as k').where('k.kbId', '=', kbId).select(['k.lexeme', 'k.df']);
  return rows(
    tx.em,
    query
      .selectFrom(countedTerms(kbId).as('a'))
      .fullJoin(stored.as('t'), 't.lexeme', 'a.lexeme')
      .whereRef('t.df', 'is distinct from', 'a.df')
      .select([name.as('name'), 't.df as stored', 'a.df as actual'])
      .orderBy(name)
      .limit(1_000),
  );
}

/** Recounts a base and corrects its counters and terms. The caller keeps writers out of the base. */
export async function recount(tx: Tx, kbId: string): Promise<void> {
  await change(
    tx.em,
    withActualCounts(kbId)
      .updateTable('knowledge_base_counters')
      .from('actual as a')
      .set(({ ref }) => ({
        pending: ref('a.pending'),
        reviewed: ref('a.reviewed'),
        promoted: ref('a.promoted'),
        superseded: ref('a.superseded'),
        retired: ref('a.retired'),
        chunks: ref('a.chunks'),
        tokens: ref('a.tokens'),
        lexLen: ref('a.lexLen'),
      }))
      .where('knowledge_base_counters.kbId', '=', kbId),
  );
  await recountTerms(tx, kbId);
}

async function recountTerms(tx: Tx, kbId: string): Promise<void> {
  await change(
    tx.em,
    query
      .with(
        (cte) => cte('actual').materialized(),
        () => countedTerms(kbId),
      )
      .with('gone', (of) =>
        of
          .deleteFrom('knowledge_terms')
          .where('kbId', '=', kbId)
          .where('lexeme', 'not in', ({ selectFrom }) => selectFrom('actual').select('actual.lexeme')),
      )
      .insertInto('knowledge_terms')
      .columns(['kbId', 'lexeme', 'organizationId', 'workspaceId', 'df'])
      .expression(({ selectFrom }) =>
        selectFrom(['actual as a', 'knowledge_bases as b'])
          .where('b.id', '=', kbId)
          .select(['b.id as kbId', 'a.lexeme', 'b.organizationId', 'b.workspaceId', 'a.df'])
          .orderBy(sql`a.lexeme collate "C"`),
      )
      .onConflict((conflict) =>
        conflict
          .columns(['kbId', 'lexeme'])
          .doUpdateSet(({ ref }) => ({ df: ref('excluded.df') }))
          .whereRef('knowledge_terms.df', '<>', 'excluded.df'),
      ),
  );
}
