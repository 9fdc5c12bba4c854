import { change, row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

type Tx = Pick<TenantTransaction, 'em'>;

interface Pair {
  readonly fromId: string;
  readonly toId: string;
}

/** How many rows of each kind a base and its copy have, and how many are equal in both. */
export interface Coverage {
  readonly items: number;
  readonly newItems: number;
  readonly equalItems: number;
  readonly chunks: number;
  readonly newChunks: number;
  readonly equalChunks: number;
  readonly relations: number;
  readonly newRelations: number;
  readonly equalRelations: number;
  readonly vectors: number;
  /** Vectors of the new base from another model, or with another length. */
  readonly strangeVectors: number;
  readonly pending: number;
}

const isLive = 'deleted_at is null and staged_run_id is null';

/**
 * Compares the content of a base with its copy, in one statement. Each row of the copy looks up its original by its key (`lateral` with `offset 0`): the
 * statistics don't know a new base, so the planner would take a join of everything with everything for a join of nothing.
 */
export async function compareBases(
  tx: Tx,
  { fromId, toId }: Pair,
  { model, dim }: { readonly model: string; readonly dim: number },
): Promise<Coverage> {
  const chunksOf = (item: string) => `cross join lateral (select * from knowledge_chunks c where c.item_id = ${item}.id offset 0) c`;
  const found = await row<Coverage>(
    tx.em,
    `with pair as materialized (select ?::uuid as from_id, ?::uuid as to_id),
          n as materialized (select i.id, content_hash, curation_state, version, predecessor_item_id, index_state from pair join knowledge_items i on i.kb_id = to_id where ${isLive}),
          nc as materialized (select c.id, c.predecessor_chunk_id, c.content_hash, c.ord, n.predecessor_item_id from n ${chunksOf('n')})
     select (select count(*) from pair join knowledge_items i on i.kb_id = from_id where ${isLive})::int as items, (select count(*) from n)::int as "newItems",
            (select count(*) from pair cross join n cross join lateral (select from knowledge_items s where s.id = n.predecessor_item_id and s.kb_id is not distinct from from_id
               and ${isLive} and s.content_hash = n.content_hash and s.curation_state = n.curation_state and s.version = n.version offset 0) s)::int as "equalItems",
            (select count(*) from pair join knowledge_items i on i.kb_id = from_id ${chunksOf('i')} where ${isLive})::int as chunks,
            (select count(*) from pair join knowledge_chunks c on c.kb_id = to_id)::int as "newChunks",
            (select count(*) from pair cross join nc cross join lateral (select from knowledge_chunks s where s.id = nc.predecessor_chunk_id and s.kb_id is not distinct from from_id
               and s.content_hash = nc.content_hash and s.ord = nc.ord and s.item_id = nc.predecessor_item_id offset 0) s)::int as "equalChunks",
            (select count(*) from pair join knowledge_relations r on r.kb_id = from_id)::int as relations,
            (select count(*) from pair join knowledge_relations r on r.kb_id = to_id)::int as "newRelations",
            (select count(*) from pair join knowledge_relations c on c.kb_id = to_id
               cross join lateral (select f.predecessor_item_id as id from knowledge_items f where f.id = c.from_item_id and f.kb_id is not distinct from to_id and ${isLive} offset 0) f
               cross join lateral (select t.predecessor_item_id as id from knowledge_items t where t.id = c.to_item_id and t.kb_id is not distinct from to_id and ${isLive} offset 0) t
               cross join lateral (select from knowledge_relations r where r.from_item_id = f.id and r.to_item_id = t.id and r.type = c.type
                 and r.kb_id is not distinct from from_id offset 0) r)::int as "equalRelations",
            (select count(*) from nc cross join lateral (select from knowledge_vectors v where v.chunk_id = nc.id and v.embedding_model = ? and v.embedding_dim = ? offset 0) v)::int as vectors,
            (select count(*) from pair join knowledge_vectors v on v.kb_id = to_id where v.embedding_model <> ? or v.embedding_dim <> ?)::int as "strangeVectors",
            (select count(*) from n where index_state = 'pending')::int as pending`,
    [fromId, toId, model, dim, model, dim],
  );
  if (!found) throw new Error('the comparison gave no row');
  return found;
}

/** Moves the grants and the policy of a base to another one; their ids stay and their versions increase. Returns whether there was a policy. */
export async function moveGrantsAndPolicy(tx: Tx, { fromId, toId }: Pair): Promise<boolean> {
  const moved = 'set kb_id = ?, version = version + 1, updated_at = now() where kb_id = ?';
  await change(tx.em, `update knowledge_grants ${moved}`, [toId, fromId]);
  await change(tx.em, 'delete from knowledge_policies where kb_id = ? and exists (select from knowledge_policies p where p.kb_id = ?)', [
    toId,
    fromId,
  ]);
  return (await change(tx.em, `update knowledge_policies ${moved}`, [toId, fromId])) > 0;
}

/** Repoints every base whose successor is the old base to the base that takes its place, so that a chain is one step long. */
export async function repointSuccessors(tx: Tx, { fromId, toId }: Pair): Promise<void> {
  await change(tx.em, 'update knowledge_bases set successor_id = ?, version = version + 1, updated_at = now() where successor_id = ?', [
    toId,
    fromId,
  ]);
}

/** Recounts a base from its rows and writes its counters. */
export async function countFilledBase(tx: Tx, kbId: string): Promise<void> {
  await change(
    tx.em,
    `update knowledge_base_counters k set pending = i.pending, reviewed = i.reviewed, promoted = i.promoted, superseded = i.superseded, retired = i.retired,
            chunks = c.chunks, tokens = c.tokens, lex_len = c.lex_len
       from (select count(*) filter (where curation_state = 'pending')::int as pending, count(*) filter (where curation_state = 'reviewed')::int as reviewed,
                    count(*) filter (where curation_state = 'promoted')::int as promoted, count(*) filter (where curation_state = 'superseded')::int as superseded,
                    count(*) filter (where curation_state = 'retired')::int as retired
               from knowledge_items where kb_id = ? and deleted_at is null and staged_run_id is null) i,
            (select count(*)::int as chunks, coalesce(sum(token_count), 0)::bigint as tokens, coalesce(sum(lex_len), 0)::bigint as lex_len
               from knowledge_chunks where kb_id = ?) c
      where k.kb_id = ?`,
    [kbId, kbId, kbId],
  );
}

/** Deletes items of a base that a re-embed was filling, with all their dependents, at most `limit`. Returns their number. */
export async function deleteBuiltItems(tx: Tx, kbId: string, limit: number): Promise<number> {
  const found = await rows<{ id: string }>(tx.em, 'select id from knowledge_items where kb_id = ? order by id limit ?', [kbId, limit]);
  const ids = found.map(({ id }) => id);
  if (ids.length === 0) return 0;
  await change(tx.em, 'delete from knowledge_relations where from_item_id = any (?::uuid[]) or to_item_id = any (?::uuid[])', [ids, ids]);
  await change(tx.em, 'delete from knowledge_chunks where item_id = any (?::uuid[])', [ids]);
  await change(tx.em, 'delete from knowledge_item_versions where item_id = any (?::uuid[])', [ids]);
  await change(tx.em, 'delete from knowledge_items where id = any (?::uuid[])', [ids]);
  return ids.length;
}

/** Deletes the rest of a base that a re-embed was filling, and finally the base. Its items have already been deleted. */
export async function deleteBuiltBase(tx: Tx, kbId: string): Promise<void> {
  await change(
    tx.em,
    `delete from attachment_links where owner_kind = 'source' and owner_id in (select id from knowledge_sources where kb_id = ?)`,
    [kbId],
  );
  await change(tx.em, 'delete from knowledge_run_errors where run_id in (select id from knowledge_runs where kb_id = ?)', [kbId]);
  for (const table of ['terms', 'sources', 'findings', 'grants', 'policies', 'runs', 'base_counters'])
    await change(tx.em, `delete from knowledge_${table} where kb_id = ?`, [kbId]);
  await change(tx.em, 'delete from knowledge_bases where id = ?', [kbId]);
}
