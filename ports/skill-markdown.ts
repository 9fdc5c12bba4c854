import { isAlias, isScalar, parseDocument, visit } from 'yaml';
import { isInexact } from '../workflows/contracts/exact-json.ts';
import { invalid, type Failure } from '../workflows/contracts/failure.ts';

/** What a SKILL.md says. */
export interface SkillMarkdown {
  readonly name: string | null;
  readonly description: string | null;
  /** The body, without blank lines around it. */
  readonly instructions: string;
  /** What else stands in the front matter; null without any. */
  readonly rest: Record<string, unknown> | null;
}

const frontMatterBytes = 16 * 1_024;
const deepest = 32;

/**
 * Reads a SKILL.md: an optional byte order mark, front matter in YAML 1.2 (core schema, unique keys, no aliases) between lines of three
 * hyphens, then markdown. Line ends are read as LF, so that equal skills are equal whatever wrote them. Pure; 422 at `pointer` for what
 * can not be read.
 */
export function readSkillMarkdown(source: string, pointer: string): SkillMarkdown {
  const text = source.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n');
  const opening = /^---[ \t]*\n/.exec(text);
  if (!opening) return { name: null, description: null, instructions: trimBody(text), rest: null };

  const after = text.slice(opening[0].length);
  const closing = /^---[ \t]*(?:\n|$)/m.exec(after);
  if (!closing) throw refused(pointer, 'The front matter has no end.');
  const matter = readFrontMatter(after.slice(0, closing.index), pointer);
  const { name, description, ...rest } = matter;
  return {
    name: textOf(name, 'name', pointer),
    description: textOf(description, 'description', pointer),
    instructions: trimBody(after.slice(closing.index + closing[0].length)),
    rest: Object.keys(rest).length === 0 ? null : rest,
  };
}

function readFrontMatter(yaml: string, pointer: string): Record<string, unknown> {
  if (Buffer.byteLength(yaml) > frontMatterBytes)
    throw refused(pointer, `The front matter is over ${frontMatterBytes} bytes.`, 'maxLength');
  let value: unknown;
  try {
    const document = parseDocument(yaml, { schema: 'core', uniqueKeys: true, stringKeys: true, merge: false, prettyErrors: false });
    // A tag that is not of the core schema is a warning to the parser.
    if (document.errors.length > 0 || document.warnings.length > 0)
      throw refused(pointer, 'The front matter is not plain YAML with unique keys.');
    visit(document, (_key, node) => {
      if (isAlias(node)) throw refused(pointer, 'The front matter holds an alias.');
      // It is kept as it is written.
      if (isScalar(node) && Number.isFinite(node.value) && isInexact(node.source ?? '', 'large')) node.value = node.source;
    });
    value = document.toJS({ maxAliasCount: 0 });
  } catch (error) {
    // A nest of brackets can be deeper than the parser's stack.
    if (error instanceof RangeError) throw refused(pointer, 'The front matter is nested too deeply.', 'maxDepth');
    throw error;
  }
  if (value === null || value === undefined) return {};
  if (typeof value !== 'object' || Array.isArray(value)) throw refused(pointer, 'The front matter is not a map.');
  refuseNotJson(value, { depth: 1, pointer });
  return value as Record<string, unknown>; // a map with keys that are texts, as the parser was told
}

/** It is stored and shown as JSON. */
function refuseNotJson(value: unknown, at: { readonly depth: number; readonly pointer: string }): void {
  if (at.depth > deepest) throw refused(at.pointer, 'The front matter is nested too deeply.', 'maxDepth');
  if (typeof value === 'string' && (value.includes('\u0000') || !value.isWellFormed()))
    throw refused(at.pointer, 'The front matter holds text that can not be kept.', 'pattern');
  if (typeof value === 'number' && !Number.isFinite(value)) throw refused(at.pointer, 'The front matter holds a number that is none.');
  if (value === null || typeof value !== 'object') return;
  for (const [key, child] of Object.entries(value)) {
    if (key === '__proto__') throw refused(at.pointer, 'The front matter holds a key that can not be kept.', 'pattern');
    refuseNotJson(key, at);
    refuseNotJson(child, { ...at, depth: at.depth + 1 });
  }
}

function textOf(value: unknown, key: string, pointer: string): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== 'string') throw refused(pointer, `${key} of the front matter is not a text.`, 'type');
  return value.trim();
}

/** Blank lines before the text and white space behind it say nothing. */
function trimBody(body: string): string {
  return body.replace(/^(?:[ \t]*\n)+/, '').trimEnd();
}

function refused(pointer: string, message: string, rule = 'front_matter'): Failure {
  return invalid(pointer, rule, message);
}
