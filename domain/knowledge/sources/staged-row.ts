import type { KnowledgeMetadata } from '../../../db/knowledge/items/knowledge-item.entity.ts';
import type { KnowledgeSource } from '../../../db/knowledge/sources/knowledge-source.entity.ts';
import type { ParsedPart } from '../../../ports/parsing/parsed.ts';
import { Failure } from '../../../workflows/contracts/failure.ts';
import { readElementFields, type ElementFields } from './element-fields.ts';
import { fitsMetadata, toItemRow, toMetadata, type NewItem } from '../items/item-rules.ts';

/** The fields of a source that go into its items, and whether it was ever published; nothing changes these while a run works on it. */
export type StagedSource = Pick<KnowledgeSource, 'id' | 'kind' | 'itemKind' | 'title' | 'tags' | 'metadata' | 'createdBy' | 'lastSyncedAt'>;

/** An item of a part, without its index. */
export type StagedRow = ReturnType<typeof toItemRow>;

/** Returns the item for a part of a file, or what is wrong with its fields, in one sentence. */
export function toStagedRow(part: ParsedPart, source: StagedSource): StagedRow | { readonly fault: string } {
  const fields = readElementFields(part.fields ?? {});
  const at = part.place ?? 'A part of the file';
  if ('fault' in fields) return { fault: `${at} was omitted: ${fields.fault}` };
  try {
    return rowOf(part, source, fields);
  } catch (error) {
    if (error instanceof Failure && error.code === 'validation_failed') return { fault: `${at} was omitted: ${error.detail}` };
    throw error;
  }
}

function rowOf(part: ParsedPart, source: StagedSource, { external_id: ownId, ...fields }: ElementFields): StagedRow {
  const own = toMetadata(fields.metadata ?? {}, '');
  const suspect: KnowledgeMetadata = part.suspect ? { injection_suspect: part.suspect.rule } : {};
  const item: NewItem = {
    kind: source.itemKind,
    ...fields,
    content: part.content,
    title: part.title ?? source.title,
    external_id: ownId ?? `${source.id}:${part.key}`,
    tags: [...new Set([...source.tags, ...(fields.tags ?? [])])].slice(0, 30),
    metadata: { ...joinedMetadata(suspect, source.metadata, own, part.metadata ?? {}), ...suspect },
  };
  const trust = source.kind === 'url' || part.suspect ? 'untrusted' : 'workspace';
  const from = { origin: 'import', createdBy: source.createdBy, sourceId: source.id, trust, pages: part.pages ?? null } as const;
  return toItemRow(item, from, { baseKind: 'documents', pointer: '' });
}

/** Joins metadata of several origins as far as they fit into one item: earlier ones are retained, and later ones win for the same name. */
function joinedMetadata(...origins: readonly KnowledgeMetadata[]): KnowledgeMetadata {
  let joined: KnowledgeMetadata = {};
  for (const [name, value] of origins.flatMap((origin) => Object.entries(origin))) {
    const next = { ...joined, [name]: value };
    if (fitsMetadata(next)) joined = next;
  }
  return joined;
}
