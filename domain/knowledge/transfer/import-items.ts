import type { ActorRef } from '../../../db/actor-ref.ts';
import { lockItem } from '../../../db/knowledge/items/change-items.ts';
import { listSameItems } from '../../../db/knowledge/items/insert-items.ts';
import type { ItemBase } from '../../../db/knowledge/items/item-base.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { Failure } from '../../../workflows/contracts/failure.ts';
import type { BundleItem, BundleVectors } from './bundle-rows.ts';
import { createItems, type DraftOutcome, type ItemDraft } from '../items/create-items.ts';
import { prepareIndex } from '../items/index-item.ts';
import { planIndex, type IndexPlan, type Indexer } from '../items/index-plan.ts';
import { toItemRow } from '../items/item-rules.ts';
import { updateItem } from '../items/update-item.ts';

/** How an import treats its rows. */
export interface ImportRules {
  readonly mode: 'create' | 'upsert';
  readonly isDryRun: boolean;
  readonly keepState: boolean;
  readonly createdBy: ActorRef;
}

/** An item of a bundle with its new id and the new ids of its references. */
export interface ItemToImport {
  readonly row: BundleItem;
  readonly newId: string;
  readonly sourceId: string | null;
  readonly itemIds: ReadonlyMap<string, string>;
  readonly vectors: BundleVectors | null;
}

/** The same, checked and indexed before any transaction. `fault`: why its fields are refused. */
export type PreparedItem =
  | { readonly item: ItemToImport; readonly draft: ItemDraft; readonly hasVectors: boolean }
  | { readonly item: ItemToImport; readonly fault: string };

/** Checks and indexes an item of a bundle. Its vectors are used if model, dimension and chunks are those of the base. */
export async function prepareImport(
  base: ItemBase,
  item: ItemToImport,
  { rules, indexer }: { readonly rules: ImportRules; readonly indexer: Indexer },
): Promise<PreparedItem> {
  try {
    const row = draftRow(base, item, rules);
    const plan = withVectors(base, item, { plan: await planOf(base, row, indexer), indexer });
    return { item, draft: { row, plan: plan.plan }, hasVectors: plan.hasVectors };
  } catch (error) {
    if (error instanceof Failure && error.code === 'validation_failed') return { item, fault: error.detail };
    throw error;
  }
}

function draftRow(
  base: ItemBase,
  { row, newId, sourceId, itemIds }: ItemToImport,
  { keepState, createdBy }: ImportRules,
): ItemDraft['row'] {
  const { curation_state: state, trust, evidence = [], origin, pages, ...fields } = row;
  const mapped = evidence.map((one) => (one.kind === 'item' ? { ...one, ref: itemIds.get(one.ref) ?? one.ref } : one));
  const from = { origin: keepState ? (origin ?? 'import') : 'import', createdBy, sourceId, pages: toPages(pages) } as const;
  const made = toItemRow({ ...fields, evidence: mapped }, from, { baseKind: base.kind, pointer: '' });
  const kept = { curationState: state ?? made.curationState, trust: trust ?? made.trust };
  const fresh = { curationState: 'pending', trust: trust === 'untrusted' ? trust : 'workspace' } as const;
  return { ...made, id: newId, ...(keepState ? kept : fresh) };
}

function toPages(pages: BundleItem['pages']) {
  return pages?.map(({ page, start }) => ({ page, start })).toSorted((left, right) => left.start - right.start) ?? null;
}

/** Long documents are chunked here too: no request waits. */
async function planOf(base: ItemBase, document: ItemDraft['row'], indexer: Indexer): Promise<IndexPlan> {
  const plan = await planIndex(base, document, indexer);
  return plan.prepared === null ? { ...plan, prepared: prepareIndex(base, document, indexer.embedder) } : plan;
}

function withVectors(
  { embeddingModel, embeddingDim }: ItemBase,
  { vectors }: ItemToImport,
  { plan }: { readonly plan: IndexPlan; readonly indexer: Indexer },
): { readonly plan: IndexPlan; readonly hasVectors: boolean } {
  const { prepared } = plan;
  if (vectors === null || prepared === null || vectors.model !== embeddingModel || embeddingModel === 'none')
    return { plan, hasVectors: false };
  const byOrd = new Map(vectors.chunks.map((chunk) => [chunk.ord, chunk]));
  const own = prepared.chunks.map(({ ord, contentHash }) => {
    const chunk = byOrd.get(ord);
    return chunk?.content_hash === contentHash && chunk.embedding.length === embeddingDim ? Float32Array.from(chunk.embedding) : null;
  });
  const all = own.flatMap((vector) => (vector === null ? [] : [vector]));
  if (all.length < prepared.chunks.length) return { plan, hasVectors: false };
  return { plan: { ...plan, prepared: { ...prepared, vectors: all } }, hasVectors: true };
}

