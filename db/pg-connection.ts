import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely';
import pg from 'pg';

/** What is sent of a statement. */
export type Statement = Pick<CompiledQuery, 'sql' | 'parameters'>;

/** A statement that runs with these settings in a transaction of its own: PostgreSQL ends it with the batch of messages. */
export interface SettledStatement extends Statement {
  /** `select set_config(…)` with literals. */
  readonly settings: string;
}

/** A statement that is sent with the next one: nobody reads what it gives, and its fault comes with the other's. */
export interface LaterStatement extends Statement {
  readonly isLater: true;
}

/** What we use of the protocol's writer. */
interface Wire {
  readonly parsedStatements: Record<string, string>;
  readonly submittedNamedStatements: Record<string, string>;
  parse(message: { text: string; name?: string }): void;
  bind(message: object): void;
  execute(message: object): void;
}

declare module 'pg' {
  // What the class has, and its types leave out.
  interface Query {
    readonly text: string;
    name: string | undefined;
    queryMode: 'extended' | undefined;
    hasBeenParsed(connection: Wire): boolean;
    prepare(connection: Wire): void;
    handleDataRow(message: unknown): void;
    handleCommandComplete(message: unknown, connection: unknown): void;
  }
}

// The package gives it away, and its types leave it out: how pg itself writes a value.
const { prepareValue } = (pg as unknown as { utils: { prepareValue(value: unknown): string | Buffer | null } }).utils;

const usesOfOrdinary = 4;
const mostNames = 200;
const mostCounted = 2_000;
const names = new Map<string, string>();
const uses = new Map<string, number>();

/**
 * A name for a statement that comes often: PostgreSQL then keeps its plan with the connection, and its text is sent once. Bounded, since
 * lists with filters have many shapes; a statement without parameters is one of a kind (MikroORM writes its values into the text).
 */
function nameOf({ sql, parameters }: Statement): string | undefined {
  if (parameters.length === 0) return undefined;
  const known = names.get(sql);
  if (known !== undefined || names.size >= mostNames) return known;

  const count = (uses.get(sql) ?? 0) + 1;
  if (uses.size >= mostCounted) uses.clear();
  uses.set(sql, count);
  if (count < usesOfOrdinary) return undefined;

  uses.delete(sql);
  const name = `s${names.size}`;
  names.set(sql, name);
  return name;
}

/** How MikroORM's statement with the session settings begins; it holds no bound parameters and its result is not read. */
const settingsStatement = 'select set_config(';
const changes = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE']);
const begin: PreparedStatement = { sql: 'begin', values: [], name: undefined };
/** Names that a failed batch may or may not have made known to the server: never used on that connection again. */
const unsureNames = new WeakMap<pg.PoolClient, Set<string>>();

/**
 * One pooled connection as Kysely uses it, but that `begin`, the session settings and what is said to be later travel with the statement that
 * follows them: a transaction costs a round trip less for each, and one without statements none. They go out in one batch of the extended
 * protocol, of which PostgreSQL skips the rest once a part fails: no statement ever runs without the ones before it.
 */
export class PooledConnection implements DatabaseConnection {
  readonly client: pg.PoolClient;
  readonly #unsure: Set<string>;
  #waiting: PreparedStatement[] = [];

