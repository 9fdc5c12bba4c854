/**
 * Placeholder name of a call without a name. No tool can have it (slugs begin with a letter or digit), and every provider accepts it in a history: so the call
 * ends like any other that names no tool, and the model sees its error.
 */
export const unnamedCall = '_unnamed';

/** Returns the name of a call as it is stored: never empty. */
export function calledName(name: unknown): string {
  return isNamed(name) ? name : unnamedCall;
}

/** White space is no name. */
export function isNamed(name: unknown): name is string {
  return typeof name === 'string' && name.trim() !== '';
}
