import { invalid } from '../../workflows/contracts/failure.ts';

/** A filter that can't be applied to an event: it compares values without an order, or searches a value that contains nothing. */
export class FilterError extends Error {
  override readonly name = 'FilterError';
}

const maxNodes = 100;
const maxDepth = 10;
const pointer = '/filter';

/** The fewest and most arguments of each operator. */
const operators: Readonly<Record<string, readonly [number, number]>> = {
  'var': [1, 1],
  'missing': [1, maxNodes],
  '!': [1, 1],
  '==': [2, 2],
  '!=': [2, 2],
  '<': [2, 2],
  '<=': [2, 2],
  '>': [2, 2],
  '>=': [2, 2],
  'in': [2, 2],
  'and': [1, maxNodes],
  'or': [1, maxNodes],
};
/** These take names, which are not evaluated as values. */
const namers: ReadonlySet<string> = new Set(['var', 'missing']);

/**
 * Throws 422 for an invalid filter. A filter is a rule of JsonLogic (jsonlogic.com): an object with one of our operators and its arguments. At most 100 nodes,
 * counting objects, lists and values, and 10 levels.
 */
export function refuseFilter(filter: Readonly<Record<string, unknown>> | null): void {
  if (filter === null) return;
  if (countNodes(filter, 1) > maxNodes) throw invalid(pointer, 'max_nodes', `must have at most ${maxNodes} nodes`, { limit: maxNodes });
  checkNode(filter, pointer);
}

function countNodes(node: unknown, depth: number): number {
  if (depth > maxDepth) throw invalid(pointer, 'max_depth', `must be at most ${maxDepth} levels deep`, { limit: maxDepth });
  if (typeof node !== 'object' || node === null) return 1;
  return Object.values(node).reduce<number>((sum, child) => sum + countNodes(child, depth + 1), 1);
}

function checkNode(node: unknown, at: string): void {
  if (Array.isArray(node)) return node.forEach((item, n) => checkNode(item, `${at}/${n}`));
  if (typeof node !== 'object' || node === null) return;
  const [name, ...more] = Object.keys(node);
  if (name === undefined || more.length > 0) throw invalid(at, 'operator', 'must have exactly one operator');
  const inside = `${at}/${name.slice(0, 40).replaceAll('~', '~0').replaceAll('/', '~1')}`;
  if (!Object.hasOwn(operators, name))
    throw invalid(inside, 'operator', `is not an operator; the operators are ${Object.keys(operators).join(', ')}`);

  const [least, most] = operators[name] ?? [0, 0];
  const args = argumentsOf(node, name);
  if (args.length < least || args.length > most)
    throw invalid(inside, 'arguments', least === most ? `takes ${least} of them` : `takes at least ${least}`);
  if (namers.has(name) && !args.every((path) => typeof path === 'string'))
    throw invalid(inside, 'type', 'takes the path of a value as a string, such as payload.order.total');
  args.forEach((arg, n) => checkNode(arg, `${inside}/${n}`));
}

/** A single argument need not be in a list. */
function argumentsOf(node: object, name: string): readonly unknown[] {
  const given: unknown = Reflect.get(node, name);
  return Array.isArray(given) ? given : [given];
}

/**
 * Whether an event meets a filter that `refuseFilter` has accepted: the filter's value is neither false, null, 0, an empty text nor an empty list. `==` and
 * `!=` are strict, lists and objects equal nothing. Throws FilterError.
 */
export function meetsFilter(filter: Readonly<Record<string, unknown>> | null, event: Readonly<Record<string, unknown>>): boolean {
  return filter === null || isTrue(valueOf(filter, event));
}

function isTrue(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}

function valueOf(node: unknown, event: object): unknown {
  if (Array.isArray(node)) return node.map((item) => valueOf(item, event));
  if (typeof node !== 'object' || node === null) return node;
  const [name = ''] = Object.keys(node);
  const args = argumentsOf(node, name);
  const [left, right] = args;
  switch (name) {
    case 'var':
      return found(event, left) ?? null;
    case 'missing':
      return args.filter((path) => (found(event, path) ?? null) === null);
    case 'and':
      return args.every((arg) => isTrue(valueOf(arg, event)));
    case 'or':
      return args.some((arg) => isTrue(valueOf(arg, event)));
    case '!':
      return !isTrue(valueOf(left, event));
    default:
      return compared(name, valueOf(left, event), valueOf(right, event));
  }
}

function compared(name: string, left: unknown, right: unknown): boolean {
  switch (name) {
    case '==':
      return left === right;
    case '!=':
      return left !== right;
    case 'in':
      return isIn(left, right);
    case '<':
      return order(left, right) < 0;
    case '<=':
      return order(left, right) <= 0;
    case '>':
      return order(left, right) > 0;
    case '>=':
      return order(left, right) >= 0;
    default:
      throw new FilterError('an unknown operator');
  }
}

function isIn(value: unknown, whole: unknown): boolean {
  if (Array.isArray(whole)) return whole.includes(value);
  if (typeof whole === 'string' && typeof value === 'string') return whole.includes(value);
  throw new FilterError('in checks whether a string or list contains a value');
}

/** Orders numbers by size and texts by their UTF-16 code units, which orders RFC 3339 times of one zone. */
function order(left: unknown, right: unknown): number {
  if (typeof left === 'number' && typeof right === 'number') return left - right;
  if (typeof left === 'string' && typeof right === 'string') return left < right ? -1 : Number(left > right);
  throw new FilterError('only two numbers or two strings can be compared');
}

/** Returns the value at a path of names and positions joined by dots: own properties only. */
function found(event: object, path: unknown): unknown {
  if (typeof path !== 'string') return undefined;
  let value: unknown = event;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = Reflect.get(value, name);
  }
  return value;
}
