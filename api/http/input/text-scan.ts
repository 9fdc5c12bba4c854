import { escapePointer } from '../../../workflows/contracts/tools/json-pointer.ts';
import { isTag } from '../../../workflows/contracts/tools/exact-json.ts';
import type { Violation } from '../../../workflows/contracts/failure.ts';

/** Where a parsed body holds text that PostgreSQL or UTF-8 can't carry, and numbers that a double would change; whether a key could reach a prototype. */
export interface ForbiddenText {
  readonly pointers: readonly string[];
  /** Pointers of the numbers. */
  readonly numbers: readonly string[];
  readonly hasPrototypeKey: boolean;
}

/** Where the walk is; no longer whole once a segment was left out. */
interface Path {
  readonly pointer: string;
  readonly isWhole: boolean;
}

const maxPointers = 50;
const maxPointer = 300;

/** Whether a string contains U+0000 or a lone surrogate. */
export function isForbiddenText(text: string): boolean {
  return text.includes('\u0000') || !text.isWellFormed();
}

/**
 * Walks a value of `JSON.parse`, whose depth the caller has bounded, and whose numbers it has tagged (`tagInexact`). A key that is at fault is reported at its object, and what lies too far
 * in at the last parent with a short pointer: an answer must not grow by the number of faults times the length of a key.
 */
export function findForbiddenText(value: unknown): ForbiddenText {
  const pointers = new Set<string>();
  const numbers = new Set<string>();
  let hasPrototypeKey = false;

  const note = (path: Path, found = pointers): void => {
    if (found.size < maxPointers) found.add(path.pointer);
  };
  const visit = (node: unknown, path: Path): void => {
    if (typeof node === 'string' && isForbiddenText(node)) note(path, isTag(node) ? numbers : pointers);
    if (typeof node !== 'object' || node === null) return;
    if (Array.isArray(node)) return node.forEach((item, index) => visit(item, pathTo(path, String(index))));

    for (const [key, child] of Object.entries(node)) {
      if (key === '__proto__' || (key === 'constructor' && hasOwn(child, 'prototype'))) hasPrototypeKey = true;
      if (isForbiddenText(key)) note(path);
      else visit(child, pathTo(path, key));
    }
  };
  visit(value, { pointer: '', isWhole: true });
  return { pointers: [...pointers], numbers: [...numbers], hasPrototypeKey };
}

/** The violations that a 422 reports for it. */
export function forbiddenViolations({ pointers, numbers }: ForbiddenText): Violation[] {
  const violation = (pointer: string, rule: string, message: string): Violation => ({ in: 'body', pointer, name: null, rule, message });
  return [
    ...pointers.map((pointer) => violation(pointer, 'invalid_text', 'contains U+0000 or a lone surrogate')),
    ...numbers.map((pointer) => violation(pointer, 'range', 'is a number that cannot be stored exactly; send it as a string')),
  ].slice(0, maxPointers);
}

function pathTo({ pointer, isWhole }: Path, segment: string): Path {
  if (!isWhole || pointer.length + segment.length >= maxPointer) return { pointer, isWhole: false };
  return { pointer: `${pointer}/${escapePointer(segment)}`, isWhole };
}

function hasOwn(value: unknown, key: string): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key);
}
