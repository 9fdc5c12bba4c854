import type { Static, TObject } from 'typebox';
import { Value } from 'typebox/value';

/** A process that can't start because of its environment: names every bad variable, never a value. */
export class EnvironmentError extends Error {
  override readonly name = 'EnvironmentError';
  readonly variables: readonly string[];

  constructor(faults: ReadonlyMap<string, string>) {
    super(`bad environment: ${[...faults].map(([name, fault]) => `${name} ${fault}`).join('; ')}`);
    this.variables = [...faults.keys()];
  }
}

/**
 * Reads the variables that `schema` names out of `source`. A property's key is the variable's name; integers and numbers are decimal,
 * booleans `true` or `false`, arrays comma-separated. An empty variable counts as absent. Throws one EnvironmentError for all faults.
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
    for (const name of missing) faults.set(name, 'is missing');
    const [, at] = error.instancePath.split('/');
    if (at && !faults.has(at)) faults.set(at, error.message);
  }
  return faults;
}
