import { isPair, isScalar, parseDocument, visit, type Document as YamlDocument } from 'yaml';
import { boundKeywords, isInexact, markInexact, unmarkedSchema } from '../workflows/contracts/exact-json.ts';
import { valueAt } from './json-pointer.ts';
import type { DocumentProblem } from './openapi-reader.ts';

export type Json = Readonly<Record<string, unknown>>;

/** A part of a document that can't be used. */
export class Unusable extends Error {
  override readonly name = 'Unusable';
  readonly problem: DocumentProblem;

  constructor(pointer: string, rule: string, message: string) {
    super(message);
    this.problem = { pointer, rule, message };
  }
}

/** A parsed document: which dialect its schemas speak, and how its references resolve. */
export interface Document {
  readonly root: Json;
  readonly isVersion30: boolean;
  /** Follows `$ref` until there is none, siblings aside. Throws Unusable. */
  resolve(node: unknown, pointer: string): { readonly node: Json; readonly pointer: string };
  /** What a local reference names, references in it not followed. Throws Unusable. */
  target(reference: string, from: string): { readonly node: unknown; readonly pointer: string };
}

const limitBytes = 4 * 1024 * 1024;
const limitChain = 16;

/** Reads JSON or YAML (1.2, core schema). Throws Unusable, without a word of the text. */
export function openDocument(text: string): Document {
  if (Buffer.byteLength(text) > limitBytes) throw new Unusable('', 'maxLength', `must be at most ${limitBytes} bytes`);
  const root = parse(text.replace(/^\uFEFF/, ''));
  if (!isObject(root)) throw new Unusable('', 'type', 'must be an object');
  const version = /^3\.([01])\.\d+/.exec(String(root['openapi'] ?? ''))?.[1];
  if (version === undefined) throw new Unusable('/openapi', 'version', 'must be a document of OpenAPI 3.0 or 3.1');

  const target: Document['target'] = (reference, from) => {
    if (!reference.startsWith('#')) throw new Unusable(from, 'reference', 'only references inside the document are followed');
    const pointer = fragmentOf(reference, from);
    const node = valueAt(root, pointer);
    if (node === undefined) throw new Unusable(from, 'reference', 'refers to nothing in the document');
    return { node, pointer };
  };
  return {
    root,
    isVersion30: version === '0',
    target,
    resolve(node, pointer) {
      let found: unknown = node;
      let place = pointer;
      for (let step = 0; step < limitChain; step++) {
        if (!isObject(found)) throw new Unusable(place, 'type', 'must be an object');
        const reference = found['$ref'];
        if (typeof reference !== 'string') return { node: found, pointer: place };
        ({ node: found, pointer: place } = target(reference, place));
      }
      throw new Unusable(pointer, 'reference', 'refers to itself');
    },
  };
}

/** One step of a JSON pointer (RFC 6901). */
export function step(key: string | number): string {
  return `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

export function isObject(value: unknown): value is Json {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

export function textOf(value: unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : null;
}

/** Whether every text in a value can be stored: no U+0000, no half of a surrogate pair. */
export function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0');
  if (Array.isArray(value)) return value.every(isStorable);
  return !isObject(value) || Object.entries(value).every(([key, inner]) => isStorable(key) && isStorable(inner));
}

function parse(text: string): unknown {
  if (text.trimStart().startsWith('{')) {
    try {
      const marked = markInexact(text, 'large');
      const value: unknown = JSON.parse(marked);
      return marked === text ? value : unmarkedSchema(value);
    } catch {
      // A flow mapping of YAML begins like this, too.
    }
  }
  try {
    const parsed = parseDocument(text, { schema: 'core', prettyErrors: false, uniqueKeys: true });
    if (parsed.errors.length === 0) {
      keepDigits(parsed);
      return parsed.toJS({ maxAliasCount: 100 });
    }
  } catch {
    // Too many aliases; below.
  }
  throw new Unusable('', 'syntax', 'is neither JSON nor YAML that can be read');
}

/** What `unmarkedSchema` does, in place: aliases would multiply in a copy. */
function keepDigits(document: YamlDocument): void {
  visit(document, {
    Scalar(_key, node, path) {
      const pair = path.at(-1);
      const isBound = isPair(pair) && isScalar(pair.key) && boundKeywords.has(pair.key.value);
      if (Number.isFinite(node.value) && !isBound && isInexact(node.source ?? '', 'large')) node.value = node.source;
    },
  });
}

function fragmentOf(reference: string, from: string): string {
  try {
    return decodeURIComponent(reference.slice(1));
  } catch {
    throw new Unusable(from, 'reference', 'is no reference');
  }
}
