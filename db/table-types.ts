import type { EntitySchemaWithMeta, IndexHints } from '@mikro-orm/core';
import type { InferKyselyTable } from '@mikro-orm/postgresql';
import type { ColumnType } from 'kysely';
import type { tables } from './entities.ts';

/** Every table by its name, with its columns by property: the types of queries. They are inferred, so that a column is declared only in its entity. */
export type Tables = { readonly [T in keyof typeof tables]: TableOf<InstanceType<(typeof tables)[T]>> } & Views;

/** Views have the columns of the table whose rows they return. */
interface Views {
  readonly knowledge_live_items: TableOf<InstanceType<(typeof tables)['knowledge_items']>>;
  readonly knowledge_live_chunks: TableOf<InstanceType<(typeof tables)['knowledge_chunks']>>;
}

/** The columns of an entity's table: what a select returns of each, and what an insert and an update take. */
export type TableOf<E> = E extends { [IndexHints]?: [infer Properties extends Record<string, unknown>] } ? Columns<Properties> : never;

type Columns<P extends Record<string, unknown>> = Converted<
  InferKyselyTable<
    EntitySchemaWithMeta<string, string, unknown, never, P>,
    { columnNamingStrategy: 'property'; processOnCreateHooks: true }
  >
>;

type Converted<T> = {
  [C in keyof T]: T[C] extends ColumnType<infer S, infer I, infer U> ? ColumnType<Read<S>, Written<I>, Written<U>> : Plain<T[C]>;
};
type Plain<V> = [V] extends [Read<V>] ? V : ColumnType<Read<V>, Written<V>, Written<V>>;

/** Times are read as the database's text (`iso` takes them), and written as that or as a Date. */
type Read<V> = V extends Date ? string : V;
type Written<V> = V extends Date ? Date | string : V;
