import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { CompiledQuery } from 'kysely';
import { PooledConnection, type ConnectionRequest, type QueuedStatement, type Statement } from './postgres/pg-connection.ts';
import { compile, type Built, type Query } from './query.ts';

/** The result of a statement: its rows, and how many it wrote. */
export interface Outcome<T> {
  readonly rows: T[];
  readonly affected: number;
}

/**
 * Runs one statement in the transaction of `em` and returns its rows. Statements issued at once (`Promise.all`) are sent together, in the order of their
 * calls, and fail together: one round trip for independent statements, in transactions that hold no entities. Times are returned as the database's text
 * (see `iso`), int8 as number, numeric as string. Only named functions of `db/<area>` call this.
 *
 * Queries are typed (`query`, `prepared`). The few that are text are listed in `test/contract/typed-queries`: there each `?` is a bound parameter, an array
 * binds as a PostgreSQL array, JSON is passed as text (`?::jsonb` with `JSON.stringify`), and a literal question mark is written `\?`.
 */
export async function rows<O>(em: SqlEntityManager, query: Runnable<O>): Promise<O[]>;
export async function rows<T>(em: SqlEntityManager, sql: string, params?: readonly unknown[]): Promise<T[]>;
export async function rows<T>(em: SqlEntityManager, asked: Runnable<T> | string, params: readonly unknown[] = []): Promise<T[]> {
  return (await send<T>(em, statementOf(em, asked, params))).rows;
}

/** Returns the first row, or null. */
export async function row<O>(em: SqlEntityManager, query: Runnable<O>): Promise<O | null>;
export async function row<T>(em: SqlEntityManager, sql: string, params?: readonly unknown[]): Promise<T | null>;
export async function row<T>(em: SqlEntityManager, asked: Runnable<T> | string, params: readonly unknown[] = []): Promise<T | null> {
  return (await send<T>(em, statementOf(em, asked, params))).rows[0] ?? null;
}

/** Runs a statement and returns the number of rows it wrote. */
export async function change(em: SqlEntityManager, asked: Runnable<unknown> | string, params: readonly unknown[] = []): Promise<number> {
  return (await send(em, statementOf(em, asked, params))).affected;
}

/**
 * Sends a statement together with the transaction's next one, or with its commit: this saves a round trip where the result is not needed earlier. An error
 * of either statement is the error of both. `onRows` receives the rows when they have arrived, before the other statement's.
 */
export async function queueStatement<O>(
  em: SqlEntityManager,
  query: Runnable<O>,
  params?: readonly [],
  onRows?: ((rows: O[]) => void) | null,
): Promise<void>;
export async function queueStatement<T>(
  em: SqlEntityManager,
  sql: string,
  params?: readonly unknown[],
  onRows?: ((rows: T[]) => void) | null,
): Promise<void>;
export async function queueStatement<T>(
  em: SqlEntityManager,
  asked: Runnable<T> | string,
  params: readonly unknown[] = [],
  onRows: ((rows: T[]) => void) | null = null,
): Promise<void> {
  // The rows have the shape that the statement selects; for a text only its author can know it.
  await send(em, statementOf(em, asked, params), { isQueued: true, onRows: onRows as QueuedStatement['onRows'] });
}

/** Sends the statements of a transaction that has just begun straight to its connection. */
export async function takeConnection(em: SqlEntityManager): Promise<void> {
  const transaction = em.getTransactionContext();
  if (!transaction) throw new Error('no transaction has begun');
  const request: ConnectionRequest & CompiledQuery = { ...CompiledQuery.raw(''), asksForConnection: true };
  const { rows: found } = (await transaction.executeQuery(request)) as { rows: unknown[] }; // our PooledConnection, or the result of another driver
  const [connection] = found;
  if (connection instanceof PooledConnection) connections.set(transaction, { connection, epoch: connection.epoch });
}

