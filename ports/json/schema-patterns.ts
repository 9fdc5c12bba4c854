import { RE2JS } from 're2js';
import { dataKeywords, mapSchema, mapsOfNames } from '../../workflows/contracts/tools/schema-dialect.ts';

type Node = Readonly<Record<string, unknown>>;

/** A pattern that can't be read: where, and why. */
export interface UnreadablePattern {
  readonly pointer: string;
  readonly message: string;
}

/**
 * Returns a regular expression that runs in linear time. Ajv keys compiled patterns by `toString`, so each needs its own. Throws for one that RE2 can't read.
 */
export function linearPattern(pattern: string) {
  const expression = RE2JS.compile(RE2JS.translateRegExp(pattern));
  return { test: (text: string) => expression.matcher(text).find(), toString: () => `re2:${pattern}` };
}

/** Returns the patterns of a schema that RE2 can't read: look-around, back-references, counts over 1000. */
export function unreadablePatterns(schema: Node): UnreadablePattern[] {
  const found: UnreadablePattern[] = [];
  const told = (pointer: string, pattern: string) => {
    const message = unreadable(pattern);
    if (message !== null) found.push({ pointer, message });
  };
  visit(schema, '', (node, pointer) => {
    if (typeof node['pattern'] === 'string') told(`${pointer}/pattern`, node['pattern']);
    for (const name of namesOf(node['patternProperties'])) told(`${pointer}/patternProperties/${step(name)}`, name);
  });
  return found;
}

/**
 * Returns the schema without its unreadable patterns: it accepts whatever the whole schema would, and more. Where accepting more inside means accepting less
 * outside (`not`, `if`, `oneOf`), and where it matters which names a pattern has covered, the keywords that depend on the pattern are removed with it.
 */
export function withoutUnreadable(schema: Node): Node {
  if (unreadablePatterns(schema).length === 0) return schema;
  return mapSchema(schema, (node) => {
    const changed: Record<string, unknown> = { ...node };
    delete changed['unevaluatedProperties'];
    delete changed['unevaluatedItems'];
    if (typeof node['pattern'] === 'string' && unreadable(node['pattern']) !== null) delete changed['pattern'];
    const names = namesOf(node['patternProperties']);
    if (names.some((name) => unreadable(name) !== null)) {
      changed['patternProperties'] = Object.fromEntries(entriesOf(node['patternProperties']).filter(([name]) => unreadable(name) === null));
      delete changed['additionalProperties'];
    }
    if (isLoose(schema, node['not'])) delete changed['not'];
    if (isLoose(schema, node['contains'])) delete changed['maxContains'];
    if (isLoose(schema, node['if'])) for (const keyword of ['if', 'then', 'else']) delete changed[keyword];
    if (isLoose(schema, node['oneOf'])) {
      delete changed['oneOf'];
      changed['allOf'] = [...(Array.isArray(node['allOf']) ? node['allOf'] : []), { anyOf: node['oneOf'] }];
    }
    return changed;
  });
}

/** Whether the schema here, or one that it refers to, holds an unreadable pattern. */
function isLoose(root: Node, start: unknown): boolean {
  const seen = new Set<unknown>();
  const open = [start];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (seen.has(at)) continue;
    seen.add(at);
    let isFound = false;
    for (const node of Array.isArray(at) ? at : [at])
      visit(node, '', (each) => {
        const patterns = [each['pattern'], ...namesOf(each['patternProperties'])];
        isFound ||= patterns.some((pattern) => typeof pattern === 'string' && unreadable(pattern) !== null);
        if (typeof each['$ref'] === 'string') open.push(targetOf(root, each['$ref']) ?? null);
      });
    if (isFound) return true;
  }
  return false;
}

/** Calls `checkStep` for a schema and every schema in it. */
function visit(node: unknown, pointer: string, check: (node: Node, pointer: string) => void): void {
  if (Array.isArray(node)) return node.forEach((child, at) => visit(child, `${pointer}/${at}`, check));
  if (!isNode(node)) return;
  check(node, pointer);
  for (const [keyword, value] of Object.entries(node)) {
    if (dataKeywords.has(keyword)) continue;
    const at = `${pointer}/${step(keyword)}`;
    if (!mapsOfNames.has(keyword)) visit(value, at, check);
    else for (const [name, child] of entriesOf(value)) visit(child, `${at}/${step(name)}`, check);
  }
}

const read = new Map<string, string | null>();
const maxRead = 2_000;

/** Returns why a pattern can't be read; null for one that can. */
function unreadable(pattern: string): string | null {
  const known = read.get(pattern);
  if (known !== undefined) return known;
  let message: string | null = null;
  try {
    linearPattern(pattern);
  } catch (error) {
    message = `the pattern cannot be run in linear time: ${error instanceof Error ? error.message : String(error)}`.slice(0, 200);
  }
  if (read.size >= maxRead) read.clear();
  read.set(pattern, message);
  return message;
}

/** Returns the target of a local reference (RFC 6901 in a fragment); undefined for none, which compiling will report. */
export function targetOf(root: Node, reference: string): unknown {
  let found: unknown = root;
  for (const part of decoded(reference.slice(1)).split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    if (found === null || typeof found !== 'object' || !Object.hasOwn(found, key)) return undefined;
    found = Reflect.get(found, key);
  }
  return found;
}

function decoded(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment;
  }
}

function namesOf(value: unknown): string[] {
  return entriesOf(value).map(([name]) => name);
}

function entriesOf(value: unknown): [string, unknown][] {
  return isNode(value) ? Object.entries(value) : [];
}

/** Returns a key as a segment of a JSON pointer. */
export function step(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

function isNode(value: unknown): value is Node {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
