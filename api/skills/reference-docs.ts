import type { StoredReferenceDoc } from '../../db/skills/reference-doc.ts';
import { toStoredDoc } from '../../domain/skills/skill-text.ts';
import { faultOfSkillPath } from '../../ports/skills/path.ts';
import { documentsBytes } from '../../ports/skills/bundle.ts';
import { invalid } from '../../workflows/contracts/failure.ts';

export interface DocInput {
  readonly name: string;
  readonly content: string;
  readonly media_type?: string | null;
}

/**
 * The documents of a skill as they are stored. 422 for a name that is no relative path or stands twice, and for more than 2 MiB together;
 * `at` names the place in the body: the list, and the field of the name.
 */
export function toStoredDocs(docs: readonly DocInput[], at: { readonly pointer: string; readonly field: string }): StoredReferenceDoc[] {
  const names = new Set<string>();
  let bytes = 0;
  for (const [index, doc] of docs.entries()) {
    const pointer = `${at.pointer}/${index}/${at.field}`;
    const fault = faultOfSkillPath(doc.name);
    if (fault !== null) throw invalid(pointer, 'path', `The name of a document ${fault}.`);
    if (names.has(doc.name)) throw invalid(pointer, 'uniqueItems', 'Two documents have the same name.');
    names.add(doc.name);
    bytes += Buffer.byteLength(doc.content);
  }
  if (bytes > documentsBytes)
    throw invalid(at.pointer, 'maxLength', `The documents have more than ${documentsBytes} bytes together.`, { limit: documentsBytes });
  return docs.map((doc) => toStoredDoc({ name: doc.name, content: doc.content, mediaType: doc.media_type ?? null }));
}
