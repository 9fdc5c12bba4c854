import { isRaw } from '@mikro-orm/core';
import { MikroKyselyPlugin, type SqlEntityManager } from '@mikro-orm/postgresql';
import {
  AliasNode,
  CamelCasePlugin,
  ColumnNode,
  type Compilable,
  DeleteQueryNode,
  DummyDriver,
  IdentifierNode,
  InsertQueryNode,
  Kysely,
  type OperationNode,
  type OperationNodeSource,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryId,
  ReferenceNode,
  type RootOperationNode,
  SelectionNode,
  SelectQueryNode,
  TableNode,
  UpdateQueryNode,
  type ValueNode,
  ValuesNode,
} from 'kysely';
import type { Statement } from './postgres/pg-connection.ts';
import type { Tables } from './table-types.ts';

/** A query as Kysely builds it, whose rows have the shape `O`. */
export type Built<O> = Compilable<O> & OperationNodeSource;

/** A query that the functions of `sql.ts` run: one that was just built, or one that was compiled before (see `prepared.ts`). */
export interface Query<O> {
  /** Returns the text, with `$1`, `$2` …, and the values. */
  toStatement(em: SqlEntityManager): Statement;
  /** Never read: it carries the type of the rows. */
  readonly rowType?: O;
}

/**
 * Builds typed queries, naming tables by their names and columns by their properties. It only builds them. `rows`, `row`, `change` and `queueStatement` of
 * `sql.ts` run them in the transaction of their entity manager, because MikroORM's own `getKysely` would break three rules: statements issued at once
 * travel together, each read runs as its own transaction, and unflushed changes are flushed first. See docs/adr/0009.
 */
export const query = new Kysely<Tables>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
});

/** Writes a raw fragment from an entity's hook (`onUpdate`: `now()`) as SQL; Kysely would bind it as a value. */
class EntityQueryCompiler extends PostgresQueryCompiler {
  protected override visitValue(node: ValueNode): void {
    if (isRaw(node.value)) this.append(node.value.sql);
    else super.visitValue(node);
  }
}

const compiler = new EntityQueryCompiler();
const databaseNames = new CamelCasePlugin();
const queryId: QueryId = { queryId: 'compiled' };

/**
 * Returns the text of a query and its values as MikroORM writes them. The query uses the database's names internally, while each output keeps its property
 * name (`"s"."organization_id" as "organizationId"`), so that no row has to be mapped. `hasHooks`: columns that the query leaves out get the values of
 * their entity's hooks (`onCreate`, `onUpdate`).
 * @throws for `select *`, which names no columns, and for an update of a table under an alias, whose hooks and values MikroORM would skip.
 */
export function compile(em: SqlEntityManager, built: OperationNodeSource, { hasHooks } = { hasHooks: true }): Statement {
  const node = built.toOperationNode();
  if (!isRoot(node)) throw new Error(`a ${node.kind} is no query`);
  if (isAliasedUpdate(node)) throw new Error('an update names its table without an alias');
  const named = withOutputs(databaseNames.transformQuery({ node, queryId }), outputsOf(node));
  const values = new MikroKyselyPlugin(em, { convertValues: true, processOnCreateHooks: hasHooks, processOnUpdateHooks: hasHooks });
  return compiler.compileQuery(values.transformQuery({ node: named, queryId }), queryId);
}

type Root = SelectQueryNode | InsertQueryNode | UpdateQueryNode | DeleteQueryNode;

function isRoot(node: OperationNode): node is Root {
  return SelectQueryNode.is(node) || InsertQueryNode.is(node) || UpdateQueryNode.is(node) || DeleteQueryNode.is(node);
}

function partsOf(node: Root): OperationNode[] {
  return [node, ...(node.with?.expressions.map(({ expression }) => expression) ?? [])];
}

/**
 * Returns the properties that a query's inserts and updates leave out although their entities give them a value at each write (`onCreate`, `onUpdate`). A
 * nullable property that an insert leaves out is null, with its hook and without.
 */
export function propertiesLeftToHooks(em: SqlEntityManager, built: OperationNodeSource): string[] {
  const node = built.toOperationNode();
  return isRoot(node) ? partsOf(node).flatMap((part) => leftToHooks(em, part)) : [];
}

function leftToHooks(em: SqlEntityManager, node: OperationNode): string[] {
  const table = InsertQueryNode.is(node) ? node.into : UpdateQueryNode.is(node) ? node.table : undefined;
  const meta =
    table && TableNode.is(table) ? [...em.getMetadata()].find(({ tableName }) => tableName === table.table.identifier.name) : undefined;
  if (!meta) return [];
  const writes = UpdateQueryNode.is(node) ? [node.updates] : InsertQueryNode.is(node) ? [node.onConflict?.updates] : [];
  const updated = writes.flatMap((updates) => {
    if (!updates) return [];
    const named = updates.map(({ column }) => (ColumnNode.is(column) ? column.column.name : ''));
    return meta.props.filter(({ onUpdate, name }) => onUpdate && !named.includes(name));
  });
  const columns = InsertQueryNode.is(node) && node.values && ValuesNode.is(node.values) ? node.columns : undefined;
  const inserted = columns
    ? meta.props.filter(({ onCreate, nullable, name }) => onCreate && !nullable && !columns.some(({ column }) => column.name === name))
    : [];
  return [...inserted, ...updated].map(({ name }) => `${meta.tableName}.${name}`);
}

function isAliasedUpdate(node: Root): boolean {
  return partsOf(node).some((part) => UpdateQueryNode.is(part) && part.table !== undefined && AliasNode.is(part.table));
}

function selectionsOf(node: Root): readonly SelectionNode[] {
  return (SelectQueryNode.is(node) ? node.selections : node.returning?.selections) ?? [];
}

/** The names by which the query's code knows its outputs. */
function outputsOf(node: Root): string[] {
  return selectionsOf(node).map(({ selection }) => {
    if (AliasNode.is(selection) && IdentifierNode.is(selection.alias)) return selection.alias.name;
    const column = ReferenceNode.is(selection) ? selection.column : selection;
    if (ColumnNode.is(column)) return column.column.name;
    throw new Error('a query names each column that it gives');
  });
}

function withOutputs(node: RootOperationNode, names: readonly string[]): RootOperationNode {
  if (!isRoot(node)) return node;
  const selections = selectionsOf(node).map(({ selection }, at) => {
    const inner = AliasNode.is(selection) ? selection.node : selection;
    return SelectionNode.create(AliasNode.create(inner, IdentifierNode.create(names[at] ?? '')) as SelectionNode['selection']);
  });
  if (SelectQueryNode.is(node)) return { ...node, selections };
  return node.returning ? { ...node, returning: { ...node.returning, selections } } : node;
}
