import type { ActorRef } from '../../../db/actor-ref.ts';
import { applyChange, emptyChange } from '../../../db/knowledge/bases/base-counters.ts';
import { lockFindingItems, writeFindingItem, type FindingItem, type ItemChange } from '../../../db/knowledge/upkeep/finding-items.ts';
import type { KnowledgeEvidence } from '../../../db/knowledge/items/knowledge-item.entity.ts';
import type { KnowledgeFinding } from '../../../db/knowledge/upkeep/knowledge-finding.entity.ts';
import type { BasePlace } from '../../../db/knowledge/items/write-chunks.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { fail, invalid } from '../../../workflows/contracts/failure.ts';

/** What a person, or a run with auto_merge, does about a finding. */
export const findingActions = ['merge', 'supersede', 'keep_both', 'retire', 'dismiss'] as const;

export interface Resolution {
  readonly action: (typeof findingActions)[number];
  /** The item that stays; for merge and supersede alone. */
  readonly keepItemId: string | null;
  /** The item to retire; for retire alone. */
  readonly itemId: string | null;
  readonly reason: string | null;
  readonly by: ActorRef;
  readonly now: Date;
}

/** The most evidence that an item holds. */
const maxEvidence = 50;
const standing: readonly string[] = ['pending', 'reviewed', 'promoted'];

/** An item's state before the resolution, which an undo restores, and the version that shows that it has not changed since. */
interface UndoItem extends ItemChange {
  readonly versionAfter: number;
}

/**
 * Resolves an open finding, which is locked, with its base locked against a freeze. Deletes nothing: it changes states and links of items, and `undo` restores
 * them.
 * @throws 422 for an action that does not fit the finding, or names none of its items; 409 `already_resolved`, `changed_since`.
 */
export async function resolveFinding(tx: TenantTransaction, { base, finding }: LockedFinding, resolution: Resolution): Promise<void> {
  const { action, reason, by, now } = resolution;
  if (finding.state !== 'open') throw fail('state_conflict', { reason: 'already_resolved', detail: `The finding is ${finding.state}.` });
  refuseMismatch(finding, resolution);
  const touched = action === 'merge' || action === 'supersede' ? finding.itemIds : action === 'retire' ? [resolution.itemId ?? ''] : [];
  const items = await lockFindingItems(tx, base.id, touched);
  if (items.length < touched.length || items.some((item) => hasMoved(finding, item)))
    throw fail('state_conflict', { reason: 'changed_since', detail: 'An item of the finding has changed since it was found.' });

  const changes = changesOf(items, resolution);
  await writeChanges(tx, base, { before: items, after: changes });
  const undo: UndoItem[] = changes.flatMap(({ id }) => {
    const before = items.find((item) => item.id === id);
    return before ? [{ ...pick(before), versionAfter: before.rowVersion + 1 }] : [];
  });
  Object.assign(finding, {
    state: action === 'dismiss' ? 'dismissed' : 'resolved',
    resolution: action,
    reason,
    resolvedBy: by,
    resolvedAt: now,
    undo: { items: undo },
  });
  await tx.em.flush();
}

/** A finding and its base; the base is locked in share mode, the finding exclusively. */
export interface LockedFinding {
  readonly base: BasePlace;
  readonly finding: KnowledgeFinding;
}

function refuseMismatch({ itemIds, kind }: KnowledgeFinding, { action, keepItemId, itemId }: Resolution): void {
  const keeps = action === 'merge' || action === 'supersede';
  if (keeps !== (keepItemId !== null))
    throw invalid(
      '/keep_item_id',
      keeps ? 'required' : 'unknown_field',
      'The item that stays is required for merge and supersede and not allowed for any other action.',
    );
  if ((action === 'retire') !== (itemId !== null))
    throw invalid(
      '/item_id',
      action === 'retire' ? 'required' : 'unknown_field',
      'The item is required for retire and not allowed for any other action.',
    );
  if ((keeps || action === 'keep_both') && itemIds.length < 2)
    throw invalid('/action', 'enum', `A finding of kind ${kind} about a single item does not allow ${action}.`);
  const named = keepItemId ?? itemId;
  if (named !== null && !itemIds.includes(named))
    throw invalid(keeps ? '/keep_item_id' : '/item_id', 'reference', 'The finding is not about this item.', { kind: 'item' });
}

