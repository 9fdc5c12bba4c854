import { creatorOf } from '../../../db/actor-ref.ts';
import { applyChange, emptyChange, removeChunks, type BaseChange } from '../../../db/knowledge/bases/base-counters.ts';
import { lockItem, removeRelations } from '../../../db/knowledge/items/change-items.ts';
import { insertItemVersion, listSameItems, lockItemKeys } from '../../../db/knowledge/items/insert-items.ts';
import { requireBaseOfItem, type ContentRight } from '../bases/base-rights.ts';
import type { ItemBase } from '../../../db/knowledge/items/item-base.ts';
import { defaultPolicy } from '../../../db/knowledge/bases/maintained-base.ts';
import { KnowledgeItem } from '../../../db/knowledge/items/knowledge-item.entity.ts';
import { writeSuspects } from '../../../db/knowledge/items/suspect-items.ts';
import { assertActive, seeForChange, type Changing } from '../../../db/scope.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { fail } from '../../../workflows/contracts/failure.ts';
import { refuseFrozenBase } from '../bases/frozen-base.ts';
import { suspectsOf, writeIndex } from './index-item.ts';
import { currentPlan, planColumnsOf, type IndexPlan, type Indexer } from './index-plan.ts';
import { requestPending } from './request-pending.ts';

/** An item that is about to change, with its base: the item locked exclusively, the base against a freeze. */
export interface LockedItem {
  readonly base: ItemBase;
  readonly item: KnowledgeItem;
}

interface ItemChange {
  readonly right: ContentRight;
  readonly versionProperty?: string | null;
  /** Accepts the change in a suspended organization or an archived workspace too, as for deletions. */
  readonly openWhenSuspended?: boolean;
}

/** Locks an item that is about to change. Throws 404, 403, 412, 428, and 423 for a frozen base. */
export async function seeItemForChange(
  ctx: Changing,
  itemId: string,
  { right, versionProperty = 'rowVersion', openWhenSuspended }: ItemChange,
): Promise<LockedItem> {
  const base = await requireBaseOfItem(ctx, itemId, { right, isLocked: true });
  const item = await seeForChange(ctx, KnowledgeItem, itemId, { versionProperty, openWhenSuspended });
  refuseFrozenBase(base);
  return { base, item };
}

/** How to index an item again; the caller collects the changes of the base. */
export interface Reindexing {
  readonly plan: IndexPlan | undefined;
  readonly indexer: Indexer;
}

/**
 * Replaces the index of a locked item by one of its current text, and records the effect on the base in `changes`; the caller updates the counter of its state.
 */
export async function reindexItem(
  tx: TenantTransaction,
  { base, item }: LockedItem,
  { plan, indexer, changes }: Reindexing & { readonly changes: BaseChange },
): Promise<void> {
  const current = await currentPlan(plan, { base, document: item }, indexer);
  Object.assign(item, planColumnsOf(current));
  await tx.em.flush();
  await removeChunks(tx, [item.id], changes);
  const indexed = current.prepared === null ? [] : [{ itemId: item.id, prepared: current.prepared }];
  await writeIndex(tx, base, { items: indexed, changes });
  if ((await writeSuspects(tx, suspectsOf(indexed))).length > 0) {
    item.trust = 'untrusted';
    await tx.em.flush();
  }
  await requestPending(tx, base, [item]);
}

/** Deletes a locked item as of `at`. Its chunks, vectors and relations are removed at once; its row and versions remain for a restore or a purge. */
export async function deleteItem(tx: TenantTransaction, { base, item }: LockedItem, at: Date): Promise<void> {
  const changes = emptyChange();
  Object.assign(item, { deletedAt: at, chunkCount: 0, tokenCount: 0, indexState: 'pending', indexError: null });
  await tx.em.flush();
  await removeRelations(tx, item.id);
  await removeChunks(tx, [item.id], changes);
  changes.states[item.curationState] -= 1;
  await applyChange(tx, base, changes);
}

/**
 * Makes a deleted item live again, with a new index and without its relations.
 * @throws 404, 403, 423; 409 `illegal_transition` for a live item, `retention_over` after the base's retention days, `already_exists` when a live item has its
 * external id.
 */
export async function restoreItem(
  ctx: Changing,
  itemId: string,
  { now, ...reindexing }: Reindexing & { readonly now: Date },
): Promise<KnowledgeItem> {
  const base = await requireBaseOfItem(ctx, itemId, { right: 'curate', isLocked: true, withDeleted: true });
  const item = await lockItem(ctx, itemId);
  if (item === null) throw fail('not_found');
  await assertActive(ctx.em, item);
  refuseFrozenBase(base);
  await refuseRestore(ctx, { base, item }, now);

  item.deletedAt = null;
  await ctx.em.flush();
  const changes = emptyChange();
  await reindexItem(ctx, { base, item }, { ...reindexing, changes });
  changes.states[item.curationState] += 1;
  await applyChange(ctx, base, changes);
  return item;
}

async function refuseRestore(tx: TenantTransaction, { base, item }: LockedItem, now: Date): Promise<void> {
  if (item.deletedAt === null) throw fail('state_conflict', { reason: 'illegal_transition', detail: 'The item has not been deleted.' });
  const retentionMs = (base.retentionDays ?? defaultPolicy.retentionDays) * 86_400_000;
  if (now.getTime() - new Date(item.deletedAt).getTime() > retentionMs)
    throw fail('state_conflict', { reason: 'retention_over', detail: 'The item can no longer be restored: its retention period is over.' });
  if (item.externalId === null) return;
  const keys = { hashes: [], externalIds: [item.externalId] };
  await lockItemKeys(tx, base.id, { ...keys, hashes: [item.contentHash] });
  if ((await listSameItems(tx, base.id, keys)).length > 0)
    throw fail('already_exists', { detail: 'Another item of the base has taken its external id.' });
}

/** Stores the changed item as its next version. */
export async function addVersion(tx: TenantTransaction, item: KnowledgeItem, reason: string | null): Promise<void> {
  item.version += 1;
  await tx.em.flush();
  await insertItemVersion(tx, item, { actor: creatorOf(tx.actor), reason });
}
