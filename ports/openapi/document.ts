import { CORE_SCHEMA, floatCoreTag, intCoreTag, load, type ScalarTagDefinition } from 'js-yaml';
import { tagInexact, tagOf, untagSchemas } from '../../workflows/contracts/tools/exact-json.ts';
import { valueAt } from '../json/pointer.ts';
import { maxDocumentBytes, type DocumentProblem } from './reader.ts';

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

/** A parsed document: which dialect its schemas use, and how its references resolve. */
export interface Document {
  readonly root: Json;
  readonly isVersion30: boolean;
  /** Follows `$ref` until there is none, ignoring siblings. Throws Unusable. */
  resolve(node: unknown, pointer: string): { readonly node: Json; readonly pointer: string };
  /** Returns the target of a local reference, without following references in it. Throws Unusable. */
  target(reference: string, from: string): { readonly node: unknown; readonly pointer: string };
}

const maxChain = 16;
/** Aliases only share their target, but each is walked as if it were a copy. Of two values under one key the last counts, as in JSON. */
const yamlLimits = {
  schema: CORE_SCHEMA.withTags(exactly(intCoreTag), exactly(floatCoreTag)),
  json: true,
  maxAliases: 10_000,
  maxDepth: 200,
};

/** Reads JSON or YAML (1.2, core schema), as text or in UTF-8. Throws Unusable, whose message quotes nothing of the text. */
export function openDocument(given: string | Uint8Array): Document {
  if (given.length > maxDocumentBytes) throw new Unusable('', 'maxLength', `must be at most ${maxDocumentBytes} bytes`);
  const root = parse(typeof given === 'string' ? given.replace(/^\uFEFF/, '') : decoded(given));
  if (!isObject(root)) throw new Unusable('', 'type', 'must be an object');
  // What 3.2 adds to 3.1 is left out operation by operation.
  const version = /^3\.([0-2])(?:\.|$)/.exec(versionOf(root))?.[1];
  if (version === undefined) throw new Unusable('/openapi', 'version', 'must be an OpenAPI 3.0 to 3.2 document');

  const target: Document['target'] = (reference, from) => {
    if (!reference.startsWith('#')) throw new Unusable(from, 'reference', 'only references inside the document are followed');
    const pointer = fragmentOf(reference, from);
    // An anchor names a schema by other means than its location.
    const node = pointer === '' || pointer.startsWith('/') ? valueAt(root, pointer) : undefined;
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
      for (let step = 0; step < maxChain; step++) {
        if (!isObject(found)) throw new Unusable(place, 'type', 'must be an object');
        const reference = found['$ref'];
        if (typeof reference !== 'string') return { node: found, pointer: place };
        ({ node: found, pointer: place } = target(reference, place));
      }
      throw new Unusable(pointer, 'reference', 'refers to itself');
    },
  };
}

/** Returns one segment of a JSON pointer (RFC 6901). */
export function step(key: string | number): string {
  return `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

export function isObject(value: unknown): value is Json {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

export function textOf(value: unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : null;
}

/** Whether every text in a value can be stored: no U+0000, no lone surrogate. */
export function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0');
  if (Array.isArray(value)) return value.every(isStorable);
  return !isObject(value) || Object.entries(value).every(([key, inner]) => isStorable(key) && isStorable(inner));
}

/** YAML reads a bare `3.0` as the number 3. */
function versionOf({ openapi }: Json): string {
  return openapi === 3 ? '3.0' : String(openapi ?? '').trim();
}

function parse(text: string): unknown {
  if (text.trimStart().startsWith('{')) {
    try {
      const tagged = tagInexact(text, 'large');
      const value: unknown = JSON.parse(tagged);
      return tagged === text ? value : untagSchemas(value);
    } catch {
      // A flow mapping of YAML begins like this, too.
    }
  }
  try {
    return untagSchemas(load(text, yamlLimits));
  } catch {
    throw new Unusable('', 'syntax', 'is neither valid JSON nor valid YAML');
  }
}

function decoded(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Unusable('', 'format', 'is not UTF-8 text');
  }
}

/** A number that a double would change keeps its tag. */
function exactly(tag: ScalarTagDefinition<number>): ScalarTagDefinition {
  return {
    ...tag,
    resolve(source, isExplicit, name) {
      const number = tag.resolve(source, isExplicit, name);
      return typeof number === 'number' ? (tagOf(source.replace(/^\+/, ''), 'large') ?? number) : number;
    },
  };
}

function fragmentOf(reference: string, from: string): string {
  try {
    return decodeURIComponent(reference.slice(1));
  } catch {
    throw new Unusable(from, 'reference', 'is not a reference');
  }
}
