import { type Expression, type OperationNode, RawNode, type SqlBool, ValueNode } from 'kysely';

/**
 * A predicate for both ways of writing a query: SQL text with a `?` for each parameter, and an expression that typed queries take as is. It names columns
 * as the database does.
 */
export class Condition implements Expression<SqlBool> {
  readonly sql: string;
  readonly params: unknown[];

  constructor(sql: string, params: unknown[] = []) {
    this.sql = sql;
    this.params = params;
  }

  /** Kysely's types need it to tell expressions apart; it is never read. */
  get expressionType(): SqlBool | undefined {
    return undefined;
  }

  toOperationNode(): OperationNode {
    const parameters = this.params.map((value) => (isNode(value) ? value : ValueNode.create(value)));
    // In parentheses, since an `or` binds less than the `and` by which a query joins its conditions.
    const fragments = `(${this.sql})`.split('?');
    if (fragments.length !== parameters.length + 1) throw new Error(`a condition of ${parameters.length} parameters: ${this.sql}`);
    return RawNode.create(fragments, parameters);
  }

  /** Returns the same condition with other values. */
  withParams(params: unknown[]): Condition {
    return new Condition(this.sql, params);
  }
}

function isNode(value: unknown): value is OperationNode {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'ValueNode';
}
