import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely';
import pg from 'pg';
import { Batch, type Answer, type BatchPart, type PreparedStatement } from './pg-batch.ts';
import type { Silence } from './pg-silence.ts';

/** The part of a compiled query that is sent. */
export type Statement = Pick<CompiledQuery, 'sql' | 'parameters'>;

/** A statement that runs with these settings in a transaction of its own, which PostgreSQL ends with the batch of messages. */
export interface SettledStatement extends Statement {
  /** `select set_config(…)`, whose result is not read. */
  readonly settings: Statement;
}

/** A statement that is sent with the next one; the two share their error. */
export interface QueuedStatement extends Statement {
  readonly isQueued: true;
  /** Receives its rows when they have arrived, before the other statement's; null: they are not read. */
  readonly onRows: ((rows: unknown[]) => void) | null;
}

/** Asks the connection for itself, so that statements can be sent to it without the layers above. */
export interface ConnectionRequest extends Statement {
  readonly asksForConnection: true;
}

// How pg itself writes a value: the package exports this, but its types omit it.
const { prepareValue } = (pg as unknown as { utils: { prepareValue(value: unknown): string | Buffer | null } }).utils;

const usesOfOrdinary = 4;
const maxNames = 200;
const maxCounted = 2_000;
const names = new Map<string, string>();
const uses = new Map<string, number>();

/**
 * Returns a name for a frequent statement, or undefined: PostgreSQL then keeps its plan with the connection, and its text is sent once. The number of names
 * is bounded, since lists with filters have many shapes: once all are assigned, a statement takes over the least recently used one, and a connection closes
 * what it has under a name when it meets another text (see `Batch`). A statement without parameters gets no name, since it is unlikely to recur (MikroORM
 * writes its values into the text).
 */
function nameOf({ sql, parameters }: Statement): string | undefined {
  if (parameters.length === 0) return undefined;
  const known = names.get(sql);
  if (known !== undefined) return renewed(sql, known);

  const count = (uses.get(sql) ?? 0) + 1;
  if (uses.size >= maxCounted) uses.clear();
  uses.set(sql, count);
  if (count < usesOfOrdinary) return undefined;

  uses.delete(sql);
  return renewed(sql, names.size < maxNames ? `s${names.size}` : freedName());
}

/** Moves a statement to the end of the map, whose order is that of use. */
function renewed(sql: string, name: string): string {
  names.delete(sql);
  names.set(sql, name);
  return name;
}

function freedName(): string {
  const [[text, name] = ['', '']] = names;
  names.delete(text);
  return name;
}

/** The beginning of a statement that sets the session settings. */
const settingsStart = 'select set_config(';
const changes = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE']);
const begin: BatchPart = { sql: 'begin', values: [], name: undefined, onAnswer: null };

/** A statement that waits for its batch to be sent. */
interface WaitingPart extends BatchPart {
  readonly onFault?: (fault: unknown) => void;
}

/**
 * One pooled connection as Kysely uses it, except that `begin` and queued statements travel with the statement that follows them, and statements issued at
 * once (`Promise.all`) travel together: each saves a transaction a round trip, and a transaction without statements costs none. They are sent in one batch
 * (see `Batch`), so no statement ever runs without the ones before it.
 */
export class PooledConnection implements DatabaseConnection {
  readonly client: pg.PoolClient;
  /** Counts the beginnings and ends of transactions: code that has stored the count can tell whether it is still in its transaction. */
  epoch = 0;
  readonly #silence: Silence;
  #waiting: WaitingPart[] = [];
  #isSendingSoon = false;

  constructor(client: pg.PoolClient, silence: Silence) {
    this.client = client;
    this.#silence = silence;
  }

  /** Puts off `begin` until a statement follows. */
  begin(): void {
    this.forgetWaiting();
    this.#waiting = [begin];
  }

