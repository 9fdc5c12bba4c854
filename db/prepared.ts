import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { type Expression, type OperationNode, type OperationNodeSource, ValueNode } from 'kysely';
import { Condition } from './condition.ts';
import type { Statement } from './postgres/pg-connection.ts';
import { compile, propertiesLeftToHooks, type Built, type Query } from './query.ts';

/**
 * The values of a prepared query by name. An undefined value selects another form of the query, without the part that would need it. The query's code sees
 * which values are present, not what they are: a flag that chooses between two forms is `true` or undefined, since `false` would count as present like
 * `true` (it throws).
 */
export type Arguments = object;

/** The arguments as the query's code sees them: expressions that stand for the values. */
export type ParametersOf<A extends Arguments> = {
  readonly [N in keyof A]: [Exclude<A[N], undefined>] extends [Condition]
    ? A[N]
    : Expression<Exclude<A[N], undefined>> | Extract<A[N], undefined>;
};

/**
 * A query that is compiled once for each of its shapes and then costs no more than its text and values. It suits frequent reads, since building and
 * compiling a query takes longer than the rest of a read (docs/adr/0009). A shape is which arguments are present, plus the text of those that are
 * conditions: the condition for the rows that a caller sees has few forms. Values are passed as they are: JSON as text (`JSON.stringify`), arrays as
 * PostgreSQL arrays.
 * @throws at the first use of a shape, when a value created once would be shared by all later uses (a column that is left to the hooks of an entity, a time
 * or an id that `build` creates), or when the query leaves out a condition that it is given; at any use that passes `false` for a flag.
 */
export function prepared<A extends Arguments, O>(build: (parameters: ParametersOf<A>) => Built<O>): (values: A) => Query<O> {
  const plans = new Map<string, Plan>();

  return (values) => ({
    toStatement: (em) => {
      const shape = shapeOf(values);
      const known = plans.get(shape);
      if (known) return known(values);

      const plan = planOf(em, build(parametersOf(values)), values);
      if (plans.size >= maxShapes) plans.clear();
      plans.set(shape, plan);
      return plan(values);
    },
  });
}

/** More shapes than any query has: a query that reaches it derives its shape from tenants' data. */
const maxShapes = 200;

type Plan = (values: Arguments) => Statement;

/** Stands for a value while the query is compiled; its `kind` makes MikroORM leave it unchanged. */
class Slot {
  readonly kind = 'slot';
  readonly name: string;
  /** Index of the parameter when the value is a condition. */
  readonly index: number | null;

  constructor(name: string, index: number | null) {
    this.name = name;
    this.index = index;
  }
}

class Parameter<V> implements Expression<V> {
  readonly #node: OperationNode;

  constructor(name: string) {
    this.#node = ValueNode.create(new Slot(name, null));
  }

  get expressionType(): V | undefined {
    return undefined;
  }

  toOperationNode(): OperationNode {
    return this.#node;
  }
}

function shapeOf(values: Arguments): string {
  let shape = '';
  for (const name in values) {
    const value: unknown = Reflect.get(values, name);
    if (value !== undefined) shape += value instanceof Condition ? `${name}(${value.sql})` : `${name} `;
  }
  return shape;
}

function parametersOf<A extends Arguments>(values: A): ParametersOf<A> {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  const parameters = given.map(([name, value]) => [
    name,
    value instanceof Condition
      ? value.withParams(value.params.map((_, index) => ValueNode.create(new Slot(name, index))))
      : new Parameter(name),
  ]);
  // Built from the values, one entry for each.
  return Object.fromEntries(parameters) as ParametersOf<A>;
}

function planOf(em: SqlEntityManager, built: OperationNodeSource, values: Arguments): Plan {
  const { sql, parameters } = compile(em, built, { hasHooks: false });
  const left = propertiesLeftToHooks(em, built);
  if (left.length > 0) throw new Error(`a prepared query gives each write its values, also ${left.join(', ')}: ${sql}`);
  refuseMade(sql, parameters);
  refuseUnused(sql, parameters, values);
  const used = new Set(parameters.map((parameter) => (parameter instanceof Slot ? parameter.name : '')));
  const flags = Object.keys(values).filter((name) => !used.has(name));
  return (given) => {
    if (flags.some((name) => Reflect.get(given, name) === false)) throw new Error(`a flag of a prepared query is true or absent: ${sql}`);
    return {
      sql,
      parameters: parameters.map((parameter) => (parameter instanceof Slot ? valueOf(given, parameter) : parameter)),
    };
  };
}

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** A time or id among the constants would be that of the first use, shared by every later one. */
function refuseMade(sql: string, parameters: readonly unknown[]): void {
  const isMade = (value: unknown) => value instanceof Date || (typeof value === 'string' && uuid.test(value));
  if (parameters.some(isMade)) throw new Error(`a prepared query takes times and ids as arguments: ${sql}`);
}

/** A caller that passes a condition relies on it: a query without it would show all rows that the policies let through. */
function refuseUnused(sql: string, parameters: readonly unknown[], values: Arguments): void {
  const used = new Set(parameters.map((parameter) => (parameter instanceof Slot ? parameter.name : '')));
  for (const [name, value] of Object.entries(values)) {
    if (value instanceof Condition && value.params.length > 0 && !used.has(name))
      throw new Error(`a prepared query leaves out its ${name}: ${sql}`);
  }
}

function valueOf(values: Arguments, { name, index }: Slot): unknown {
  const value: unknown = Reflect.get(values, name);
  return index !== null && value instanceof Condition ? value.params[index] : value;
}
