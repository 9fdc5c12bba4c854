import { isDeepStrictEqual } from 'node:util';

type ObjectValue = Readonly<Record<string, unknown>>;

/** Whether two JSON values are equal, whatever the order of names. */
export function isSameJson(left: unknown, right: unknown): boolean {
  return isDeepStrictEqual(left, right);
}

/** Whether every name of `part` is in `whole` with a value that contains the part's; arrays and scalars must be equal. */
export function isPartOf(part: unknown, whole: unknown): boolean {
  if (!isObject(part) || !isObject(whole)) return isSameJson(part, whole);
  return Object.entries(part).every(([name, value]) => Object.hasOwn(whole, name) && isPartOf(value, whole[name]));
}

/** The leaves of a JSON value by their pointers; an empty object or array is a leaf. */
export function leavesOf(value: unknown): Map<string, unknown> {
  const leaves = new Map<string, unknown>();
  const walk = (node: unknown, pointer: string): void => {
    const children = Array.isArray(node) ? [...node.entries()] : isObject(node) ? Object.entries(node) : [];
    if (children.length === 0) leaves.set(pointer, node);
    for (const [name, child] of children) walk(child, `${pointer}/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`);
  };
  walk(value, '');
  return leaves;
}

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is ObjectValue {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Parses a text as JSON; undefined when it is not JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
