import type { Static, TObject } from 'typebox';
import { Value } from 'typebox/value';

/** Form of a variable that names an origin. */
export const httpOrigin = { pattern: '^https?://[^/?#@\\s]+$', description: 'an origin: https://HOST or https://HOST:PORT, no path' };

/** A process can't start because of its environment: names every bad variable, never a value. */
export class EnvironmentError extends Error {
  override readonly name = 'EnvironmentError';
  /** The error of each variable. */
  readonly faults: ReadonlyMap<string, string>;

  constructor(faults: ReadonlyMap<string, string>) {
    super(`bad environment: ${[...faults].map(([name, fault]) => `${name}: ${fault}`).join('; ')}`);
    this.faults = faults;
  }
}

/** Runs every parser and throws one EnvironmentError with all their errors, by variable. */
export function parseTogether<R extends Readonly<Record<string, unknown>>>(parsers: { readonly [K in keyof R]: () => R[K] }): R {
  const values: Partial<R> = {};
  const faults = new Map<string, string>();
  for (const name of Object.keys(parsers) as (keyof R)[]) {
    try {
      values[name] = parsers[name]();
    } catch (error) {
      if (!(error instanceof Error && 'faults' in error && error.faults instanceof Map)) throw error;
      error.faults.forEach((fault, variable) => faults.set(variable, faults.get(variable) ?? fault));
    }
  }
  if (faults.size > 0) throw new EnvironmentError(faults);
  // Every parser has returned its value.
  return values as R;
}

/** Returns the result of `parse`. A bad environment is reported on stderr, in one line and without a stack, and ends the process with 1. */
export function environmentOrExit<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof EnvironmentError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
}

/**
 * Reads the variables that `schema` names from `source`. A property's key is the variable's name; integers and numbers are decimal, booleans `true` or `false`,
 * arrays comma-separated. An empty variable counts as absent. Throws one EnvironmentError for all errors.
 */
export function parseEnvironment<S extends TObject>(schema: S, source: Readonly<Record<string, string | undefined>>): Readonly<Static<S>> {
  const values: Record<string, unknown> = {};
  for (const [name, property] of Object.entries(schema.properties)) {
    const raw = source[name]?.trim();
    if (raw !== undefined && raw !== '') values[name] = convert(property, raw);
  }

  const complete = Value.Default(schema, values);
  const faults = faultsOf(schema, complete);
  if (faults.size > 0) throw new EnvironmentError(faults);
  // Value.Errors found nothing, so the value has the schema's type.
  return Object.freeze(complete as Static<S>);
}

function convert(property: unknown, raw: string): unknown {
  // A TypeBox schema is a plain JSON Schema object.
  const { type } = property as { type?: string };
  if (type === 'integer' || type === 'number') return /^-?\d+(\.\d+)?$/.test(raw) ? Number(raw) : raw;
  if (type === 'boolean') return raw === 'true' ? true : raw === 'false' ? false : raw;
  if (type === 'array')
    return raw
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '');
  return raw;
}

function faultsOf(schema: TObject, values: unknown): Map<string, string> {
  const faults = new Map<string, string>();
  for (const error of Value.Errors(schema, values)) {
    const missing = error.keyword === 'required' ? error.params.requiredProperties : [];
    for (const name of missing) faults.set(name, 'missing');
    const [, at] = error.instancePath.split('/');
    if (at && !faults.has(at)) faults.set(at, wantedForm(schema.properties[at]) ?? error.message);
  }
  return faults;
}

/** Returns the schema's own description; null: the message is made from its keywords. */
function wantedForm(property: unknown): string | null {
  const { description } = property as { description?: string };
  return description === undefined ? null : `must be ${description}`;
}
