import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { SkillColumns } from '../../db/skills/insert-skill.ts';
import type { StoredReferenceDoc } from '../../db/skills/reference-doc.ts';

/** Documents that a skill has at most, files among them. */
export const skillDocuments = 500;

/** What a skill says: the part of it that has versions. */
export interface SkillText {
  readonly description: string;
  readonly instructions: string;
  readonly referenceDocs: readonly StoredReferenceDoc[];
  /** What a SKILL.md said beside name and description; kept, never obeyed. */
  readonly frontMatter: Record<string, unknown> | null;
}

/** SHA-256 of the canonical JSON (RFC 8785) of a skill's text, hexadecimal: equal for equal texts, wherever they came from. */
export function hashSkillText(text: SkillText): string {
  const content = {
    description: text.description,
    instructions: text.instructions,
    reference_docs: text.referenceDocs.map(({ name, media_type, sha256 }) => ({ name, media_type, sha256 })),
    front_matter: text.frontMatter,
  };
  return createHash('sha256')
    .update(canonicalize(content) ?? '')
    .digest('hex');
}

/** A text as a skill's columns hold it. */
export function columnsOf(text: SkillText): SkillColumns {
  return {
    description: text.description,
    instructions: text.instructions,
    referenceDocs: [...text.referenceDocs],
    frontMatter: text.frontMatter,
    contentHash: hashSkillText(text),
  };
}

/** A document as it is stored. */
export function toStoredDoc(doc: {
  readonly name: string;
  readonly content: string;
  readonly mediaType?: string | null;
}): StoredReferenceDoc {
  return {
    name: doc.name,
    media_type: doc.mediaType ?? mediaTypeOf(doc.name),
    size_chars: doc.content.length,
    sha256: createHash('sha256').update(doc.content).digest('hex'),
    content: doc.content,
  };
}

const mediaTypes: Readonly<Record<string, string>> = {
  md: 'text/markdown',
  markdown: 'text/markdown',
  json: 'application/json',
  yaml: 'application/yaml',
  yml: 'application/yaml',
  csv: 'text/csv',
  html: 'text/html',
  htm: 'text/html',
  css: 'text/css',
  xml: 'application/xml',
  js: 'text/javascript',
  mjs: 'text/javascript',
};

function mediaTypeOf(name: string): string {
  const extension = /\.([a-z0-9]+)$/i.exec(name)?.[1]?.toLowerCase() ?? '';
  return Object.hasOwn(mediaTypes, extension) ? (mediaTypes[extension] ?? 'text/plain') : 'text/plain';
}