  constructor(client: pg.PoolClient) {
    this.client = client;
    this.#unsure = unsureNames.get(client) ?? new Set();
    unsureNames.set(client, this.#unsure);
  }

  /** `begin`, when something follows. */
  begin(): void {
    this.#waiting = [begin];
  }

  /** Gives up what has not been sent. True when that is the whole transaction: then nothing need end it. */
  forgetWaiting(): boolean {
    const isUnsent = this.#waiting[0] === begin;
    this.#waiting = [];
    return isUnsent;
  }

  /** Ends the transaction, with what still waits to be sent before; null when nothing of it has been sent and nothing need be. */
  commit(): Promise<unknown> | null {
    const isUnsent = this.#waiting[0] === begin;
    if (isUnsent && this.#waiting.every((part) => part === begin || part.sql.startsWith(settingsStatement))) {
      this.#waiting = [];
      return null;
    }
    return this.executeQuery({ sql: 'commit', parameters: [] });
  }

  async executeQuery<R>(query: Statement | SettledStatement | LaterStatement): Promise<QueryResult<R>> {
    const isSettings = this.#waiting[0] === begin && query.parameters.length === 0 && query.sql.startsWith(settingsStatement);
    // First: a value that can't be sent harms nothing yet.
    const prepared = this.#prepared(query);
    if (isSettings || 'isLater' in query) {
      this.#waiting.push(prepared);
      return { rows: [] };
    }
    const preceding = 'settings' in query ? [this.#prepared({ sql: query.settings, parameters: [] })] : this.#waiting;
    this.#waiting = [];
    const { command, rowCount, rows } = await this.#send<R>(prepared, preceding);
    // PostgreSQL's answer, no fault, to the commit of a transaction that somebody has broken and not given up.
    if (command === 'ROLLBACK' && query.sql.startsWith('commit')) throw new Error('a broken transaction was to be committed');
    return { numAffectedRows: changes.has(command) ? BigInt(rowCount ?? 0) : undefined, rows };
  }

  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    yield* refuseStream<R>();
  }

  async #send<R>(query: PreparedStatement, parts: readonly PreparedStatement[]): Promise<Answer<R>> {
    // What has no parameters needs no more than a line of the simple protocol.
    if (parts.length === 0 && query.values.length === 0) return this.client.query<R & pg.QueryResultRow>(query.sql);
    const submitted: string[] = [];
    try {
      return await new Promise((resolve, reject) => {
        const preceded = new PrecededQuery(query, { parts, submitted }, (error, result) => {
          if (error) reject(error);
          else resolve(result as Answer<R>); // pg's own result of one statement
        });
        this.client.query(preceded);
      });
    } catch (error) {
      for (const name of submitted) this.#unsure.add(name);
      // As pg does: a stack that leads to who asked, not to the socket.
      if (error instanceof Error) Error.captureStackTrace(error);
      throw error;
    }
  }

  #prepared({ sql, parameters }: Statement): PreparedStatement {
    const name = nameOf({ sql, parameters });
    return { sql, values: parameters.map(prepareValue), name: name === undefined || this.#unsure.has(name) ? undefined : name };
  }
}

type Answer<R> = Pick<pg.QueryResult, 'command' | 'rowCount'> & { rows: R[] };

/** A statement with its values as they are sent. */
interface PreparedStatement {
  readonly sql: string;
  readonly values: readonly (string | Buffer | null)[];
  readonly name: string | undefined;
}

interface Preceding {
  readonly parts: readonly PreparedStatement[];
  /** Takes the names that the server learns with it. */
  readonly submitted: string[];
}

/** A statement of the extended protocol with others before it, in one batch; their results are dropped. */
class PrecededQuery extends pg.Query {
  readonly preceding: Preceding;
  #dropped: number;
  #connection: Wire | null = null;

  constructor(
    { sql, values, name }: PreparedStatement,
    preceding: Preceding,
    callback: (error: Error | undefined, result: unknown) => void,
  ) {
    super(sql, [...values], (error: Error | undefined, result: unknown) => {
      if (!error) this.#confirm();
      callback(error, result);
    });
    this.name = name;
    this.queryMode = 'extended';
    this.preceding = preceding;
    this.#dropped = preceding.parts.length;
  }

  override prepare(connection: Wire): void {
    this.#connection = connection;
    const { parts, submitted } = this.preceding;
    // First, since pg takes the first confirmation of a parse for that of the name.
    if (this.name && !this.hasBeenParsed(connection)) submitNamed(connection, this.name, this.text);
    for (const { name, sql, values } of parts) {
      if (name === undefined) connection.parse({ text: sql });
      else if (!isKnown(connection, name)) {
        submitNamed(connection, name, sql);
        submitted.push(name);
      }
      connection.bind({ statement: name, values });
      connection.execute({});
    }
    super.prepare(connection);
  }

  /** What pg does for the name of a statement that is sent alone. */
  #confirm(): void {
    if (!this.#connection) return;
    const { parsedStatements, submittedNamedStatements } = this.#connection;
    for (const name of this.preceding.submitted) {
      const text = submittedNamedStatements[name];
      if (text !== undefined) parsedStatements[name] = text;
      delete submittedNamedStatements[name];
    }
  }

  override handleDataRow(message: unknown): void {
    if (this.#dropped === 0) super.handleDataRow(message);
  }

  override handleCommandComplete(message: unknown, connection: unknown): void {
    if (this.#dropped === 0) super.handleCommandComplete(message, connection);
    else this.#dropped -= 1;
  }
}

function submitNamed(connection: Wire, name: string, text: string): void {
  connection.parse({ text, name });
  connection.submittedNamedStatements[name] = text;
}

function isKnown({ parsedStatements, submittedNamedStatements }: Wire, name: string): boolean {
  return parsedStatements[name] !== undefined || submittedNamedStatements[name] !== undefined;
}

function refuseStream<R>(): QueryResult<R>[] {
  throw new Error('no statement is read as a stream');
}
