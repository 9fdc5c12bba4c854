import { sql } from 'kysely';
import { query } from '../../query.ts';
import { change, row } from '../../sql.ts';
import type { CurationState } from '../../../workflows/contracts/knowledge/curation.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { BasePlace } from '../items/write-chunks.ts';

/** Changes that a transaction makes to a base's counters; they are collected and written once at its end. */
export interface BaseChange {
  /** By how many chunks the number of chunks that contain a lexeme changes. */
  readonly terms: Map<string, number>;
  /** Changes to the number of live items by state. */
  readonly states: Record<CurationState, number>;
  chunks: number;
  tokens: number;
  lexLen: number;
}

/** Returns a change in which nothing has changed yet. */
export function emptyChange(): BaseChange {
  return { terms: new Map(), states: { pending: 0, reviewed: 0, promoted: 0, superseded: 0, retired: 0 }, chunks: 0, tokens: 0, lexLen: 0 };
}

/** Adds `n` to the count of a lexeme. */
export function countTerm({ terms }: Pick<BaseChange, 'terms'>, lexeme: string, n: number): void {
  terms.set(lexeme, (terms.get(lexeme) ?? 0) + n);
}

interface RemovedChunks {
  readonly chunks: number;
  readonly tokens: number;
  readonly lexLen: number;
  readonly terms: Readonly<Record<string, number>>;
}

/** Deletes all chunks of items, with their vectors, and records the difference in `changes`. */
export async function removeChunks(tx: Pick<TenantTransaction, 'em'>, itemIds: readonly string[], changes: BaseChange): Promise<void> {
  if (itemIds.length === 0) return;
  const removed = await row(
    tx.em,
    query
      .with('gone', (of) => of.deleteFrom('knowledge_chunks').where('itemId', 'in', itemIds).returning(['lexemes', 'lexLen', 'tokenCount']))
      .with('counted', (of) =>
        of
          .selectFrom('gone')
          .innerJoinLateral(sql<{ lexeme: string }>`unnest(tsvector_to_array(gone.lexemes))`.as<'l'>(sql`l (lexeme)`), (join) =>
            join.onTrue(),
          )
          .select([sql<string>`substr(l.lexeme, strpos(l.lexeme, ':') + 1)`.as('term'), sql<number>`count(*)`.as('df')])
          .groupBy('l.lexeme'),
      )
      .selectFrom('gone')
      .select([
        sql<number>`count(*)`.as('chunks'),
        sql<number>`coalesce(sum(token_count), 0)`.as('tokens'),
        sql<number>`coalesce(sum(lex_len), 0)`.as('lexLen'),
        sql<RemovedChunks['terms']>`(select coalesce(jsonb_object_agg(term, df), '{}') from counted)`.as('terms'),
      ]),
  );
  if (removed === null) return;
  changes.chunks -= Number(removed.chunks);
  changes.tokens -= Number(removed.tokens);
  changes.lexLen -= Number(removed.lexLen);
  for (const [lexeme, df] of Object.entries(removed.terms)) countTerm(changes, lexeme, -df);
}

/**
 * Writes a transaction's changes, as its last statements: the terms in the order of their lexemes, then the counters. Writers of one base therefore wait
 * for each other only at the end, and never in a cycle.
 */
export async function applyChange(tx: Pick<TenantTransaction, 'em'>, base: BasePlace, changes: BaseChange): Promise<void> {
  await writeTerms(
    tx,
    base,
    [...changes.terms].filter(([, n]) => n !== 0),
  );
  await applyCounts(tx, base, changes);
}

/** Like `applyChange`, where the terms have already been written. */
export async function applyCounts(tx: Pick<TenantTransaction, 'em'>, base: BasePlace, changes: Omit<BaseChange, 'terms'>): Promise<void> {
  const counted = { ...changes.states, chunks: changes.chunks, tokens: changes.tokens, lexLen: changes.lexLen };
  if (Object.values(counted).every((n) => n === 0)) return;
  await change(
    tx.em,
    query
      .updateTable('knowledge_base_counters')
      .set((eb) => ({
        pending: eb('pending', '+', counted.pending),
        reviewed: eb('reviewed', '+', counted.reviewed),
        promoted: eb('promoted', '+', counted.promoted),
        superseded: eb('superseded', '+', counted.superseded),
        retired: eb('retired', '+', counted.retired),
        chunks: eb('chunks', '+', counted.chunks),
        tokens: eb('tokens', '+', counted.tokens),
        lexLen: eb('lexLen', '+', counted.lexLen),
      }))
      .where('kbId', '=', base.id),
  );
}

async function writeTerms(
  tx: Pick<TenantTransaction, 'em'>,
  base: BasePlace,
  terms: readonly (readonly [string, number])[],
): Promise<void> {
  if (terms.length === 0) return;
  const lexemes = terms.map(([lexeme]) => lexeme);
  const counts = terms.map(([, n]) => n);
  await change(
    tx.em,
    query
      .insertInto('knowledge_terms')
      .columns(['kbId', 'lexeme', 'organizationId', 'workspaceId', 'df'])
      .expression(
        query
          .selectFrom(sql<{ lexeme: string; df: number }>`unnest(${lexemes}::text[], ${counts}::int[])`.as<'t'>(sql`t (lexeme, df)`))
          .select([sql<string>`${base.id}::uuid`.as('kbId'), 't.lexeme'])
          .select([sql<string | null>`${base.organizationId}::uuid`.as('organizationId')])
          .select([sql<string | null>`${base.workspaceId}::uuid`.as('workspaceId'), 't.df'])
          .orderBy(sql`t.lexeme collate "C"`),
      )
      .onConflict((conflict) => conflict.columns(['kbId', 'lexeme']).doUpdateSet({ df: sql<number>`knowledge_terms.df + excluded.df` })),
  );
  await dropUnusedTerms(
    tx,
    base,
    terms.filter(([, n]) => n < 0).map(([lexeme]) => lexeme),
  );
}

/**
 * Deletes those of the given terms that no chunk contains any more. The transaction has just written them, so the order of their locks doesn't matter.
 */
export async function dropUnusedTerms(tx: Pick<TenantTransaction, 'em'>, base: BasePlace, fewer: readonly string[]): Promise<void> {
  if (fewer.length === 0) return;
  await change(
    tx.em,
    query
      .deleteFrom('knowledge_terms')
      .where('kbId', '=', base.id)
      .where(sql<boolean>`lexeme = any(${fewer}::text[])`)
      .where('df', '<=', 0),
  );
}
