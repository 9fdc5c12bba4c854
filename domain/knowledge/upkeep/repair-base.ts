import { applyChange, emptyChange, removeChunks } from '../../../db/knowledge/bases/base-counters.ts';
import { findWrongCounters, findWrongTerms, recount } from '../../../db/knowledge/upkeep/counts.ts';
import { resolveRepaired } from '../../../db/knowledge/upkeep/write-findings.ts';
import {
  dropOrphanChunks,
  dropRelations,
  findOrphanChunks,
  findOrphanRelations,
  markPending,
  nextItemIds,
  renameVectors,
  shareItemTexts,
} from '../../../db/knowledge/upkeep/integrity.ts';
import { lockMaintainedBase, type MaintainedBase } from '../../../db/knowledge/bases/maintained-base.ts';
import { setIndexColumns } from '../../../db/knowledge/items/pending-items.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { fail } from '../../../workflows/contracts/failure.ts';
import { prepareIndex, writeIndex, type IndexedItem } from '../items/index-item.ts';
import { shareForWriting, type TaskBatch } from './maintenance.ts';
import { requestIndex } from '../items/request-index.ts';
import { afterItems, checkedAtOnce, integrityPrints, itemFaults, orphansAtOnce } from './verify-base.ts';

/**
 * Task `repair`: rebuilds the derived rows in which `verify` finds faults, and no others: chunks of items from their content, whose vectors the workflow
 * `index:<kb>` then makes; orphaned chunks and relations are removed; counters and terms are counted again. Items, their states and versions stay, and nothing
 * deleted comes back. A dry run counts.
 */
export async function repairStep(batch: TaskBatch): Promise<void> {
  const { stage } = batch.cursor;
  if (stage === null || stage === 'items') return repairItems(batch);
  if (stage === 'orphans') return repairOrphans(batch);
  return repairNumbers(batch);
}

async function repairItems(batch: TaskBatch): Promise<void> {
  const { run, cursor, itemIds } = batch;
  await batch.commit(async (tx) => {
    const base = await shareForWriting(tx, run.kbId);
    const ids = await nextItemIds(tx, base.id, { after: cursor.after, ids: itemIds, limit: checkedAtOnce });
    const faults = await itemFaults(tx, base, ids);
    if (!run.dryRun && faults.length > 0) {
      const isRewritten = faults.filter((fault) => fault.faults.some((kind) => kind !== 'vectors')).map(({ id }) => id);
      await rewriteChunks(batch, tx, { base, ids: isRewritten });
      const faulty = faults.map(({ id }) => id);
      await renameVectors(tx, faulty);
      await markPending(tx, faulty);
      await requestMissing(tx, base, run.id);
      await resolveRepaired(
        tx,
        base.id,
        faulty.map((id) => integrityPrints.item(id)),
      );
    }
    return { next: afterItems(batch, ids), done: ids.length, counts: { items_repaired: faults.length } };
  });
}

async function rewriteChunks(
  { tools }: TaskBatch,
  tx: TenantTransaction,
  { base, ids }: { readonly base: MaintainedBase; readonly ids: readonly string[] },
): Promise<void> {
  if (ids.length === 0) return;
  const items = await shareItemTexts(tx, ids);
  const indexed: IndexedItem[] = items.map((item) => ({
    itemId: item.id,
    prepared: withoutVectors(prepareIndex(base, item, tools.embedder)),
  }));
  const changes = emptyChange();
  await removeChunks(tx, ids, changes);
  await writeIndex(tx, base, { items: indexed, changes });
  for (const { itemId, prepared } of indexed)
    await setIndexColumns(tx, itemId, { chunkCount: prepared.chunks.length, tokenCount: prepared.tokenCount });
  await applyChange(tx, base, changes);
}

function withoutVectors(prepared: IndexedItem['prepared']): IndexedItem['prepared'] {
  return { ...prepared, vectors: null };
}

async function requestMissing(tx: TenantTransaction, { id, organizationId, workspaceId }: MaintainedBase, runId: string): Promise<void> {
  if (organizationId !== null) await requestIndex(tx, { id, organizationId, workspaceId }, `repair:${runId}:${crypto.randomUUID()}`);
}

async function repairOrphans(batch: TaskBatch): Promise<void> {
  const { run, cursor } = batch;
  await batch.commit(async (tx) => {
    const base = await shareForWriting(tx, run.kbId);
    const orphans = await findOrphanChunks(tx, base.id, { after: cursor.after, limit: orphansAtOnce });
    const relations = await findOrphanRelations(tx, base.id, orphansAtOnce);
    const itemIds = orphans.map(({ itemId }) => itemId);
    if (!run.dryRun) {
      await dropOrphanChunks(tx, itemIds);
      await dropRelations(tx, relations);
      await resolveRepaired(tx, base.id, [...itemIds.map(integrityPrints.chunks), ...relations.map(integrityPrints.relation)]);
    }
    const chunks = orphans.reduce((sum, orphan) => sum + orphan.chunks, 0);
    const isMore = orphans.length === orphansAtOnce || (!run.dryRun && relations.length === orphansAtOnce);
    const next = isMore ? { stage: 'orphans', after: itemIds.at(-1) ?? cursor.after } : { stage: 'numbers', after: null };
    return { next, done: 0, counts: { orphan_chunks_removed: chunks, orphan_relations_removed: relations.length } };
  });
}

/** Writers of the base wait meanwhile: their rows are either counted here or added to the new counts. */
async function repairNumbers(batch: TaskBatch): Promise<void> {
  const { run } = batch;
  await batch.commit(async (tx) => {
    const base = await lockMaintainedBase(tx, run.kbId);
    if (base === null) throw fail('not_found');
    const counters = await findWrongCounters(tx, base.id);
    const terms = await findWrongTerms(tx, base.id);
    if (!run.dryRun) {
      if (counters.length > 0 || terms.length > 0) await recount(tx, base.id);
      await resolveRepaired(tx, base.id, [integrityPrints.counters, integrityPrints.terms]);
    }
    return { next: null, done: 0, counts: { counters_repaired: counters.length, terms_repaired: terms.length } };
  });
}
