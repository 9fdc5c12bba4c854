import { sql } from 'kysely';
import { anyId } from '../../expressions.ts';
import { query } from '../../query.ts';
import { change, row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { ItemBase } from '../items/item-base.ts';
import { KnowledgeSource } from '../sources/knowledge-source.entity.ts';
import type { BasePlace } from '../items/write-chunks.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** Returns the base that an import by the system writes to, with all rights; `isLocked` locks it FOR SHARE. Null when it is deleted. */
export async function importedBase(tx: Tx, kbId: string, { isLocked }: { readonly isLocked: boolean }): Promise<ItemBase | null> {
  const found = await row(
    tx.em,
    query
      .selectFrom('knowledge_bases as b')
      .where('b.id', '=', kbId)
      .where('b.deletedAt', 'is', null)
      .select(['b.id', 'b.organizationId', 'b.workspaceId', 'b.kind', 'b.chunking', 'b.retrieval', 'b.lexNo', 'b.embeddingModel'])
      .select(['b.embeddingDim', 'b.isFrozen', 'b.successorId', 'b.activatedAt'])
      .$if(isLocked, (of) => of.forShare()),
  );
  return found === null ? null : { ...found, canRead: true, canWrite: true, canCurate: true, reembedRunId: null, retentionDays: null };
}

/** A source of a bundle, with its new id. */
export type ImportedSource = Pick<
  KnowledgeSource,
  'id' | 'kind' | 'title' | 'uri' | 'text' | 'itemKind' | 'tags' | 'metadata' | 'mediaType' | 'contentHash' | 'createdBy'
>;

/** Returns a live source of a base with the same kind, address, title and hash, or null. */
export async function sameSource(
  tx: Tx,
  kbId: string,
  { kind, uri, title, contentHash }: Pick<ImportedSource, 'kind' | 'uri' | 'title' | 'contentHash'>,
): Promise<string | null> {
  const found = await row(
    tx.em,
    query
      .selectFrom('knowledge_sources as s')
      .where('s.kbId', '=', kbId)
      .where('s.deletedAt', 'is', null)
      .where('s.kind', '=', kind)
      .where('s.uri', 'is not distinct from', uri)
      .where('s.title', 'is not distinct from', title)
      .where('s.contentHash', 'is not distinct from', contentHash)
      .select('s.id')
      .orderBy('s.id')
      .limit(1),
  );
  return found?.id ?? null;
}

/** Writes a source without a file, as one that has already been read. */
export async function insertImportedSource(tx: Tx, base: BasePlace, source: ImportedSource): Promise<void> {
  const none = { attachmentId: null, extractor: null, error: null, runId: null, lastSyncedAt: null, deletedAt: null };
  const { id: kbId, organizationId, workspaceId } = base;
  tx.em.persist(tx.em.create(KnowledgeSource, { ...source, kbId, organizationId, workspaceId, state: 'ready', ...none }));
  await tx.em.flush();
}

/** Sets the counts of imported sources from their live items. */
export async function countImported(tx: Tx, sourceIds: readonly string[]): Promise<void> {
  const counted = query
    .selectFrom('knowledge_live_items as i')
    .where('i.sourceId', '=', anyId(sourceIds))
    .groupBy('i.sourceId')
    .select(['i.sourceId', sql<number>`count(*)::int`.as('items')])
    .select([sql<number>`sum(i.chunk_count)::int`.as('chunks'), sql<number>`sum(i.token_count)::int`.as('tokens')]);
  await change(
    tx.em,
    query
      .updateTable('knowledge_sources')
      .from(counted.as('n'))
      .set(({ ref }) => ({
        itemCount: ref('n.items'),
        chunkCount: ref('n.chunks'),
        tokenCount: ref('n.tokens'),
        updatedAt: ref('knowledge_sources.updatedAt'),
      }))
      .whereRef('knowledge_sources.id', '=', 'n.sourceId'),
  );
}

/** Returns those of the ids that belong to existing items. */
export async function presentItems(tx: Tx, ids: readonly string[]): Promise<Set<string>> {
  const found = await rows(tx.em, query.selectFrom('knowledge_items as i').where('i.id', '=', anyId(ids)).select('i.id'));
  return new Set(found.map(({ id }) => id));
}

/** Links superseded items to their successors. */
export async function linkSuccessors(tx: Tx, kbId: string, pairs: readonly (readonly [string, string])[]): Promise<void> {
  const [ids, successors] = [pairs.map(([id]) => id), pairs.map(([, successor]) => successor)];
  const linked = sql<{ id: string; successor: string }>`unnest(${ids}::uuid[], ${successors}::uuid[])`.as<'p'>(sql`p (id, successor)`);
  await change(
    tx.em,
    query
      .updateTable('knowledge_items')
      .from(linked)
      .set(({ ref }) => ({ supersededById: ref('p.successor'), updatedAt: ref('knowledge_items.updatedAt') }))
      .whereRef('knowledge_items.id', '=', 'p.id')
      .where('knowledge_items.kbId', '=', kbId)
      .where('knowledge_items.curationState', '=', 'superseded')
      .where(({ exists, selectFrom }) =>
        exists(
          selectFrom('knowledge_items as s')
            .select('s.id')
            .whereRef('s.id', '=', 'p.successor')
            .whereRef('s.kbId', '=', 'knowledge_items.kbId'),
        ),
      ),
  );
}

const principalTables = { agent: 'agents', persona: 'personas', user: 'users' } as const;

/** Whether a live principal exists in the given organization. */
export async function hasPrincipal(
  tx: Tx,
  kind: keyof typeof principalTables | 'workspace',
  { id, organizationId }: { readonly id: string; readonly organizationId: string },
): Promise<boolean> {
  const live =
    kind === 'workspace'
      ? query
          .selectFrom('workspaces')
          .select('id')
          .where('id', '=', id)
          .where('organizationId', '=', organizationId)
          .where('isActive', '=', true)
      : query
          .selectFrom(principalTables[kind])
          .select('id')
          .where('id', '=', id)
          .where('organizationId', '=', organizationId)
          .where('deletedAt', 'is', null);
  return (await row(tx.em, live)) !== null;
}

/** Whether a base has a grant for a principal, whatever its access. */
export async function hasGrant(
  tx: Tx,
  kbId: string,
  {
    principalKind,
    principalId,
    role,
  }: { readonly principalKind: string; readonly principalId: string | null; readonly role: string | null },
): Promise<boolean> {
  const found = await row(
    tx.em,
    query
      .selectFrom('knowledge_grants as g')
      .select('g.id')
      .where('g.kbId', '=', kbId)
      .where(sql<boolean>`g.principal_kind = ${principalKind}`)
      .where(sql<boolean>`g.principal_id is not distinct from ${principalId}::uuid`)
      .where(sql<boolean>`g.role is not distinct from ${role}`),
  );
  return found !== null;
}