/** Whether the item is no longer what was found: its text has changed, or it no longer counts. */
function hasMoved({ detail }: KnowledgeFinding, { id, contentHash, curationState }: FindingItem): boolean {
  const { hashes } = detail;
  const known: unknown = typeof hashes === 'object' && hashes !== null ? Reflect.get(hashes, id) : undefined;
  return !standing.includes(curationState) || (typeof known === 'string' && known !== contentHash);
}

function changesOf(items: readonly FindingItem[], { action, keepItemId, itemId }: Resolution): ItemChange[] {
  if (action === 'retire') return items.filter(({ id }) => id === itemId).map((item) => ({ ...pick(item), curationState: 'retired' }));
  if (action !== 'merge' && action !== 'supersede') return [];
  const kept = items.find(({ id }) => id === keepItemId);
  const others = items.filter(({ id }) => id !== keepItemId);
  const superseded = others.map((item): ItemChange => ({ ...pick(item), curationState: 'superseded', supersededById: keepItemId }));
  if (action === 'supersede' || !kept) return superseded;
  const evidence = joinEvidence(
    kept.evidence,
    others.flatMap((item) => item.evidence),
  );
  return evidence.length === kept.evidence.length ? superseded : [{ ...pick(kept), evidence }, ...superseded];
}

function joinEvidence(own: readonly KnowledgeEvidence[], more: readonly KnowledgeEvidence[]): KnowledgeEvidence[] {
  const keyOf = ({ kind, ref, quote }: KnowledgeEvidence) => JSON.stringify([kind, ref, quote ?? null]);
  const joined = new Map([...more.toReversed(), ...own.toReversed()].map((evidence) => [keyOf(evidence), evidence]));
  return [...joined.values()].toReversed().slice(0, maxEvidence);
}

function pick({ id, curationState, trust, supersededById, evidence }: ItemChange): ItemChange {
  return { id, curationState, trust, supersededById, evidence };
}

async function writeChanges(
  tx: TenantTransaction,
  base: BasePlace,
  { before, after }: { readonly before: readonly FindingItem[]; readonly after: readonly ItemChange[] },
): Promise<void> {
  const counted = emptyChange();
  for (const item of after) {
    await writeFindingItem(tx, item);
    const was = before.find(({ id }) => id === item.id);
    if (was) counted.states[was.curationState] -= 1;
    counted.states[item.curationState] += 1;
  }
  await applyChange(tx, base, counted);
}

/**
 * Opens a resolved finding again, and restores its items.
 * @throws 409 `illegal_transition` for a finding that is open or that a repair has resolved, `retention_over`, `changed_since`.
 */
export async function undoResolution(
  tx: TenantTransaction,
  { base, finding }: LockedFinding,
  { retentionDays, now }: { readonly retentionDays: number; readonly now: Date },
): Promise<void> {
  if (finding.state === 'open' || finding.resolution === null || finding.resolvedAt === null)
    throw fail('state_conflict', { reason: 'illegal_transition', detail: 'There is no resolution to undo.' });
  if (now.getTime() > undoUntil(finding.resolvedAt, retentionDays).getTime())
    throw fail('state_conflict', { reason: 'retention_over', detail: 'The resolution can no longer be undone.' });

  const undo = undoItems(finding);
  const items = await lockFindingItems(
    tx,
    base.id,
    undo.map(({ id }) => id),
  );
  const isSame = ({ id, versionAfter }: UndoItem) => items.some((item) => item.id === id && item.rowVersion === versionAfter);
  if (!undo.every(isSame))
    throw fail('state_conflict', { reason: 'changed_since', detail: 'An item has changed since the finding was resolved.' });
  await writeChanges(tx, base, { before: items, after: undo });
  Object.assign(finding, { state: 'open', resolution: null, reason: null, resolvedBy: null, resolvedAt: null, undo: null });
  await tx.em.flush();
}

/** Until when a resolution can be undone. */
export function undoUntil(resolvedAt: Date, retentionDays: number): Date {
  return new Date(resolvedAt.getTime() + retentionDays * 86_400_000);
}

function undoItems({ undo }: KnowledgeFinding): UndoItem[] {
  // Only `resolveFinding` writes it.
  const stored = undo as { readonly items?: readonly UndoItem[] } | null;
  return [...(stored?.items ?? [])];
}
