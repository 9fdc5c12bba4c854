import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { SkillColumns } from '../../db/skills/insert-skill.ts';
import type { StoredReferenceDoc } from '../../db/skills/reference-doc.ts';

/** The most documents of a skill, files included. */
export const skillDocuments = 500;

/** The text of a skill: the part of it that has versions. */
export interface SkillText {
  readonly description: string;
  readonly instructions: string;
  readonly referenceDocs: readonly StoredReferenceDoc[];
  /** The front matter of a SKILL.md beside name and description; stored, never followed. */
  readonly frontMatter: Record<string, unknown> | null;
}

/** SHA-256 of the canonical JSON (RFC 8785) of a skill's text, hexadecimal: equal for equal texts, whatever their source. */
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

/** A text in the form of a skill's columns. */
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
