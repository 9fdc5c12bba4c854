import {
  countExported,
  exportedBase,
  exportedGrants,
  exportedItems,
  exportedRelations,
  exportedSources,
  exportedVectors,
  type ExportedItem,
  type ExportedSource,
} from '../../../db/knowledge/runs/export-rows.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { iso } from '../../../db/sql.ts';
import type { BundleRecord } from '../../../ports/parsing/knowledge-bundle.ts';
import { fail } from '../../../workflows/contracts/failure.ts';

/** What an export contains beside sources, items and relations. */
export interface ExportOptions {
  readonly includeVectors: boolean;
  readonly includeGrants: boolean;
}

type Read = <R>(work: (tx: TenantTransaction) => Promise<R>) => Promise<R>;

/**
 * Yields all lines of a base's bundle but the last one, a page of rows at a time: its header, sources, live items (each followed by its vectors, if wanted),
 * relations, and grants, if wanted. Bytes of files are not included. Throws 404 when the base no longer exists.
 */
export async function* exportRecords(
  read: Read,
  kbId: string,
  { includeVectors, includeGrants }: ExportOptions,
): AsyncGenerator<BundleRecord> {
  const base = await read((tx) => exportedBase(tx, kbId));
  if (base === null) throw fail('not_found', { detail: 'The knowledge base has been deleted.' });
  const counts = await read((tx) => countExported(tx, kbId));
  yield { type: 'header', base: toBase(base), counts };

  for await (const page of pagesOf((after) => read((tx) => exportedSources(tx, kbId, after)))) yield* page.map(toSource);
  for await (const page of pagesOf((after) => read((tx) => exportedItems(tx, kbId, after)))) {
    const vectors = includeVectors ? await vectorsOf(read, base.embeddingModel, page) : new Map<string, BundleRecord>();
    for (const item of page) {
      yield toItem(item);
      const ofItem = vectors.get(item.id);
      if (ofItem) yield ofItem;
    }
  }
  for await (const page of pagesOf((after) => read((tx) => exportedRelations(tx, kbId, after))))
    for (const { fromItemId, toItemId, type, note } of page)
      yield { type: 'relation', from_item_id: fromItemId, to_item_id: toItemId, relation: type, note };
  if (includeGrants)
    for (const { principalKind, principalId, role, access, expiresAt } of await read((tx) => exportedGrants(tx, kbId)))
      yield { type: 'grant', principal_kind: principalKind, principal_id: principalId, role, access, expires_at: iso(expiresAt) };
}

async function* pagesOf<Row extends { readonly id: string }>(
  next: (after: string | null) => Promise<readonly Row[]>,
): AsyncGenerator<readonly Row[]> {
  for (let page = await next(null); page.length > 0; page = await next(page.at(-1)?.id ?? null)) yield page;
}

async function vectorsOf(read: Read, model: string, items: readonly ExportedItem[]): Promise<Map<string, BundleRecord>> {
  const found = await read((tx) =>
    exportedVectors(
      tx,
      items.map(({ id }) => id),
    ),
  );
  const byItem = Map.groupBy(found, ({ itemId }) => itemId);
  return new Map(
    [...byItem].map(([itemId, vectors]) => {
      const chunks = vectors.map(({ ord, contentHash, embedding }) => ({
        ord,
        content_hash: contentHash,
        embedding: JSON.parse(embedding) as number[],
      })); // the text of a halfvec is a list of numbers
      return [itemId, { type: 'vectors', item_id: itemId, model, chunks }];
    }),
  );
}

function toBase({
  id,
  slug,
  name,
  kind,
  embeddingModel,
  embeddingDim,
  chunking,
  retrieval,
}: NonNullable<Awaited<ReturnType<typeof exportedBase>>>) {
  return { id, slug, name, kind, embedding_model: embeddingModel, embedding_dim: embeddingDim, chunking, retrieval };
}

function toSource(source: ExportedSource): BundleRecord {
  const { id, kind, title, uri, text, itemKind, tags, metadata, mediaType, contentHash, createdAt } = source;
  const read = { media_type: mediaType, content_hash: contentHash, created_at: iso(createdAt) };
  return { type: 'source', id, kind, title, uri, text, item_kind: itemKind, tags, metadata, ...read };
}

function toItem(item: ExportedItem): BundleRecord {
  const { id, sourceId, externalId, kind, title, content, tags, metadata, fact, evidence, pages } = item;
  const words = { kind, title, content, tags, metadata, fact, evidence, pages };
  const times = { valid_from: iso(item.validFrom), valid_until: iso(item.validUntil), observed_at: iso(item.observedAt) };
  const curation = { origin: item.origin, trust: item.trust, curation_state: item.curationState, superseded_by_id: item.supersededById };
  return {
    type: 'item',
    id,
    source_id: sourceId,
    external_id: externalId,
    ...words,
    ...times,
    ...curation,
    created_at: iso(item.createdAt),
  };
}
