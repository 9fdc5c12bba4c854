/** Where a parsed body holds text that PostgreSQL or UTF-8 can't carry, and whether a key could reach a prototype. */
export interface ForbiddenText {
  readonly pointers: readonly string[];
  readonly hasPrototypeKey: boolean;
}

const mostPointers = 50;

/** Whether a string holds U+0000 or half a surrogate pair. */
export function isForbiddenText(text: string): boolean {
  return text.includes('\u0000') || !text.isWellFormed();
}

/** Walks a value of `JSON.parse`, whose depth the caller has bounded. A key that is at fault is reported at its object. */
export function findForbiddenText(value: unknown): ForbiddenText {
  const pointers: string[] = [];
  let hasPrototypeKey = false;

  const visit = (node: unknown, pointer: string): void => {
    if (typeof node === 'string' && isForbiddenText(node) && pointers.length < mostPointers) pointers.push(pointer);
    if (typeof node !== 'object' || node === null) return;
    if (Array.isArray(node)) return node.forEach((item, index) => visit(item, `${pointer}/${index}`));

    for (const [key, child] of Object.entries(node)) {
      if (key === '__proto__' || (key === 'constructor' && hasOwn(child, 'prototype'))) hasPrototypeKey = true;
      if (isForbiddenText(key) && pointers.length < mostPointers) pointers.push(pointer);
      else visit(child, `${pointer}/${escapePointer(key)}`);
    }
  };
  visit(value, '');
  return { pointers, hasPrototypeKey };
}

/** One segment of a JSON pointer (RFC 6901 §3). */
export function escapePointer(segment: string): string {
  return segment.replaceAll('~', '~0').replaceAll('/', '~1');
}

function hasOwn(value: unknown, key: string): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key);
}
