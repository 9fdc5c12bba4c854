import { isDeepStrictEqual } from 'node:util';
import type { AuditSubject } from '../../../db/audit/audit.ts';
import type { KnowledgeFact, KnowledgeItem } from '../../../db/knowledge/items/knowledge-item.entity.ts';
import type { KnowledgeItemKind } from '../../../workflows/contracts/knowledge/curation.ts';
import { applyChange, emptyChange } from '../../../db/knowledge/bases/base-counters.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { contentHash } from '../../../ports/content-hash.ts';
import { distinct, refuseValidity, toEvidence, toMetadata, trustOf, type NewEvidence } from './item-rules.ts';
import { addVersion, reindexItem, type LockedItem, type Reindexing } from './items.ts';

/** The fields that a body changes, by their names on the wire; an absent field stays as it is. */
export interface ItemChange {
  readonly content?: string;
  readonly title?: string | null;
  readonly kind?: KnowledgeItemKind;
  readonly tags?: readonly string[];
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly fact?: KnowledgeFact | null;
  readonly evidence?: readonly NewEvidence[];
  /** Pages of a new content from a file; any other new content has none. */
  readonly pages?: KnowledgeItem['pages'];
  readonly valid_until?: string | null;
  readonly reason?: string | null;
}

/** Who changes an item: below admin, a new content has to be reviewed again. */
export interface ItemEditor extends Reindexing {
  readonly isAdmin: boolean;
}

/** Columns whose values a version stores. */
const versioned = ['title', 'content', 'contentHash', 'metadata', 'tags'] as const;
const audited = {
  content: 'content',
  title: 'title',
  kind: 'kind',
  tags: 'tags',
  metadata: 'metadata',
  fact: 'fact',
  evidence: 'evidence',
  validUntil: 'valid_until',
} as const;

/**
 * Changes a locked item. New text or tags become its next version; a new content or title is indexed again, and a new content of a reviewed item has to be
 * reviewed again unless an admin wrote it. Equal values change nothing. Returns what has changed, without texts.
 * @throws 422 for metadata and validity.
 */
export async function updateItem(
  tx: TenantTransaction,
  locked: LockedItem,
  change: ItemChange,
  editor: ItemEditor,
): Promise<AuditSubject['changes']> {
  const { base, item } = locked;
  const next = columnsOf(item, change);
  const changed = Object.keys(next).filter((name) => !isDeepStrictEqual(Reflect.get(item, name), Reflect.get(next, name)));
  if (changed.length === 0) return {};

  const from = item.curationState;
  const isOtherContent = changed.includes('content');
  Object.assign(item, next);
  if (isOtherContent && !editor.isAdmin && (from === 'reviewed' || from === 'promoted'))
    Object.assign(item, { curationState: 'pending', trust: trustOf(item.origin) });
  if (versioned.some((name) => changed.includes(name))) await addVersion(tx, item, change.reason ?? null);
  await tx.em.flush();
  const changes = emptyChange();
  if (isOtherContent || changed.includes('title')) await reindexItem(tx, locked, { ...editor, changes });
  changes.states[from] -= 1;
  changes.states[item.curationState] += 1;
  await applyChange(tx, base, changes);
  return changesOf(changed, { from, to: item.curationState });
}

/** The columns that a change sets. Contents that differ only in Unicode composition and line ends are equal: the old one stays. */
function columnsOf(item: KnowledgeItem, change: ItemChange): Partial<KnowledgeItem> {
  if (change.valid_until !== undefined) refuseValidity(isoOf(item.validFrom), change.valid_until, '');
  const hash = change.content === undefined ? item.contentHash : contentHash(change.content);
  return {
    ...(hash === item.contentHash ? {} : { content: change.content ?? '', contentHash: hash, pages: change.pages ?? null }),
    ...(change.title === undefined ? {} : { title: change.title }),
    ...(change.kind === undefined ? {} : { kind: change.kind }),
    ...(change.tags === undefined ? {} : { tags: distinct(change.tags) }),
    ...(change.metadata === undefined ? {} : { metadata: toMetadata(change.metadata, '') }),
    ...(change.fact === undefined ? {} : { fact: change.fact }),
    ...(change.evidence === undefined ? {} : { evidence: change.evidence.map(toEvidence) }),
    ...(change.valid_until === undefined ? {} : { validUntil: change.valid_until === null ? null : new Date(change.valid_until) }),
  };
}

function isoOf(value: Date | null): string | null {
  return value === null ? null : value.toISOString();
}

function changesOf(changed: readonly string[], state: { readonly from: string; readonly to: string }): AuditSubject['changes'] {
  const fields = Object.entries(audited).filter(([column]) => changed.includes(column));
  return {
    ...Object.fromEntries(fields.map(([, field]) => [field, { changed: true } as const])),
    ...(state.from === state.to ? {} : { curation_state: state }),
  };
}
