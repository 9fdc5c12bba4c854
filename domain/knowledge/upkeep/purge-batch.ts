import { createHash } from 'node:crypto';
import { forgetReplies } from '../../../db/http/idempotency.ts';
import { applyChange, emptyChange, removeChunks } from '../../../db/knowledge/bases/base-counters.ts';
import type { readPurgedBase } from '../../../db/knowledge/bases/bases.ts';
import {
  basesWithCopies,
  derivedFrom,
  dropCached,
  hashesOfChunks,
  lockPurged,
  nextPurged,
  removeItems,
  textsOfItems,
  type PurgeTarget,
} from '../../../db/knowledge/upkeep/purge-items.ts';
import { closeSources } from '../../../db/knowledge/upkeep/purge-rest.ts';
import type { KnowledgeRun } from '../../../db/knowledge/runs/knowledge-run.entity.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import type { Embedder } from '../../../ports/embeddings/index.ts';
import { embeddedText, prepareIndex } from '../items/index-item.ts';
import type { IndexedDocument } from '../items/index-plan.ts';

/** The target of a purge run, as `startPurge` wrote it. */
export function purgeTargetOf({ params }: Pick<KnowledgeRun, 'params'>): PurgeTarget {
  return params as unknown as PurgeTarget; // written by startPurge alone
}

/** A base as a purge finds it, deleted or not. */
export type PurgedBase = NonNullable<Awaited<ReturnType<typeof readPurgedBase>>>;

/** The next items to be removed, with the texts that may have been embedded. Read without a lock. */
export interface PurgePage {
  readonly ids: readonly string[];
  readonly last: string;
  /** SHA-256 of texts whose vectors the cache may hold. */
  readonly hashes: readonly string[];
}

/** Reads the next page of items after `after`; null when none is left. For a subject, includes the items derived from the subject's items. */
export async function readPurgePage(
  tx: TenantTransaction,
  base: PurgedBase,
  { target, after, embedder }: { readonly target: PurgeTarget; readonly after: string | null; readonly embedder: Pick<Embedder, 'find'> },
): Promise<PurgePage | null> {
  const found = await nextPurged(tx, base.id, { target, after });
  const last = found.at(-1);
  if (last === undefined) return null;
  const ids = target.mode === 'subject' ? [...found, ...(await derivedFrom(tx, base.id, found))] : found;
  const isCached = embedder.find(base.embeddingModel)?.isCached ?? base.embeddingModel !== 'none';
  const texts = isCached ? await textsOfItems(tx, ids) : [];
  return { ids, last, hashes: await hashesOf(base, texts, embedder) };
}

/** Texts of deleted items and earlier versions have no chunks any more: they are split again, by the base's current settings. */
async function hashesOf(base: PurgedBase, texts: readonly IndexedDocument[], embedder: Pick<Embedder, 'find'>): Promise<string[]> {
  const hashes = new Set<string>();
  for (const text of texts) {
    await new Promise(setImmediate);
    for (const chunk of prepareIndex(base, text, embedder).chunks)
      hashes.add(createHash('sha256').update(embeddedText(chunk)).digest('hex'));
  }
  return [...hashes];
}

/** What one page removed, by name, and which superseded bases hold copies of it. */
export interface PurgedPage {
  readonly counts: Readonly<Record<string, number>>;
  readonly copiesIn: readonly string[];
}

/** Removes a page of items in the caller's transaction, with everything derived from them. */
export async function purgePage(
  tx: TenantTransaction,
  base: PurgedBase,
  { page, target }: { readonly page: PurgePage; readonly target: PurgeTarget },
): Promise<PurgedPage> {
  const items = await lockPurged(tx, base.id, page.ids);
  const ids = items.map(({ id }) => id);
  const copiesIn = await basesWithCopies(tx, ids);
  const cached = await dropCache(tx, base, [...page.hashes, ...(await hashesOfChunks(tx, ids))]);

  const changes = emptyChange();
  await removeChunks(tx, ids, changes);
  const chunks = -changes.chunks;
  const { versions, relations } = await removeItems(tx, ids);
  // The source of a deleted item has other items by now, and stays.
  const sourceIds = new Set(items.flatMap(({ sourceId }) => (sourceId === null || target.mode === 'tombstones' ? [] : [sourceId])));
  await closeSources(tx, [...sourceIds]);
  await forgetReplies(tx, [...ids, ...sourceIds]);
  for (const { state, isLive } of items) if (isLive) changes.states[state] -= 1;
  await applyChange(tx, base, changes);
  return { counts: { items: ids.length, versions, chunks, relations, cached }, copiesIn };
}

async function dropCache(
  tx: TenantTransaction,
  { organizationId, embeddingModel }: PurgedBase,
  hashes: readonly string[],
): Promise<number> {
  return organizationId === null ? 0 : dropCached(tx, { organizationId, model: embeddingModel, hashes: [...new Set(hashes)] });
}
