import { applyChange, emptyChange } from '../../../db/knowledge/bases/base-counters.ts';
import { listMatchingIds, listSuccessors, lockItems, writeStates, type CuratedFilter } from '../../../db/knowledge/items/change-items.ts';
import type { ItemBase } from '../../../db/knowledge/items/item-base.ts';
import type { CurationState } from '../../../workflows/contracts/knowledge/curation.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { fail, invalid } from '../../../workflows/contracts/failure.ts';
import { refuseFrozenBase } from '../bases/frozen-base.ts';

/** The states from which a curator may move an item to a state. Only undoing the resolution of a finding leads back from superseded. */
const sources: Readonly<Record<CurationState, readonly CurationState[]>> = {
  pending: [],
  reviewed: ['pending', 'retired'],
  promoted: ['reviewed'],
  superseded: ['pending', 'reviewed', 'promoted'],
  retired: ['pending', 'reviewed', 'promoted'],
};

/** The most items that one curation changes. */
export const maxCuratedItems = 1_000;

export interface ItemCuration {
  readonly to: CurationState;
  /** The item that replaces it; for superseded items alone. */
  readonly supersededById: string | null;
}

/** Whether a curator may move an item from one state to another. */
function isCurated(from: CurationState, to: CurationState): boolean {
  return sources[to].includes(from);
}

/** Throws 422 unless a superseded item, and no other, names its successor. */
function refuseSuccession({ to, supersededById }: ItemCuration): void {
  if ((to === 'superseded') === (supersededById !== null)) return;
  throw invalid(
    '/superseded_by_id',
    supersededById === null ? 'required' : 'unknown_field',
    'superseded_by is required for superseded and not allowed for any other state.',
  );
}

/**
 * Moves one live item of a locked base to another state, and returns its previous state.
 * @throws 404; 409 `illegal_transition`; 422 for a successor that is no other live item of the base, or leads back to the item.
 */
export async function curateItem(
  tx: TenantTransaction,
  base: ItemBase,
  { itemId, ...curation }: ItemCuration & { readonly itemId: string },
): Promise<CurationState> {
  refuseFrozenBase(base);
  refuseSuccession(curation);
  const { to, supersededById } = curation;
  const locked = await lockItems(tx, base.id, supersededById === null ? [itemId] : [itemId, supersededById]);
  const item = locked.find(({ id }) => id === itemId);
  if (!item) throw fail('not_found');
  if (!isCurated(item.curationState, to))
    throw fail('state_conflict', {
      reason: 'illegal_transition',
      detail: `A ${item.curationState} item cannot become ${to}.`,
      context: { from: item.curationState, to },
    });
  if (supersededById !== null) {
    refuseNoSuccessor(locked, itemId, supersededById);
    if ((await listSuccessors(tx, supersededById)).includes(itemId)) throw cycle();
  }

  await writeCuration(tx, base, { items: [item], curation });
  return item.curationState;
}

function refuseNoSuccessor(locked: readonly { readonly id: string }[], itemId: string, successorId: string): void {
  if (successorId === itemId) throw cycle();
  if (locked.some(({ id }) => id === successorId)) return;
  throw invalid('/superseded_by_id', 'reference', 'The base has no such live item.', { kind: 'item' });
}

function cycle() {
  return invalid('/superseded_by_id', 'cycle', 'An item cannot be superseded by itself.');
}

interface CuratedItem {
  readonly id: string;
  readonly curationState: CurationState;
}

/** The items that a curator selects: ids, or all that match a filter. */
export interface ItemsCuration extends ItemCuration {
  readonly itemIds: readonly string[] | null;
  readonly filter: CuratedFilter;
  readonly isDryRun: boolean;
}

export interface CurationResult {
  readonly matched: number;
  readonly changed: number;
  /** Each with the reason why it stays as it is. */
  readonly skipped: { readonly itemId: string; readonly reason: 'illegal_transition' | 'cycle' }[];
}

/**
 * Moves items of a locked base to another state; items whose state forbids it stay, and are returned as skipped. A dry run changes nothing.
 * @throws 422 `too_many` over 1,000 matches, `reference` for ids that are no live items of the base, and for a successor as `curateItem`.
 */
export async function curateItems(
  tx: TenantTransaction,
  base: ItemBase,
  { itemIds, filter, isDryRun, ...curation }: ItemsCuration,
): Promise<CurationResult> {
  refuseFrozenBase(base);
  refuseSuccession(curation);
  const { supersededById } = curation;
  const ids = itemIds ?? (await listMatchingIds(tx, { ...filter, kbId: base.id }, maxCuratedItems + 1));
  if (ids.length > maxCuratedItems)
    throw fail('validation_failed', { reason: 'too_many', detail: `The filter matches more than ${maxCuratedItems} items. Narrow it.` });

  const locked = await lockItems(tx, base.id, supersededById === null ? ids : [...ids, supersededById]);
  if (itemIds !== null) refuseUnknown(itemIds, locked);
  if (supersededById !== null) refuseNoSuccessor(locked, '', supersededById);
  const later = new Set(supersededById === null ? [] : await listSuccessors(tx, supersededById));
  const wanted = new Set(ids);
  const skipped: CurationResult['skipped'] = [];
  const changed: CuratedItem[] = [];
  const items = locked.filter(({ id }) => wanted.has(id));
  for (const item of items) {
    if (!isCurated(item.curationState, curation.to)) skipped.push({ itemId: item.id, reason: 'illegal_transition' });
    else if (later.has(item.id)) skipped.push({ itemId: item.id, reason: 'cycle' });
    else changed.push(item);
  }
  if (!isDryRun) await writeCuration(tx, base, { items: changed, curation });
  return { matched: items.length, changed: changed.length, skipped };
}

function refuseUnknown(itemIds: readonly string[], locked: readonly { readonly id: string }[]): void {
  const found = new Set(locked.map(({ id }) => id));
  const at = itemIds.findIndex((id) => !found.has(id));
  if (at !== -1) throw invalid(`/item_ids/${at}`, 'reference', 'The base has no such live item.', { kind: 'item' });
}

/** An item that a curator has reviewed has trust `reviewed` until others change its content. */
async function writeCuration(
  tx: TenantTransaction,
  base: ItemBase,
  { items, curation: { to, supersededById } }: { readonly items: readonly CuratedItem[]; readonly curation: ItemCuration },
): Promise<void> {
  const changes = emptyChange();
  const ids = items.map(({ id }) => id);
  await writeStates(tx, ids, { state: to, trust: to === 'reviewed' || to === 'promoted' ? 'reviewed' : null, supersededById });
  for (const { curationState } of items) changes.states[curationState] -= 1;
  changes.states[to] += items.length;
  await applyChange(tx, base, changes);
}
