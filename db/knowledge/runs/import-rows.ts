import { sql } from 'kysely';
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
  const found = await row<{ id: string }>(
    tx.em,
    `select id from knowledge_sources where kb_id = ?::uuid and deleted_at is null and kind = ? and uri is not distinct from ?
        and title is not distinct from ? and content_hash is not distinct from ? order by id limit 1`,
    [kbId, kind, uri, title, contentHash],
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
  await change(
    tx.em,
    `update knowledge_sources s set item_count = n.items, chunk_count = n.chunks, token_count = n.tokens
       from (select i.source_id, count(*)::int as items, sum(i.chunk_count)::int as chunks, sum(i.token_count)::int as tokens
               from knowledge_live_items i where i.source_id = any (?::uuid[]) group by i.source_id) n
      where s.id = n.source_id`,
    [[...sourceIds]],
  );
}

/** Returns those of the ids that belong to existing items. */
export async function presentItems(tx: Tx, ids: readonly string[]): Promise<Set<string>> {
  const found = await rows(
    tx.em,
    query
      .selectFrom('knowledge_items as i')
      .where(sql<boolean>`i.id = any(${[...ids]}::uuid[])`)
      .select('i.id'),
  );
  return new Set(found.map(({ id }) => id));
}

/** Links superseded items to their successors. */
export async function linkSuccessors(tx: Tx, kbId: string, pairs: readonly (readonly [string, string])[]): Promise<void> {
  await change(
    tx.em,
    `update knowledge_items i set superseded_by_id = p.successor from unnest(?::uuid[], ?::uuid[]) as p (id, successor)
      where i.id = p.id and i.kb_id = ?::uuid and i.curation_state = 'superseded' and exists (select from knowledge_items s where s.id = p.successor and s.kb_id = i.kb_id)`,
    [pairs.map(([id]) => id), pairs.map(([, successor]) => successor), kbId],
  );
}

const principalTables = { agent: 'agents', persona: 'personas', user: 'users', workspace: 'workspaces' } as const;

/** Whether a live principal exists in the given organization. */
export async function hasPrincipal(
  tx: Tx,
  kind: keyof typeof principalTables,
  { id, organizationId }: { readonly id: string; readonly organizationId: string },
): Promise<boolean> {
  const gone = kind === 'workspace' ? 'not p.is_active' : 'p.deleted_at is not null';
  const found = await row(
    tx.em,
    `select p.id from ${principalTables[kind]} p where p.id = ?::uuid and p.organization_id = ?::uuid and not (${gone})`,
    [id, organizationId],
  );
  return found !== null;
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
