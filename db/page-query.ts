import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { type Expression, type SelectQueryBuilder, sql, type SqlBool, type StringReference } from 'kysely';
import { fail } from '../workflows/contracts/failure.ts';
import { Condition } from './condition.ts';
import type { Page, PageRequest } from './page.ts';
import { prepared, type Arguments, type ParametersOf } from './prepared.ts';
import type { Built } from './query.ts';
import { row, rows } from './sql.ts';

/** A column that orders a list. It is never null, and the last one is unique. */
export interface OrderColumn {
  /** The column as the statement names it, with its alias: `r.id`. */
  readonly column: string;
  /** Its database type, to which a position's text is cast: `uuid`, `timestamptz`. */
  readonly type: string;
  readonly descending: boolean;
}

/** Returns a condition: one of the columns contains the text, ignoring case. It uses strpos, not like: % and _ are ordinary characters here. */
export function contains(text: Expression<string>, ...columns: readonly Expression<string | null>[]): Expression<SqlBool> {
  const [only] = columns;
  const whole = only && columns.length === 1 ? only : sql`concat_ws(E'\\n', ${sql.join(columns)})`;
  return sql<SqlBool>`strpos(lower(${whole}), lower(${text})) > 0`;
}

const positionPrefix = '_position_';

// One row comparison where all columns sort in the same direction (usable as an index condition), else its expansion.
function afterPosition(order: readonly OrderColumn[], after: readonly string[]): { sql: string; params: unknown[] } {
  if (after.length !== order.length) throw fail('cursor_invalid');
  const [first] = order;
  if (!first) throw new Error('A list needs an order');

  if (order.every(({ descending }) => descending === first.descending)) {
    const left = order.map(({ column }) => column).join(', ');
    const right = order.map(({ type }) => `?::text::${type}`).join(', ');
    return { sql: `(${left}) ${first.descending ? '<' : '>'} (${right})`, params: [...after] };
  }
  const params: unknown[] = [];
  const cases = order.map(({ column, type, descending }, at) => {
    const equal = order.slice(0, at).map((before) => `${before.column} = ?::text::${before.type}`);
    params.push(...after.slice(0, at + 1));
    return `(${[...equal, `${column} ${descending ? '<' : '>'} ?::text::${type}`].join(' and ')})`;
  });
  return { sql: `(${cases.join(' or ')})`, params };
}

/** Builds a page from its rows, of which there may be one more than the page holds. The position columns are ours and are removed. */
function pageOf<O extends object>(
  found: readonly O[],
  { page, columns, total }: { readonly page: PageRequest; readonly columns: number; readonly total: number | null },
): Page<O> {
  const items = found.slice(0, page.limit);
  const last = items.at(-1);
  const hasMore = page.offset === null && found.length > page.limit;
  const next = hasMore && last ? Array.from({ length: columns }, (_, at) => String(Reflect.get(last, `${positionPrefix}${at}`))) : null;
  return { items: items.map(withoutPosition), next, total };
}

// A copy without the property, not a delete: an object that lost a member is slow to read, and a page has hundreds of reads.
function withoutPosition<O extends object>(item: O): O {
  const rest: Partial<O> = {};
  for (const name in item) if (!name.startsWith(positionPrefix)) rest[name] = item[name];
  return rest as O; // everything that its statement selects except the position
}

/** Order of a typed list: a column of its query, and the type to which a position's text is cast. */
export interface OrderReference<C> {
  readonly column: C;
  readonly type: string;
  readonly descending: boolean;
}

/** Returns one page of a list that has a query of its own. */
export type FetchPage<A, O> = (em: SqlEntityManager, values: A, page: PageRequest) => Promise<Page<O>>;

/**
 * A list as a prepared query: `build` says what it selects and from where, without order and bounds; `order` says which of its columns order it. A page reads
 * limit + 1 rows, after a position (keyset) or from an offset. A position holds each order column as the database's own text, so it loses no precision on its
 * way to the client and back. Only offset mode counts the exact total, with a second query. The query must not group: the total counts the rows that its
 * condition leaves.
 */
export function preparedList<A extends Arguments, DB, TB extends keyof DB, O extends object>(
  build: (parameters: ParametersOf<A>) => SelectQueryBuilder<DB, TB, O>,
  order: readonly OrderReference<NoInfer<StringReference<DB, TB>>>[],
): FetchPage<A, O> {
  const readPage = prepared((parameters: ParametersOf<A & Paging>) => pageQuery(build(parameters as ParametersOf<A>), order, parameters)); // a subset
  const count = prepared((parameters: ParametersOf<A>): Built<{ total: number }> => build(parameters).clearSelect().select(countAllRows));
  const columns: OrderColumn[] = order.map(({ column, ...rest }) => ({ ...rest, column: databaseName(column) }));

  return async (em, values, page) => {
    const keyset = page.after === null ? null : afterPosition(columns, page.after);
    const position = keyset ? new Condition(keyset.sql, keyset.params) : undefined;
    const found = await rows(em, readPage({ ...values, position, pageLimit: page.limit + 1, pageOffset: page.offset ?? 0 }));
    const total = page.offset === null ? null : ((await row(em, count(values)))?.total ?? 0);
    return pageOf(found, { page, columns: order.length, total });
  };
}

interface Paging {
  readonly position: Condition | undefined;
  readonly pageLimit: number;
  readonly pageOffset: number;
}

const countAllRows = sql<number>`count(*)`.as('total');

function pageQuery<DB, TB extends keyof DB, O>(
  listed: SelectQueryBuilder<DB, TB, O>,
  order: readonly OrderReference<string>[],
  { position, pageLimit, pageOffset }: ParametersOf<Paging>,
): SelectQueryBuilder<DB, TB, O> {
  const positions = order.map(({ column }, at) => sql<string>`(${sql.ref(column)})::text`.as(`${positionPrefix}${at}`));
  let paged = listed.select(positions) as SelectQueryBuilder<DB, TB, O>; // the position columns are removed again
  if (position) paged = paged.where(position);
  for (const { column, descending } of order) paged = paged.orderBy(sql.ref(column), descending ? 'desc' : 'asc');
  return paged.limit(pageLimit).offset(pageOffset);
}

/** `s.createdAt` → `s.created_at`. */
function databaseName(reference: string): string {
  return reference.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
