import { newId } from '../../../db/ids.ts';
import type { ActorRef } from '../../../db/actor-ref.ts';
import type { NewItemRow } from '../../../db/knowledge/items/insert-items.ts';
import type { KnowledgeBaseKind } from '../../../db/knowledge/bases/knowledge-base.entity.ts';
import type {
  KnowledgeEvidence,
  KnowledgeFact,
  KnowledgeItem,
  KnowledgeMetadata,
  KnowledgeTrust,
} from '../../../db/knowledge/items/knowledge-item.entity.ts';
import type { KnowledgeItemKind, KnowledgeOrigin } from '../../../workflows/contracts/knowledge/curation.ts';
import { contentHash } from '../../../ports/content-hash.ts';
import { invalid } from '../../../workflows/contracts/failure.ts';
import { subjectIdOf } from '../bases/base-owners.ts';

/** An item from a body, a file or a tool, with the field names of the wire; its lengths have been checked. */
export interface NewItem {
  readonly content: string;
  readonly title?: string | null;
  readonly external_id?: string | null;
  readonly kind?: KnowledgeItemKind;
  readonly tags?: readonly string[];
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly fact?: KnowledgeFact | null;
  readonly evidence?: readonly NewEvidence[];
  readonly valid_from?: string | null;
  readonly valid_until?: string | null;
  readonly observed_at?: string | null;
  readonly curation_state?: 'pending' | 'reviewed';
}

/** Evidence as it is sent: an omitted field is null. */
export type NewEvidence = Pick<KnowledgeEvidence, 'kind' | 'ref'> & { readonly [K in keyof KnowledgeEvidence]?: KnowledgeEvidence[K] };

/** Where an item comes from, and who wrote it. */
export interface ItemOrigin {
  readonly origin: KnowledgeOrigin;
  readonly createdBy: ActorRef;
  readonly sourceId?: string | null;
  /** The trust of a source whose text no person vouches for. */
  readonly trust?: KnowledgeTrust;
  /** Where the pages of the file begin in the content. */
  readonly pages?: KnowledgeItem['pages'];
}

const maxMetadata = { bytes: 16 * 1_024, keys: 50 } as const;

/**
 * Returns the row of a new item, before it is indexed.
 * @throws 422 for metadata that hold other values than scalars or are too large, and for a validity that ends before it begins; `pointer` is the item's
 * location in the body.
 */
export function toItemRow(
  item: NewItem,
  { origin, createdBy, sourceId, trust, pages }: ItemOrigin,
  { baseKind, pointer }: { readonly baseKind: KnowledgeBaseKind; readonly pointer: string },
): Omit<NewItemRow, 'tokenCount' | 'chunkCount' | 'indexState'> {
  for (const name of ['valid_from', 'valid_until', 'observed_at'] as const) refuseNoTime(item[name], `${pointer}/${name}`);
  refuseValidity(item.valid_from, item.valid_until, pointer);
  return {
    id: newId(),
    sourceId: sourceId ?? null,
    externalId: item.external_id ?? null,
    kind: item.kind ?? (baseKind === 'memory' ? 'fact' : 'document'),
    title: item.title ?? null,
    content: item.content,
    contentHash: contentHash(item.content),
    tags: distinct(item.tags ?? []),
    metadata: toMetadata(item.metadata ?? {}, pointer),
    fact: item.fact ?? null,
    evidence: (item.evidence ?? []).map(toEvidence),
    pages: pages ?? null,
    validFrom: item.valid_from ?? null,
    validUntil: item.valid_until ?? null,
    observedAt: item.observed_at ?? null,
    origin,
    trust: trust ?? trustOf(origin),
    curationState: item.curation_state ?? (origin === 'human' || origin === 'import' ? 'reviewed' : 'pending'),
    createdBy,
  };
}

/** The trust of an item that no curator has reviewed: what agents write is untrusted. */
export function trustOf(origin: KnowledgeOrigin): KnowledgeTrust {
  return origin === 'agent' ? 'untrusted' : 'workspace';
}

/** Fills in the omitted fields of evidence. */
export function toEvidence({ kind, ref, ...rest }: NewEvidence): KnowledgeEvidence {
  const { subject_kind: subjectKind = null, subject_id: subjectId = null } = rest;
  return {
    kind,
    ref,
    quote: rest.quote ?? null,
    observed_at: rest.observed_at ?? null,
    subject_kind: subjectKind,
    subject_id: subjectKind === null || subjectId === null ? subjectId : subjectIdOf(subjectKind, subjectId),
  };
}

/** Tags without repeats, in their order. */
export function distinct(tags: readonly string[]): string[] {
  return [...new Set(tags)];
}

/** Throws 422 unless a validity begins before it ends. */
export function refuseValidity(from: string | null | undefined, until: string | null | undefined, pointer: string): void {
  if (typeof from !== 'string' || typeof until !== 'string' || Date.parse(from) < Date.parse(until)) return;
  throw invalid(`${pointer}/valid_until`, 'range', 'The end of the validity must be after its beginning.');
}

/** Throws 422 for a date that no calendar has: files and bundles are not checked by the schema of a body. */
function refuseNoTime(time: string | null | undefined, pointer: string): void {
  if (typeof time !== 'string') return;
  const day = time.slice(0, 10);
  const isDay = !Number.isNaN(Date.parse(day)) && new Date(day).toISOString().startsWith(day);
  if (!isDay || Number.isNaN(Date.parse(time)) || day.startsWith('0000'))
    throw invalid(pointer, 'format', 'The time is not a valid RFC 3339 timestamp.');
}

/** Throws 422 for metadata of over 16 KiB or 50 keys, or with a value that is no scalar. */
export function toMetadata(metadata: Readonly<Record<string, unknown>>, pointer: string): KnowledgeMetadata {
  const entries = Object.entries(metadata);
  if (entries.length > maxMetadata.keys)
    throw invalid(`${pointer}/metadata`, 'maxProperties', `Metadata can have at most ${maxMetadata.keys} keys.`, {
      limit: maxMetadata.keys,
    });
  if (Buffer.byteLength(JSON.stringify(metadata)) > maxMetadata.bytes)
    throw invalid(`${pointer}/metadata`, 'maxLength', `Metadata can have at most ${maxMetadata.bytes} bytes of JSON.`, {
      limit: maxMetadata.bytes,
    });
  const scalars = entries.filter(isScalarEntry);
  if (scalars.length < entries.length)
    throw invalid(`${pointer}/metadata`, 'type', 'Metadata values must be strings, numbers, booleans or null.');
  return Object.fromEntries(scalars);
}

/** Whether metadata fit into one item. */
export function fitsMetadata(metadata: KnowledgeMetadata): boolean {
  return Object.keys(metadata).length <= maxMetadata.keys && Buffer.byteLength(JSON.stringify(metadata)) <= maxMetadata.bytes;
}

function isScalarEntry(entry: [string, unknown]): entry is [string, string | number | boolean | null] {
  const [, value] = entry;
  return value === null || ['string', 'number', 'boolean'].includes(typeof value);
}
