import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely';
import pg from 'pg';
import { Batch, type Answer, type BatchPart, type PreparedStatement } from './pg-batch.ts';
import type { Silence } from './pg-silence.ts';

/** What is sent of a statement. */
export type Statement = Pick<CompiledQuery, 'sql' | 'parameters'>;

/** A statement that runs with these settings in a transaction of its own: PostgreSQL ends it with the batch of messages. */
export interface SettledStatement extends Statement {
  /** `select set_config(…)`, whose result nobody reads. */
  readonly settings: Statement;
}

/** A statement that is sent with the next one; its fault comes with the other's. */
export interface QueuedStatement extends Statement {
  readonly isLater: true;
  /** Gets its rows when they have come, before the other's; null: nobody reads them. */
  readonly onRows: ((rows: unknown[]) => void) | null;
}

/** Asks the connection for itself: what is sent to it then takes no detour through the layers above. */
export interface ConnectionRequest extends Statement {
  readonly asksForConnection: true;
}

// The package gives it away, and its types leave it out: how pg itself writes a value.
const { prepareValue } = (pg as unknown as { utils: { prepareValue(value: unknown): string | Buffer | null } }).utils;

const usesOfOrdinary = 4;
const maxNames = 200;
const maxCounted = 2_000;
const names = new Map<string, string>();
const uses = new Map<string, number>();

/**
 * A name for a statement that comes often: PostgreSQL then keeps its plan with the connection, and its text is sent once. Bounded, since
 * lists with filters have many shapes: once all names are given, a statement takes that of the one that has not come for longest, and a connection
 * closes what it has under a name when it meets another text (see `Batch`). A statement without parameters is one of a kind (MikroORM writes its values
 * into the text).
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

/** The order of the map is that of use. */
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

/** How a statement with the session settings begins. */
const settingsStart = 'select set_config(';
const changes = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE']);
const begin: BatchPart = { sql: 'begin', values: [], name: undefined, onAnswer: null };

/** A statement that waits for its batch to be sent. */
interface WaitingPart extends BatchPart {
  readonly onFault?: (fault: unknown) => void;
}

/**
 * One pooled connection as Kysely uses it, but that `begin` and what is said to be later travel with the statement that follows them, and
 * statements that are asked for at once (`Promise.all`) travel together: a transaction costs a round trip less for each, and one without
 * statements none. They go out in one batch (see `Batch`): no statement ever runs without the ones before it.
 */
export class PooledConnection implements DatabaseConnection {
  readonly client: pg.PoolClient;
  /** Counts what begins and ends here: who has noted it can tell whether it is still in its transaction. */
  epoch = 0;
  readonly #silence: Silence;
  #waiting: WaitingPart[] = [];
  #isSendingSoon = false;

  constructor(client: pg.PoolClient, silence: Silence) {
    this.client = client;
    this.#silence = silence;
  }

  /** `begin`, when something follows. */
  begin(): void {
    this.forgetWaiting();
    this.#waiting = [begin];
  }

  /** Gives up what has not been sent. True when that is the whole transaction: then nothing need end it. */
  forgetWaiting(): boolean {
    const isUnsent = this.#waiting[0] === begin;
    this.epoch += 1;
    for (const { onFault } of this.#waiting) onFault?.(new Error('the transaction has been given up'));
    this.#waiting = [];
    return isUnsent;
  }

  /** Ends the transaction, with what still waits to be sent before; null when nothing of it has been sent and nothing need be. */
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
    // Nobody but `takeConnection` asks so, which knows what it gets.
    if ('asksForConnection' in query) return { rows: [this as unknown as R] };
    // First: a value that can't be sent harms nothing yet.
    const prepared = prepare(query);
    if ('isLater' in query) return this.#putOff(prepared, query.onRows);
    const { command, rowCount, rows } = await (
      'settings' in query ? this.#sendSettled(prepared, query.settings) : this.#ask(prepared)
    ).catch(withOwnStack);
    // PostgreSQL's answer, no fault, to the commit of a transaction that somebody has broken and not given up.
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

  /** Sent with what waits and with what else is asked for before the caller's turn is over. */
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

  /** A transaction of its own. */
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
    // What has no parameters needs no more than a line of the simple protocol.
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
      // Half a batch may have left: nothing can follow it on this connection.
      onEnd(error);
      this.client.connection.stream.destroy();
    }
  }
}

function prepare({ sql, parameters }: Statement): PreparedStatement {
  return { sql, values: parameters.map(prepareValue), name: nameOf({ sql, parameters }) };
}

/** As pg does: a stack that leads to who asked (the last one of a batch), not to the socket. */
function withOwnStack(error: unknown): never {
  if (error instanceof Error) Error.captureStackTrace(error);
  throw error;
}

function refuseStream<R>(): QueryResult<R>[] {
  throw new Error('no statement is read as a stream');
}
