/** A member of what is an object; undefined for everything else. Own members only. */
export function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined;
}

/** The same as text; a number is its digits. Empty for everything else. */
export function textOf(value: unknown, name: string): string {
  const found = member(value, name);
  return typeof found === 'string' ? found : typeof found === 'number' ? String(found) : '';
}

export function listIn(value: unknown, name: string): readonly unknown[] {
  const found = member(value, name);
  return Array.isArray(found) ? found : [];
}
