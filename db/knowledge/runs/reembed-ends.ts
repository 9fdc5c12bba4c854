import { type RawBuilder, sql } from 'kysely';
import { anyId, now } from '../../expressions.ts';
import { query } from '../../query.ts';
import { change, row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { none } from './copies.ts';
import { dropRelationsOf } from '../upkeep/purge-items.ts';

type Tx = Pick<TenantTransaction, 'em'>;

interface Pair {
  readonly fromId: string;
  readonly toId: string;
}

const isLive = sql<boolean>`deleted_at is null and staged_run_id is null`;
/** Begins a query with both ids (`pair`), the items of the copy (`n`) and their chunks (`nc`). */
function withCopies({ fromId, toId }: Pair) {
  return query
    .with(
      (cte) => cte('pair').materialized(),
      (of) => of.selectNoFrom([sql<string>`${fromId}::uuid`.as('fromId'), sql<string>`${toId}::uuid`.as('toId')]),
    )
    .with(
      (cte) => cte('n').materialized(),
      (of) =>
        of
          .selectFrom('pair')
          .innerJoin('knowledge_items as i', 'i.kbId', 'pair.toId')
          .where(isLive)
          .select(['i.id', 'i.contentHash', 'i.curationState', 'i.version', 'i.predecessorItemId', 'i.indexState']),
    )
    .with(
      (cte) => cte('nc').materialized(),
      (of) =>
        of
          .selectFrom('n')
          .crossJoinLateral(chunksOf('n').as('c'))
          .select(['c.id', 'c.predecessorChunkId', 'c.contentHash', 'c.ord', 'n.predecessorItemId']),
    );
}

/** The chunks of an item. */
function chunksOf(item: 'i' | 'n') {
  return query
    .selectFrom('knowledge_chunks as c')
    .where('c.itemId', '=', sql.ref<string>(`${item}.id`))
    .select(['c.id', 'c.predecessorChunkId', 'c.contentHash', 'c.ord'])
    .offset(none);
}

const equalItems = sql`pair cross join n cross join lateral (
  select from knowledge_items s where s.id = n.predecessor_item_id and s.kb_id is not distinct from from_id and ${isLive}
     and s.content_hash = n.content_hash and s.curation_state = n.curation_state and s.version = n.version offset 0) s`;

const equalChunks = sql`pair cross join nc cross join lateral (
  select from knowledge_chunks s where s.id = nc.predecessor_chunk_id and s.kb_id is not distinct from from_id
     and s.content_hash = nc.content_hash and s.ord = nc.ord and s.item_id = nc.predecessor_item_id offset 0) s`;

/** The id of the item that an item of the copy was copied from. */
const originalOf = (id: RawBuilder<unknown>) => sql`(
  select o.predecessor_item_id as id from knowledge_items o where o.id = ${id} and o.kb_id is not distinct from to_id and ${isLive} offset 0)`;

const equalRelations = sql`pair join knowledge_relations c on c.kb_id = to_id
  cross join lateral ${originalOf(sql`c.from_item_id`)} f cross join lateral ${originalOf(sql`c.to_item_id`)} t
  cross join lateral (
    select from knowledge_relations r where r.from_item_id = f.id and r.to_item_id = t.id and r.type = c.type
       and r.kb_id is not distinct from from_id offset 0) r`;

/**
 * Compares the content of a base with its copy, in one statement: how many rows of each kind both have, and how many are equal. Each row of the copy looks
 * up its original by its key (`lateral` with `offset 0`): the statistics don't know a new base, so the planner would take a join of everything with
 * everything for a join of nothing. `strangeVectors`: vectors of the new base from another model, or with another length.
 */
export async function compareBases(tx: Tx, pair: Pair, { model, dim }: { readonly model: string; readonly dim: number }) {
  const count = (counted: RawBuilder<unknown>) => sql<number>`(select count(*) from ${counted})::int`;
  const vectors = sql`nc cross join lateral (
    select from knowledge_vectors v where v.chunk_id = nc.id and v.embedding_model = ${model} and v.embedding_dim = ${dim} offset 0) v`;
  const strange = sql`pair join knowledge_vectors v on v.kb_id = to_id where v.embedding_model <> ${model} or v.embedding_dim <> ${dim}`;
  const found = await row(
    tx.em,
    withCopies(pair).selectNoFrom([
      count(sql`pair join knowledge_items i on i.kb_id = from_id where ${isLive}`).as('items'),
      count(sql`n`).as('newItems'),
      count(equalItems).as('equalItems'),
      count(sql`pair join knowledge_items i on i.kb_id = from_id cross join lateral ${chunksOf('i')} c where ${isLive}`).as('chunks'),
      count(sql`pair join knowledge_chunks c on c.kb_id = to_id`).as('newChunks'),
      count(equalChunks).as('equalChunks'),
      count(sql`pair join knowledge_relations r on r.kb_id = from_id`).as('relations'),
      count(sql`pair join knowledge_relations r on r.kb_id = to_id`).as('newRelations'),
      count(equalRelations).as('equalRelations'),
      count(vectors).as('vectors'),
      count(strange).as('strangeVectors'),
      count(sql`n where index_state = 'pending'`).as('pending'),
    ]),
  );
  if (!found) throw new Error('the comparison gave no row');
  return found;
}

/** How many rows of each kind a base and its copy have, and how many are equal in both. */
export type Coverage = Awaited<ReturnType<typeof compareBases>>;

/** Moves the grants and the policy of a base to another one; their ids stay and their versions increase. Returns whether there was a policy. */
export async function moveGrantsAndPolicy(tx: Tx, { fromId, toId }: Pair): Promise<boolean> {
  await change(
    tx.em,
    query
      .updateTable('knowledge_grants')
      .set((eb) => ({ kbId: toId, version: eb('version', '+', 1), updatedAt: now }))
      .where('kbId', '=', fromId),
  );
  await change(
    tx.em,
    query
      .deleteFrom('knowledge_policies')
      .where('kbId', '=', toId)
      .where(({ exists, selectFrom }) => exists(selectFrom('knowledge_policies as p').select('p.kbId').where('p.kbId', '=', fromId))),
  );
  const moved = await change(
    tx.em,
    query
      .updateTable('knowledge_policies')
      .set((eb) => ({ kbId: toId, version: eb('version', '+', 1), updatedAt: now }))
      .where('kbId', '=', fromId),
  );
  return moved > 0;
}

/** Repoints every base whose successor is the old base to the base that takes its place, so that a chain is one step long. */
export async function repointSuccessors(tx: Tx, { fromId, toId }: Pair): Promise<void> {
  await change(
    tx.em,
    query
      .updateTable('knowledge_bases')
      .set((eb) => ({ successorId: toId, version: eb('version', '+', 1), updatedAt: now }))
      .where('successorId', '=', fromId),
  );
}

/** Recounts a base from its rows and writes its counters. */
export async function countFilledBase(tx: Tx, kbId: string): Promise<void> {
  const items = query
    .selectFrom('knowledge_items')
    .where('kbId', '=', kbId)
    .where('deletedAt', 'is', null)
    .where('stagedRunId', 'is', null)
    .select([
      sql<number>`count(*) filter (where curation_state = 'pending')::int`.as('pending'),
      sql<number>`count(*) filter (where curation_state = 'reviewed')::int`.as('reviewed'),
      sql<number>`count(*) filter (where curation_state = 'promoted')::int`.as('promoted'),
      sql<number>`count(*) filter (where curation_state = 'superseded')::int`.as('superseded'),
      sql<number>`count(*) filter (where curation_state = 'retired')::int`.as('retired'),
    ]);
  const chunks = query
    .selectFrom('knowledge_chunks')
    .where('kbId', '=', kbId)
    .select([
      sql<number>`count(*)::int`.as('chunks'),
      sql<number>`coalesce(sum(token_count), 0)::bigint`.as('tokens'),
      sql<number>`coalesce(sum(lex_len), 0)::bigint`.as('lexLen'),
    ]);
  await change(
    tx.em,
    query
      .updateTable('knowledge_base_counters')
      .from([items.as('i'), chunks.as('c')])
      .set(({ ref }) => ({
        pending: ref('i.pending'),
        reviewed: ref('i.reviewed'),
        promoted: ref('i.promoted'),
        superseded: ref('i.superseded'),
        retired: ref('i.retired'),
        chunks: ref('c.chunks'),
        tokens: ref('c.tokens'),
        lexLen: ref('c.lexLen'),
      }))
      .where('knowledge_base_counters.kbId', '=', kbId),
  );
}

/** Deletes items of a base that a re-embed was filling, with all their dependents, at most `limit`. Returns their number. */
export async function deleteBuiltItems(tx: Tx, kbId: string, limit: number): Promise<number> {
  const found = await rows(
    tx.em,
    query.selectFrom('knowledge_items as i').where('i.kbId', '=', kbId).select('i.id').orderBy('i.id').limit(limit),
  );
  const ids = found.map(({ id }) => id);
  if (ids.length === 0) return 0;
  await dropRelationsOf(tx, ids);
  for (const table of ['knowledge_chunks', 'knowledge_item_versions'] as const)
    await change(tx.em, query.deleteFrom(table).where('itemId', '=', anyId(ids)));
  await change(tx.em, query.deleteFrom('knowledge_items').where('id', '=', anyId(ids)));
  return ids.length;
}

/** Deletes the rest of a base that a re-embed was filling, and finally the base. Its items have already been deleted. */
export async function deleteBuiltBase(tx: Tx, kbId: string): Promise<void> {
  const sources = query.selectFrom('knowledge_sources as s').where('s.kbId', '=', kbId).select('s.id');
  await change(tx.em, query.deleteFrom('attachment_links').where('ownerKind', '=', 'source').where('ownerId', 'in', sources));
  const runs = query.selectFrom('knowledge_runs as r').where('r.kbId', '=', kbId).select('r.id');
  await change(tx.em, query.deleteFrom('knowledge_run_errors').where('runId', 'in', runs));
  for (const table of [
    'knowledge_terms',
    'knowledge_sources',
    'knowledge_findings',
    'knowledge_grants',
    'knowledge_policies',
    'knowledge_runs',
    'knowledge_base_counters',
  ] as const)
    await change(tx.em, query.deleteFrom(table).where('kbId', '=', kbId));
  await change(tx.em, query.deleteFrom('knowledge_bases').where('id', '=', kbId));
}
