import { step, targetOf } from './schema-patterns.ts';

/**
 * Maximum cost of one level of a value: how often schemas may be applied to the same location in it. Schemas that people write stay below a few hundred, or
 * below a thousand with a union of a hundred references; each visit takes up to a microsecond.
 */
export const maxVisits = 10_000;

/** A schema that costs too much: where, and why. */
export interface CostProblem {
  readonly pointer: string;
  readonly message: string;
}

type Node = Readonly<Record<string, unknown>>;

/** Keywords that apply their schemas to the value itself: one, a list, or a map of them. */
const inPlace: readonly string[] = ['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'dependentSchemas', 'dependencies'];
/** Keywords that apply their schemas one level below the value, or to nothing. */
const below: readonly string[] = [
  'properties',
  'patternProperties',
  'additionalProperties',
  'propertyNames',
  'unevaluatedProperties',
  'items',
  'additionalItems',
  'prefixItems',
  'contains',
  'unevaluatedItems',
  'contentSchema',
  '$defs',
  'definitions',
];
const maps: readonly string[] = ['properties', 'patternProperties', 'dependentSchemas', 'dependencies', '$defs', 'definitions'];

/**
 * Finds a schema that takes exponential time, without applying it: counts how often schemas are applied to one location of a value, through all references, by
 * multiplication instead of following every path. A reference may lead back to a schema only one level further down: one that leads back at the same location
 * never ends. Null when each level is below `maxVisits`. Growth with each level of the value is not detected here: only the value determines how many levels
 * there are.
 */
export function costProblem(root: Node): CostProblem | null {
  const known = new Map<Node, number>();
  const open = new Set<Node>();

  /** Returns the visits of one location when `node` is applied to it; Infinity when it refers back to itself there. */
  function visits(node: unknown): number {
    if (!isNode(node)) return 1;
    const before = known.get(node);
    if (before !== undefined) return before;
    if (open.has(node)) return Infinity;
    open.add(node);
    let sum = 1;
    for (const child of inPlaceOf(root, node)) sum += visits(child);
    open.delete(node);
    known.set(node, sum);
    return sum;
  }

  function check(node: unknown, pointer: string): CostProblem | null {
    if (!isNode(node)) return null;
    const count = visits(node);
    if (count === Infinity) return { pointer, message: 'it refers to itself without descending into the value' };
    if (count > maxVisits) return { pointer, message: `one level of a value would take more than ${maxVisits} visits` };
    for (const [keyword, child, step] of childrenOf(node)) {
      const found = check(child, `${pointer}/${keyword}${step}`);
      if (found) return found;
    }
    return null;
  }

  return check(root, '');
}

function inPlaceOf(root: Node, node: Node): unknown[] {
  const children = childrenOf(node).flatMap(([keyword, child]) => (inPlace.includes(keyword) ? [child] : []));
  const reference = node['$ref'];
  return typeof reference === 'string' ? [...children, targetOf(root, reference)] : children;
}

/** Returns the schemas inside a schema, each with its keyword and what follows that in a pointer. */
function childrenOf(node: Node): [string, unknown, string][] {
  return Object.entries(node).flatMap(([keyword, value]): [string, unknown, string][] => {
    if (!inPlace.includes(keyword) && !below.includes(keyword)) return [];
    if (Array.isArray(value)) return value.map((child: unknown, at) => [keyword, child, `/${at}`]);
    if (!maps.includes(keyword)) return [[keyword, value, '']];
    return isNode(value) ? Object.entries(value).map(([name, child]) => [keyword, child, `/${step(name)}`]) : [];
  });
}

function isNode(value: unknown): value is Node {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
