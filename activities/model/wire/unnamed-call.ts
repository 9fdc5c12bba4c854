/**
 * Stands for the name of a call that has none. No tool can have it (slugs begin with a letter or digit), and every provider takes it back in a
 * history: so the call ends like any that names no tool, and the model is told.
 */
export const unnamedCall = '_unnamed';

/** The name of a call as it is kept: never empty. */
export function calledName(name: unknown): string {
  return isNamed(name) ? name : unnamedCall;
}

/** White space is no name. */
export function isNamed(name: unknown): name is string {
  return typeof name === 'string' && name.trim() !== '';
}