/** Formats a time for the wire: UTC with milliseconds. Takes what `rows` and entities return. */
export function iso(value: Date | string): string;
export function iso(value: Date | string | null): string | null;
export function iso(value: Date | string | null): string | null {
  if (value === null) return null;
  if (typeof value === 'string' && value.length <= 26 && value.charAt(10) === ' ' && value.endsWith('+00')) return isoOfUtc(value);
  return (typeof value === 'string' ? new Date(value) : value).toISOString();
}

// `2026-01-31 10:20:30.5+00`: a list has hundreds of these, and creating a Date for each takes longer than reading the row.
function isoOfUtc(text: string): string {
  const fraction = text.length > 22 ? text.slice(20, -3).padEnd(3, '0') : '000';
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${fraction}Z`;
}

/** A typed query. */
type Runnable<O> = Query<O> | Built<O>;

/** Like `rows`, but returns the number of rows written too. */
export async function run<T>(em: SqlEntityManager, sql: string, params: readonly unknown[] = []): Promise<Outcome<T>> {
  return send<T>(em, statementOf(em, sql, params));
}

function statementOf(em: SqlEntityManager, asked: Runnable<unknown> | string, params: readonly unknown[]): Statement {
  if (typeof asked === 'string') return { sql: numberPlaceholders(asked), parameters: params };
  return 'toStatement' in asked ? asked.toStatement(em) : compile(em, asked);
}

async function send<T>(
  em: SqlEntityManager,
  { sql, parameters }: Statement,
  marks: Partial<Pick<QueuedStatement, 'isQueued' | 'onRows'>> = {},
): Promise<Outcome<T>> {
  // Unflushed entities would be invisible to the statement.
  if (holdsEntities(em)) await flushOnce(em);
  const transaction = em.getTransactionContext();
  if (!transaction) throw new Error('A statement outside a transaction would have no tenant');
  const taken = connections.get(transaction);
  if (taken && taken.epoch !== taken.connection.epoch) throw new Error('the transaction has ended');

  em.config.get('onQuery')(sql, parameters);
  const statement = { ...CompiledQuery.raw(sql, [...parameters]), ...marks };
  const result = await (taken?.connection ?? transaction).executeQuery(statement);

  // The rows have the shape that the statement selects; only its author can know it.
  return { rows: result.rows as T[], affected: Number(result.numAffectedRows ?? 0) };
}

const flushing = new WeakSet<SqlEntityManager>();

// While a flush is pending, MikroORM lets later statements go first, so they would not run in the order of the calls.
async function flushOnce(em: SqlEntityManager): Promise<void> {
  if (flushing.has(em)) throw new Error('statements are asked for at once while entities are held');
  flushing.add(em);
  await em.flush().finally(() => flushing.delete(em));
}

/** Returns whether a flush could have anything to write; an empty flush costs more than sending the statement itself. */
export function holdsEntities(em: SqlEntityManager): boolean {
  const uow = em.getUnitOfWork();
  if (uow.getPersistStack().size > 0 || uow.getRemoveStack().size > 0) return true;
  for (const _ of uow.getIdentityMap()) return true;
  return uow.getCollectionUpdates().length > 0 || uow.getExtraUpdates().size > 0;
}

/** By transaction: its connection, and the connection's epoch when the transaction began. */
const connections = new WeakMap<object, { readonly connection: PooledConnection; readonly epoch: number }>();
const numberedStatements = new Map<string, string>();

// Statements are constants, but lists with optional filters have many shapes, so the cache is bounded.
function numberPlaceholders(sql: string): string {
  const known = numberedStatements.get(sql);
  if (known !== undefined) return known;

  let count = 0;
  const numbered = sql.replaceAll(/\\\?|\?/g, (mark) => (mark === '?' ? `$${++count}` : '?'));
  if (numberedStatements.size >= 2_000) numberedStatements.clear();
  numberedStatements.set(sql, numbered);
  return numbered;
}
