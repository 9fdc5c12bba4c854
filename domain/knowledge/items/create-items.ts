import { applyChange, emptyChange } from '../../../db/knowledge/bases/base-counters.ts';
import { insertItems, listSameItems, lockItemKeys, type NewItemRow } from '../../../db/knowledge/items/insert-items.ts';
import type { ItemBase } from '../../../db/knowledge/items/item-base.ts';
import { readItem, type ItemRow } from '../../../db/knowledge/items/items.ts';
import { writeSuspects } from '../../../db/knowledge/items/suspect-items.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { fail } from '../../../workflows/contracts/failure.ts';
import { refuseFrozenBase } from '../bases/frozen-base.ts';
import { requestPending } from './request-pending.ts';
import { suspectsOf, writeIndex } from './index-item.ts';
import { currentPlan, planColumnsOf, type IndexPlan, type Indexer } from './index-plan.ts';
import type { toItemRow } from './item-rules.ts';

export const onDuplicates = ['reject', 'return_existing', 'allow'] as const;
/** What to do with an item whose content or external id a live item of the base already has; `allow` applies to equal contents alone. */
export type OnDuplicate = (typeof onDuplicates)[number];

/** An item to be created, with the index that was made before the transaction. */
export interface ItemDraft {
  readonly row: ReturnType<typeof toItemRow>;
  readonly plan?: IndexPlan;
}

/** The outcome of one draft. */
export type DraftOutcome =
  | { readonly status: 'created'; readonly item: ItemRow }
  | { readonly status: 'existing'; readonly itemId: string }
  | { readonly status: 'failed'; readonly code: 'already_exists' };

export interface CreateItems {
  readonly drafts: readonly ItemDraft[];
  readonly onDuplicate: OnDuplicate;
  readonly indexer: Indexer;
}

/**
 * Creates items of a base that is locked FOR SHARE, with their index, first versions and counters; returns one outcome per draft, in their order. Of equal
 * drafts the first is created. Throws 423 for a frozen base.
 */
export async function createItems(
  tx: TenantTransaction,
  base: ItemBase,
  { drafts, onDuplicate, indexer }: CreateItems,
): Promise<DraftOutcome[]> {
  refuseFrozenBase(base);
  const decided = await decide(tx, base, { drafts, onDuplicate });
  const fresh = drafts.filter((_, at) => decided[at] === null);
  const plans = await Promise.all(fresh.map(({ row, plan }) => currentPlan(plan, { base, document: row }, indexer)));

  const rows = fresh.map(({ row }, at): NewItemRow => {
    const isSuspect = typeof plans[at]?.prepared?.suspectRule === 'string';
    return { ...row, ...(isSuspect ? { trust: 'untrusted' } : {}), ...columnsOf(plans[at]) };
  });
  const created = await insertItems(tx, base, rows);
  const changes = emptyChange();
  const items = plans.flatMap(({ prepared }, at) => (prepared === null ? [] : [{ itemId: rows[at]?.id ?? '', prepared }]));
  await writeIndex(tx, base, { items, changes });
  for (const { curationState } of rows) changes.states[curationState] += 1;
  await writeSuspects(tx, suspectsOf(items));
  await requestPending(tx, base, created);
  await applyChange(tx, base, changes);

  const inOrder = created.values();
  return decided.map((outcome) => outcome ?? { status: 'created', item: inOrder.next().value ?? never() });
}

/** Creates one item. Returns it, and whether it is new. Throws 409 `already_exists`, 423. */
export async function createItem(
  tx: TenantTransaction,
  base: ItemBase,
  { draft, ...request }: Omit<CreateItems, 'drafts'> & { readonly draft: ItemDraft },
): Promise<{ readonly item: ItemRow; readonly isNew: boolean }> {
  const [outcome] = await createItems(tx, base, { ...request, drafts: [draft] });
  if (outcome?.status === 'created') return { item: outcome.item, isNew: true };
  if (outcome?.status === 'existing') return { item: await readItem(tx, outcome.itemId), isNew: false };
  throw fail('already_exists');
}

function columnsOf(plan: IndexPlan | undefined) {
  return plan ? planColumnsOf(plan) : never();
}

function never(): never {
  throw new Error('each new item has its row and its plan');
}

/** Returns why drafts are not created; null for those that are. */
async function decide(
  tx: TenantTransaction,
  base: ItemBase,
  { drafts, onDuplicate }: Pick<CreateItems, 'drafts' | 'onDuplicate'>,
): Promise<(Exclude<DraftOutcome, { status: 'created' }> | null)[]> {
  const hashes = drafts.map(({ row }) => row.contentHash);
  const externalIds = drafts.flatMap(({ row }) => (row.externalId === null ? [] : [row.externalId]));
  await lockItemKeys(tx, base.id, { hashes, externalIds });
  const byHash = new Map<string, string>();
  const byExternalId = new Map<string, string>();
  const note = ({ id, contentHash, externalId }: { id: string; contentHash: string; externalId: string | null }) => {
    if (!byHash.has(contentHash)) byHash.set(contentHash, id);
    if (externalId !== null) byExternalId.set(externalId, id);
  };
  for (const same of await listSameItems(tx, base.id, { hashes: onDuplicate === 'allow' ? [] : hashes, externalIds })) note(same);

  return drafts.map(({ row }) => {
    const sameId = row.externalId === null ? undefined : byExternalId.get(row.externalId);
    const itemId = sameId ?? (onDuplicate === 'allow' ? undefined : byHash.get(row.contentHash));
    if (itemId === undefined) note(row);
    if (itemId === undefined) return null;
    return onDuplicate === 'return_existing' ? { status: 'existing', itemId } : { status: 'failed', code: 'already_exists' };
  });
}
