import { isMap, isScalar, parseDocument, visit, type YAMLMap } from 'yaml';
import { invalid, type Failure } from '../../workflows/contracts/failure.ts';
import { plainFrontMatter } from './front-matter.ts';

/** The content of a SKILL.md. */
export interface SkillMarkdown {
  readonly name: string | null;
  readonly description: string | null;
  /** The body, without surrounding blank lines. */
  readonly instructions: string;
  /** The other front matter; null without any. */
  readonly rest: Record<string, unknown> | null;
  /** Where the front matter is read differently than YAML would, with the line numbers. */
  readonly warnings: readonly string[];
}

const frontMatterBytes = 16 * 1_024;
const deepest = 32;

/**
 * Reads a SKILL.md: an optional byte order mark, front matter between lines of three hyphens (or dots at its end), then markdown. Line ends are read as LF, so
 * that equal skills are equal whatever wrote them. Front matter is YAML 1.2 (core schema, unique keys, no aliases), with texts taken as they are written
 * (`plainFrontMatter`). Pure; 422 at `pointer`, with the line, for what can not be read.
 */
export function readSkillMarkdown(source: string, pointer: string): SkillMarkdown {
  const text = source.replace(/^\uFEFF/, '').replaceAll(/\r\n?/g, '\n');
  const opening = /^(?:[ \t]*\n)*---[ \t]*\n/.exec(text);
  if (!opening) return { name: null, description: null, instructions: trimBody(text), rest: null, warnings: [] };

  const after = text.slice(opening[0].length);
  const closing = /^(?:---|\.\.\.)[ \t]*(?:\n|$)/m.exec(after);
  const firstLine = opening[0].split('\n').length;
  if (!closing) throw refused(pointer, `The front matter that begins on line ${firstLine - 1} has no end.`);
  const at = { pointer, firstLine };
  const { matter, warnings } = readFrontMatter(after.slice(0, closing.index), at);
  const { name, description, ...rest } = matter;
  return {
    name: textOf(name, 'name', pointer),
    description: textOf(description, 'description', pointer),
    instructions: trimBody(after.slice(closing.index + closing[0].length)),
    rest: Object.keys(rest).length === 0 ? null : rest,
    warnings,
  };
}

interface Location {
  readonly pointer: string;
  /** Number of the front matter's first line in its file. */
  readonly firstLine: number;
}

function readFrontMatter(source: string, at: Location): { matter: Record<string, unknown>; warnings: string[] } {
  const { pointer, firstLine } = at;
  if (Buffer.byteLength(source) > frontMatterBytes)
    throw refused(pointer, `The front matter has more than ${frontMatterBytes} bytes.`, 'maxLength');
  const { yaml, warnings } = plainFrontMatter(source, firstLine);
  const lineOf = (offset: number) => firstLine + yaml.slice(0, offset).split('\n').length - 1;
  const told: string[] = [...warnings];
  let value: unknown;
  try {
    const document = parseDocument(yaml, { schema: 'core', uniqueKeys: true, stringKeys: true, merge: false, prettyErrors: false });
    // The parser reports a tag outside the core schema as a warning.
    const [fault] = [...document.errors, ...document.warnings];
    if (fault) throw refused(pointer, `Line ${lineOf(fault.pos[0])}: the front matter is not valid YAML: ${wordsOf(fault.message)}`);
    visit(document, {
      Alias: (_key, node) => {
        throw refused(pointer, `Line ${lineOf(node.range?.[0] ?? 0)}: the front matter contains an alias.`);
      },
      Scalar: (_key, node) => {
        const written = storedText(node);
        if (written === null) return;
        node.value = written;
        told.push(`line ${lineOf(node.range?.[0] ?? 0)}: a number that would lose digits was kept as text`);
      },
    });
    value = document.toJS({ maxAliasCount: 0 });
    if (isMap(document.contents)) value = { ...(value as object), ...textsOf(document.contents) };
  } catch (error) {
    // Nested brackets can overflow the parser's stack.
    if (error instanceof RangeError) throw refused(pointer, 'The front matter is nested too deeply.', 'maxDepth');
    throw error;
  }
  if (value === null || value === undefined) return { matter: {}, warnings: told };
  if (typeof value !== 'object' || Array.isArray(value)) throw refused(pointer, `Line ${firstLine}: the front matter is not a map.`);
  refuseNotJson(value, { depth: 1, pointer });
  return { matter: value as Record<string, unknown>, warnings: told }; // a map with text keys, as the parser options require
}

/** Returns name and description as they are written: even one of only digits is text. */
function textsOf(contents: YAMLMap): Record<string, string> {
  const found = ['name', 'description'].flatMap((key) => {
    const node = contents.get(key, true);
    return isScalar(node) && node.value !== null && node.value !== undefined && typeof node.value !== 'string'
      ? [[key, node.source ?? '']]
      : [];
  });
  return Object.fromEntries(found);
}

/** Returns how a number was written, when it would be displayed differently: 1.10, 007, 0x10. */
function storedText({ value, source }: { readonly value: unknown; readonly source?: string | undefined }): string | null {
  return typeof value === 'number' && source !== undefined && String(value) !== source ? source : null;
}

/** Returns the parser's message without what it quotes. */
function wordsOf(message: string): string {
  return (message.split('\n', 1)[0] ?? '').slice(0, 200);
}

/** Refuses what JSON can't hold: the front matter is stored and displayed as JSON. */
function refuseNotJson(value: unknown, at: { readonly depth: number; readonly pointer: string }): void {
  if (at.depth > deepest) throw refused(at.pointer, 'The front matter is nested too deeply.', 'maxDepth');
  if (typeof value === 'string' && (value.includes('\u0000') || !value.isWellFormed()))
    throw refused(at.pointer, 'The front matter contains text that cannot be stored.', 'pattern');
  if (typeof value === 'number' && !Number.isFinite(value)) throw refused(at.pointer, 'The front matter contains an invalid number.');
  if (value === null || typeof value !== 'object') return;
  for (const [key, child] of Object.entries(value)) {
    if (key === '__proto__') throw refused(at.pointer, 'The front matter contains a key that cannot be stored.', 'pattern');
    refuseNotJson(key, at);
    refuseNotJson(child, { ...at, depth: at.depth + 1 });
  }
}

function textOf(value: unknown, key: string, pointer: string): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== 'string') throw refused(pointer, `${key} in the front matter is not a string.`, 'type');
  return value.trim();
}

/** Blank lines before the text and white space after it are insignificant. */
function trimBody(body: string): string {
  return body.replace(/^(?:[ \t]*\n)+/, '').trimEnd();
}

function refused(pointer: string, message: string, rule = 'front_matter'): Failure {
  return invalid(pointer, rule, message);
}