  /** Drops everything that has not been sent. Returns true when that is the whole transaction, which then needs no end. */
  forgetWaiting(): boolean {
    const isUnsent = this.#waiting[0] === begin;
    this.epoch += 1;
    for (const { onFault } of this.#waiting) onFault?.(new Error('the transaction has been given up'));
    this.#waiting = [];
    return isUnsent;
  }

  /** Ends the transaction, after sending what still waits. Returns null when nothing of it has been sent and nothing needs to be. */
  commit(): Promise<unknown> | null {
    this.epoch += 1;
    const isUnsent = this.#waiting[0] === begin;
    if (isUnsent && this.#waiting.every((part) => part === begin || part.sql.startsWith(settingsStart))) {
      this.#waiting = [];
      return null;
    }
    return this.executeQuery({ sql: 'commit', parameters: [] });
  }

  async executeQuery<R>(query: Statement | SettledStatement | QueuedStatement | ConnectionRequest): Promise<QueryResult<R>> {
    // Only `takeConnection` sends this request, and it knows what it gets.
    if ('asksForConnection' in query) return { rows: [this as unknown as R] };
    // Done first, so that a value that cannot be sent does no harm yet.
    const prepared = prepare(query);
    if ('isQueued' in query) return this.#putOff(prepared, query.onRows);
    const { command, rowCount, rows } = await (
      'settings' in query ? this.#sendSettled(prepared, query.settings) : this.#ask(prepared)
    ).catch(withOwnStack);
    // PostgreSQL's regular answer, not an error, to the commit of a transaction that had failed but was not rolled back.
    if (command === 'ROLLBACK' && query.sql.startsWith('commit')) throw new Error('a broken transaction was to be committed');
    // The rows have the shape that the statement selects; only its author can know it.
    return { numAffectedRows: changes.has(command) ? BigInt(rowCount ?? 0) : undefined, rows: rows as R[] };
  }

  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    yield* refuseStream<R>();
  }

  #putOff<R>(prepared: PreparedStatement, onRows: QueuedStatement['onRows']): QueryResult<R> {
    this.#waiting.push({ ...prepared, onAnswer: onRows && (({ rows }) => onRows(rows)) });
    return { rows: [] };
  }

  /** Queues a statement, to be sent with those already waiting and all others issued before the current turn ends. */
  #ask(prepared: PreparedStatement): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...prepared, onAnswer: resolve, onFault: reject });
      if (this.#isSendingSoon) return;
      this.#isSendingSoon = true;
      queueMicrotask(() => {
        this.#isSendingSoon = false;
        this.#send(this.#waiting.splice(0));
      });
    });
  }

  /** Sends a statement with its settings as a transaction of its own. */
  #sendSettled(prepared: PreparedStatement, settings: Statement): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#send([
        { ...prepare(settings), onAnswer: null },
        { ...prepared, onAnswer: resolve, onFault: reject },
      ]);
    });
  }

  #send(parts: readonly WaitingPart[]): void {
    const [only, other] = parts;
    if (!only) return;
    const heard = this.#silence.watch(this.client);
    // A statement without parameters only needs one message of the simple protocol.
    if (!other && only.values.length === 0) {
      this.client.query(only.sql).finally(heard).then(only.onAnswer, only.onFault);
      return;
    }
    const onEnd = (fault: unknown) => {
      heard();
      if (fault) for (const { onFault } of parts) onFault?.(fault);
    };
    try {
      this.client.query(new Batch(parts, onEnd));
    } catch (error) {
      // Half a batch may have been sent, so nothing can follow it on this connection.
      onEnd(error);
      this.client.connection.stream.destroy();
    }
  }
}

function prepare({ sql, parameters }: Statement): PreparedStatement {
  return { sql, values: parameters.map(prepareValue), name: nameOf({ sql, parameters }) };
}

/** Does as pg does: the stack leads to the caller (of the batch's last statement), not to the socket. */
function withOwnStack(error: unknown): never {
  if (error instanceof Error) Error.captureStackTrace(error);
  throw error;
}

function refuseStream<R>(): QueryResult<R>[] {
  throw new Error('no statement is read as a stream');
}
