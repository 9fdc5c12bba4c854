/** Returns a member of an object; undefined for any other value. Own members only. */
export function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined;
}

/** Returns a member as text; a number becomes its digits. Empty for any other value. */
export function textOf(value: unknown, name: string): string {
  const found = member(value, name);
  return typeof found === 'string' ? found : typeof found === 'number' ? String(found) : '';
}

export function listIn(value: unknown, name: string): readonly unknown[] {
  const found = member(value, name);
  return Array.isArray(found) ? found : [];
}