/** The outcome of an item of a bundle, and the item that its id stands for from here on. */
export interface ImportedItem {
  readonly item: ItemToImport;
  readonly outcome: 'created' | 'updated' | 'unchanged' | 'already_exists' | 'bad_field';
  readonly itemId: string | null;
  readonly detail: string;
}

/** Writes prepared items in the caller's transaction, in their order. Two items of equal content in one bundle stay two items. Throws 423 for a frozen base. */
export async function importItems(
  tx: TenantTransaction,
  base: ItemBase,
  {
    prepared,
    rules,
    indexer,
    own,
  }: { readonly prepared: readonly PreparedItem[]; readonly rules: ImportRules; readonly indexer: Indexer; readonly own: Set<string> },
): Promise<ImportedItem[]> {
  const sound = prepared.flatMap((one) => ('draft' in one ? [one] : []));
  const drafts = sound.map(({ draft }) => draft);
  const outcomes = rules.isDryRun ? await tryOut(tx, base, drafts) : await create(tx, base, { drafts, indexer, rules, own });
  const byItem = new Map(sound.map(({ item }, at) => [item, outcomes[at]]));
  const imported: ImportedItem[] = [];
  for (const one of prepared) {
    const { item } = one;
    if ('fault' in one) imported.push({ item, outcome: 'bad_field', itemId: null, detail: one.fault });
    else imported.push(await settle(tx, base, { item, draft: one.draft, outcome: byItem.get(item), rules, indexer }));
  }
  return imported;
}

type Outcome = { readonly status: 'created' } | { readonly status: 'existing'; readonly itemId: string } | { readonly status: 'failed' };

/** The outcomes that drafts would have. */
async function tryOut(tx: TenantTransaction, base: ItemBase, drafts: readonly ItemDraft[]): Promise<Outcome[]> {
  const hashes = drafts.map(({ row }) => row.contentHash);
  const externalIds = drafts.flatMap(({ row }) => (row.externalId === null ? [] : [row.externalId]));
  const same = await listSameItems(tx, base.id, { hashes, externalIds });
  return drafts.map(({ row }) => {
    const found =
      same.find(({ externalId }) => externalId !== null && externalId === row.externalId) ??
      same.find(({ contentHash }) => contentHash === row.contentHash);
    return found === undefined ? { status: 'created' } : { status: 'existing', itemId: found.id };
  });
}

async function create(
  tx: TenantTransaction,
  base: ItemBase,
  {
    drafts,
    indexer,
    rules,
    own,
  }: { readonly drafts: readonly ItemDraft[]; readonly indexer: Indexer; readonly rules: ImportRules; readonly own: Set<string> },
): Promise<DraftOutcome[]> {
  const first = await createItems(tx, base, { drafts, onDuplicate: 'return_existing', indexer });
  for (const outcome of first) if (outcome.status === 'created') own.add(outcome.item.id);
  const isTwin = (outcome: DraftOutcome) => rules.mode === 'create' && outcome.status === 'existing' && own.has(outcome.itemId);
  const twins = drafts.filter((_, at) => first[at] !== undefined && isTwin(first[at]));
  if (twins.length === 0) return first;
  const second = (await createItems(tx, base, { drafts: twins, onDuplicate: 'allow', indexer })).values();
  return first.map((outcome) => (isTwin(outcome) ? (second.next().value ?? outcome) : outcome));
}

interface Settling {
  readonly item: ItemToImport;
  readonly draft: ItemDraft;
  readonly outcome: Outcome | DraftOutcome | undefined;
  readonly rules: ImportRules;
  readonly indexer: Indexer;
}

async function settle(tx: TenantTransaction, base: ItemBase, { item, draft, outcome, rules, indexer }: Settling): Promise<ImportedItem> {
  if (outcome?.status === 'created') return { item, outcome: 'created', itemId: item.newId, detail: '' };
  const exists = { item, outcome: 'already_exists', detail: 'The base has a live item with this external id or content.' } as const;
  if (outcome?.status !== 'existing') return { ...exists, itemId: null };
  if (rules.mode === 'create') return { ...exists, itemId: outcome.itemId };
  const locked = rules.isDryRun ? null : await lockItem(tx, outcome.itemId);
  if (locked === null) return { item, outcome: 'unchanged', itemId: outcome.itemId, detail: '' };

  const { content, title, kind, tags, metadata, fact, evidence, pages, validUntil } = draft.row;
  const change = { content, title, kind, tags, metadata, fact, evidence, pages, valid_until: validUntil, reason: 'import' };
  const changed = await updateItem(tx, { base, item: locked }, change, { plan: draft.plan, indexer, isAdmin: rules.keepState });
  return { item, outcome: Object.keys(changed ?? {}).length > 0 ? 'updated' : 'unchanged', itemId: outcome.itemId, detail: '' };
}
