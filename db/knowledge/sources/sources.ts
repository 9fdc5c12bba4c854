import { LockMode } from '@mikro-orm/core';
import { sql } from 'kysely';
import { fail } from '../../../workflows/contracts/failure.ts';
import { contains, preparedList } from '../../page-query.ts';
import type { PageRequest } from '../../page.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { noItem } from '../items/relex-items.ts';
import { KnowledgeSource, type KnowledgeSourceKind, type KnowledgeSourceState } from './knowledge-source.entity.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** A source as views show it. */
export type SourceRow = NonNullable<Awaited<ReturnType<typeof findSource>>>;

export interface SourceFilters {
  readonly kbId: string;
  readonly state?: KnowledgeSourceState;
  readonly kind?: KnowledgeSourceKind;
  readonly q?: string;
}

function selectSources() {
  return query
    .selectFrom('knowledge_sources as s')
    .where('s.deletedAt', 'is', null)
    .select(['s.id', 's.kbId', 's.organizationId', 's.workspaceId', 's.kind', 's.title', 's.uri', 's.attachmentId', 's.mediaType'])
    .select(['s.contentHash', 's.extractor', 's.state', 's.itemCount', 's.chunkCount', 's.tokenCount', 's.warnings', 's.error', 's.runId'])
    .select(['s.lastSyncedAt', 's.createdAt', 's.updatedAt']);
}

const oneSource = prepared(({ sourceId }: ParametersOf<{ sourceId: string }>) => selectSources().where('s.id', '=', sourceId));

function findSource(tx: Tx, sourceId: string) {
  return row(tx.em, oneSource({ sourceId }));
}

/** Returns a source without an access check: the caller must have checked the right to its base. Throws 404. */
export async function readSource(tx: Tx, sourceId: string): Promise<SourceRow> {
  const found = await findSource(tx, sourceId);
  if (!found) throw fail('not_found');
  return found;
}

const sourceList = preparedList(
  ({ kbId, state, kind, q }: ParametersOf<SourceFilters>) => {
    let sources = selectSources().where('s.kbId', '=', kbId);
    if (state) sources = sources.where('s.state', '=', state);
    if (kind) sources = sources.where('s.kind', '=', kind);
    if (q) sources = sources.where(({ ref }) => contains(q, ref('s.title'), ref('s.uri')));
    return sources;
  },
  [{ column: 's.id', type: 'uuid', descending: true }],
);

/** Lists the sources of a base, newest first. */
export function listSourceRows(tx: Tx, filters: SourceFilters, page: PageRequest) {
  return sourceList(tx.em, { ...filters }, page);
}

/** Locks and returns a source that is about to change; null when it is deleted. */
export function lockSource(tx: Tx, sourceId: string): Promise<KnowledgeSource | null> {
  const options = { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true } as const;
  return tx.em.findOne(KnowledgeSource, { id: sourceId, deletedAt: null }, options);
}

/** Returns where the bytes of an attachment are stored; null when it no longer exists or is not ready. */
export function readSourceBytes(tx: Tx, attachmentId: string) {
  return row(
    tx.em,
    query
      .selectFrom('attachments as a')
      .where('a.id', '=', attachmentId)
      .where('a.state', '=', 'ready')
      .select(['a.filename', 'a.mediaType', 'a.storageKey', 'a.sha256']),
  );
}

/** Returns the next staged items of a run that have chunks and wait for vectors, by id. */
export function pendingStaged(tx: Tx, runId: string, { after, limit }: { readonly after: string | null; readonly limit: number }) {
  return rows(
    tx.em,
    query
      .selectFrom('knowledge_items')
      .where('stagedRunId', '=', runId)
      .where('id', '>', after ?? noItem)
      .where('indexState', '=', sql.lit('pending'))
      .where('chunkCount', '>', 0)
      .select(['id', 'title', 'content', 'pages', 'rowVersion'])
      .orderBy('id')
      .limit(limit),
  );
}

/** Returns the number of the sync that a run does; null when the source already has another run. */
export async function readSyncNo(
  tx: Tx,
  { sourceId, runId }: { readonly sourceId: string; readonly runId: string },
): Promise<number | null> {
  const found = await row(
    tx.em,
    query.selectFrom('knowledge_sources').select('syncNo').where('id', '=', sourceId).where('runId', '=', runId),
  );
  return found?.syncNo ?? null;
}

/** Returns which of the ids belong to sources of these bases. */
export async function knownSources(
  tx: Tx,
  { ids, kbIds }: { readonly ids: readonly string[]; readonly kbIds: readonly string[] },
): Promise<Set<string>> {
  const found = await rows(
    tx.em,
    query
      .selectFrom('knowledge_sources as s')
      .select('s.id')
      .where('s.deletedAt', 'is', null)
      .where(sql<boolean>`s.id = any(${ids}::uuid[])`)
      .where(sql<boolean>`s.kb_id = any(${kbIds}::uuid[])`),
  );
  return new Set(found.map(({ id }) => id));
}
