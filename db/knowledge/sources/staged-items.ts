import { type Expression, sql } from 'kysely';
import { now } from '../../expressions.ts';
import { newId } from '../../ids.ts';
import { query } from '../../query.ts';
import { change, row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { CurationState } from '../../../workflows/contracts/knowledge/curation.ts';
import { dropUnusedTerms, type BaseChange } from '../bases/base-counters.ts';
import type { BasePlace } from '../items/write-chunks.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** Condition: `id` is among `ids`. */
const isAmong = (id: Expression<string>, ids: readonly string[]) => sql<boolean>`${id} = any (${ids}::uuid[])`;

/** Drops up to `limit` staged items of a run, with their chunks, vectors and versions; returns their number. */
export async function dropStaged(tx: Tx, runId: string, limit: number): Promise<number> {
  const gone = await rows(tx.em, query.selectFrom('knowledge_items').select('id').where('stagedRunId', '=', runId).limit(limit));
  await dropItems(
    tx,
    gone.map(({ id }) => id),
  );
  return gone.length;
}

/** Drops items, with their chunks, vectors and versions. */
export async function dropItems(tx: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await change(
    tx.em,
    query.deleteFrom('knowledge_chunks').where(({ ref }) => isAmong(ref('itemId'), ids)),
  );
  await change(
    tx.em,
    query.deleteFrom('knowledge_item_versions').where(({ ref }) => isAmong(ref('itemId'), ids)),
  );
  await change(
    tx.em,
    query.deleteFrom('knowledge_items').where(({ ref }) => isAmong(ref('id'), ids)),
  );
}

/** Marks items as deleted; the caller removes their chunks. */
export async function softDelete(tx: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await change(
    tx.em,
    query.deleteFrom('knowledge_relations').where(({ or, ref }) => or([isAmong(ref('fromItemId'), ids), isAmong(ref('toItemId'), ids)])),
  );
  await change(
    tx.em,
    query
      .updateTable('knowledge_items')
      .set(({ eb }) => ({
        deletedAt: now,
        updatedAt: now,
        rowVersion: eb('rowVersion', '+', 1),
        chunkCount: 0,
        tokenCount: 0,
        indexState: 'pending',
        indexError: null,
      }))
      .where(({ ref }) => isAmong(ref('id'), ids)),
  );
}

/** Marks staged items as waiting for their index that were not chunked because of a twin which no longer exists. Returns them. */
export function uncutStaged(tx: Tx, runId: string) {
  return rows(
    tx.em,
    query
      .updateTable('knowledge_items')
      .set(({ ref }) => ({ indexState: 'pending', updatedAt: ref('updatedAt') }))
      .where('stagedRunId', '=', runId)
      .where('chunkCount', '=', 0)
      .where('indexState', '=', 'ready')
      .where('content', '~', '[[:alnum:]]')
      .returning(['id', 'rowVersion', 'indexState']),
  );
}

/** Counts the items and chunks that a run has staged: what they add to a base's counters, except for the terms. */
export async function countStaged(tx: Tx, runId: string) {
  const counts = await row(
    tx.em,
    query
      .with('chunks', (of) =>
        of
          .selectFrom('knowledge_chunks as c')
          .innerJoin('knowledge_items as i', 'i.id', 'c.itemId')
          .where('i.stagedRunId', '=', runId)
          .select([
            sql<number>`count(*)::int`.as('chunks'),
            sql<number>`coalesce(sum(c.token_count), 0)::int`.as('tokens'),
            sql<number>`coalesce(sum(c.lex_len), 0)::int`.as('lexLen'),
          ]),
      )
      .with('states', (of) =>
        of
          .selectFrom('knowledge_items as i')
          .where('i.stagedRunId', '=', runId)
          .groupBy('i.curationState')
          .select(['i.curationState as state', sql<number>`count(*)::int`.as('n')]),
      )
      .selectFrom('chunks')
      .select(['chunks.chunks', 'chunks.tokens', 'chunks.lexLen'])
      .select(
        sql<Partial<Record<CurationState, number>>>`(select coalesce(jsonb_object_agg(s.state, s.n), '{}') from states s)`.as('states'),
      ),
  );
  return counts ?? { states: {}, chunks: 0, tokens: 0, lexLen: 0 };
}

/**
 * Publishes what a run has staged, and counts its terms together with those that `removed` takes away. An external id that a live item of the base already
 * has is dropped. A long file has as many terms as rows, so they stay in the database. All items are published before the first term is locked, since other
 * transactions write terms of the base meanwhile.
 */
export async function publishStaged(
  tx: Tx,
  base: BasePlace,
  { runId, removed }: { readonly runId: string; readonly removed: BaseChange['terms'] },
): Promise<void> {
  await change(
    tx.em,
    query
      .updateTable('knowledge_items')
      .set(({ ref }) => ({ externalId: null, updatedAt: ref('updatedAt') }))
      .where('stagedRunId', '=', runId)
      .where(({ exists, selectFrom }) =>
        exists(
          selectFrom('knowledge_items as o')
            .whereRef('o.kbId', '=', 'knowledge_items.kbId')
            .whereRef('o.externalId', '=', 'knowledge_items.externalId')
            .where('o.deletedAt', 'is', null)
            .where('o.stagedRunId', 'is', null)
            .offset(sql.lit(0)), // `twins.ts` says why
        ),
      ),
  );
  await publishTerms(tx, base, { runId, removed });
  await dropUnusedTerms(tx, base, [...removed.keys()]);
}

async function publishTerms(
  tx: Tx,
  { id, organizationId, workspaceId }: BasePlace,
  { runId, removed }: { readonly runId: string; readonly removed: BaseChange['terms'] },
): Promise<void> {
  await change(
    tx.em,
    query
      .with('shown', (of) =>
        of.updateTable('knowledge_items').set({ stagedRunId: null, updatedAt: now }).where('stagedRunId', '=', runId).returning('id'),
      )
      .with(
        (cte) => cte('counted').materialized(),
        () => sql<{ term: string; df: number }>`(
          select term, sum(df)::int as df from (
            select substr(l.lexeme, strpos(l.lexeme, ':') + 1) as term, count(*) as df
              from knowledge_items i join knowledge_chunks c on c.item_id = i.id, unnest(tsvector_to_array(c.lexemes)) as l (lexeme)
             where i.staged_run_id = ${runId}::uuid group by l.lexeme
            union all select t.term, t.df from unnest(${[...removed.keys()]}::text[], ${[...removed.values()]}::int[]) as t (term, df)) as both_ways
           group by term having sum(df) <> 0)`,
      )
      .insertInto('knowledge_terms')
      .columns(['kbId', 'lexeme', 'organizationId', 'workspaceId', 'df'])
      .expression(({ selectFrom }) =>
        selectFrom('counted')
          .select([
            sql<string>`${id}::uuid`.as('kbId'),
            'counted.term as lexeme',
            sql<string | null>`${organizationId}::uuid`.as('organizationId'),
          ])
          .select([sql<string | null>`${workspaceId}::uuid`.as('workspaceId'), 'counted.df'])
          .where(sql<boolean>`(select count(*) from shown) >= 0`)
          .orderBy(sql`counted.term collate "C"`),
      )
      .onConflict((conflict) => conflict.columns(['kbId', 'lexeme']).doUpdateSet({ df: sql<number>`knowledge_terms.df + excluded.df` })),
  );
}

/** Counts the live items of a source. */
export async function countSourceItems(tx: Tx, sourceId: string) {
  const found = await row(
    tx.em,
    query
      .selectFrom('knowledge_items')
      .where('sourceId', '=', sourceId)
      .where('stagedRunId', 'is', null)
      .where('deletedAt', 'is', null)
      .select([
        sql<number>`count(*)::int`.as('items'),
        sql<number>`coalesce(sum(chunk_count), 0)::int`.as('chunks'),
        sql<number>`coalesce(sum(token_count), 0)::int`.as('tokens'),
        sql<number>`count(*) filter (where index_state = 'pending')::int`.as('pending'),
      ]),
  );
  return found ?? { items: 0, chunks: 0, tokens: 0, pending: 0 };
}

/** Locks and returns live items of a source, at most `limit`. */
export function lockSourceItems(tx: Tx, sourceId: string, limit: number) {
  return rows(
    tx.em,
    query
      .selectFrom('knowledge_items')
      .where('sourceId', '=', sourceId)
      .where('stagedRunId', 'is', null)
      .where('deletedAt', 'is', null)
      .select(['id', 'curationState as state'])
      .orderBy('id')
      .limit(limit)
      .forUpdate(),
  );
}

/** Detaches the items of a source, so that they stay without it. */
export async function detachItems(tx: Tx, sourceId: string): Promise<void> {
  await change(
    tx.em,
    query
      .updateTable('knowledge_items')
      .set(({ eb }) => ({ sourceId: null, rowVersion: eb('rowVersion', '+', 1), updatedAt: now }))
      .where('sourceId', '=', sourceId),
  );
}

/** Writes a finding for each item that a run is about to publish and whose text contains instructions to a model; at most one per item and content. */
export async function findSuspects(tx: Tx, kbId: string, runId: string): Promise<number> {
  const suspects = await rows(
    tx.em,
    query
      .selectFrom('knowledge_items')
      .select('id')
      .where('stagedRunId', '=', runId)
      .where(sql<boolean>`jsonb_exists(metadata, 'injection_suspect')`),
  );
  if (suspects.length === 0) return 0;
  const findings = [suspects.map(() => newId()), suspects.map(({ id }) => id)] as const;
  return change(
    tx.em,
    query
      .insertInto('knowledge_findings')
      .columns(['id', 'kbId', 'organizationId', 'workspaceId', 'runId', 'kind', 'fingerprint', 'state', 'itemIds', 'detail'])
      .expression(
        query
          .selectFrom(
            sql<{ id: string; itemId: string }>`unnest(${findings[0]}::uuid[], ${findings[1]}::uuid[])`.as<'f'>(sql`f (id, item_id)`),
          )
          .innerJoin('knowledge_items as i', (join) => join.onRef('i.id', '=', 'f.itemId').on('i.kbId', '=', kbId))
          .select(['f.id', 'i.kbId', 'i.organizationId', 'i.workspaceId', sql<string>`${runId}::uuid`.as('runId')])
          .select([sql.lit('injection_suspect').as('kind'), sql<string>`i.id::text || ':' || i.content_hash`.as('fingerprint')])
          .select([sql.lit('open').as('state'), sql<string[]>`array[i.id]`.as('itemIds')])
          .select(sql`jsonb_build_object('rule', i.metadata -> 'injection_suspect')`.as('detail')),
      )
      .onConflict((conflict) => conflict.doNothing()),
  );
}
