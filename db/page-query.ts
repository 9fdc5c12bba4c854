import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { fail } from '../workflows/contracts/failure.ts';
import type { Page, PageRequest } from './page.ts';
import { row, rows } from './sql.ts';

/** A column that orders a list: never null, and the last one unique. */
export interface OrderColumn {
  /** As the statement names it, with its alias: `r.id`. */
  readonly column: string;
  /** Its database type, to which a position's text is cast: `uuid`, `timestamptz`. */
  readonly type: string;
  readonly descending: boolean;
}

export interface PageQuery {
  /** Select list, without `select`. */
  readonly select: string;
  /** Parameters of the select list, which stand before those of the condition. */
  readonly selectParams?: readonly unknown[];
  /** Tables and joins, without `from`. */
  readonly from: string;
  /** Condition, without `where`; its parameters are `params`. */
  readonly where: string;
  readonly params: readonly unknown[];
  readonly order: readonly OrderColumn[];
  readonly page: PageRequest;
}

/**
 * A condition: the next parameter stands somewhere in one of the columns, without regard to case. By strpos and not by like: % and _ are
 * letters.
 */
export function holdsText(...columns: readonly string[]): string {
  const text = columns.length === 1 ? columns[0] : `concat_ws(E'\\n', ${columns.join(', ')})`;
  return `strpos(lower(${text}), lower(?)) > 0`;
}

const positionPrefix = '_position_';

/**
 * One page of a list: limit + 1 rows, after a position (keyset) or from an offset. A position holds each order column as the database's
 * own text, so nothing of it is lost on the way to the client and back. The exact total is counted in offset mode only: two queries.
 */
export async function fetchPage<T>(em: SqlEntityManager, query: PageQuery): Promise<Page<T>> {
  const { page, order } = query;
  const positions = order.map(({ column }, at) => `(${column})::text as ${positionPrefix}${at}`);
  const keyset = page.after === null ? null : afterPosition(order, page.after);
  const offset = page.offset ?? 0;

  const found = await rows<Record<string, unknown>>(
    em,
    `select ${[query.select, ...positions].join(', ')} from ${query.from} where ${keyset ? `(${query.where}) and ${keyset.sql}` : query.where}
     order by ${order.map(({ column, descending }) => `${column} ${descending ? 'desc' : 'asc'}`).join(', ')} limit ? offset ?`,
    [...(query.selectParams ?? []), ...query.params, ...(keyset?.params ?? []), page.limit + 1, offset],
  );
  const total = page.offset === null ? null : await countAll(em, query);

  const items = found.slice(0, page.limit);
  const last = items.at(-1);
  const hasMore = page.offset === null && found.length > page.limit;
  const next = hasMore && last ? order.map((_, at) => String(last[`${positionPrefix}${at}`])) : null;
  // What the statement selects is its author's word; the position columns are ours and are taken out.
  return { items: items.map((item) => withoutPosition(item, order.length) as T), next, total };
}

async function countAll(em: SqlEntityManager, query: PageQuery): Promise<number> {
  const counted = await row<{ total: number }>(em, `select count(*) as total from ${query.from} where ${query.where}`, query.params);
  return counted?.total ?? 0;
}

// One row comparison where all columns point the same way (an index condition), else its expansion.
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

function withoutPosition(item: Record<string, unknown>, columns: number): Record<string, unknown> {
  const rest = { ...item };
  for (let at = 0; at < columns; at++) delete rest[`${positionPrefix}${at}`];
  return rest;
}
