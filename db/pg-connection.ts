import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely';
import pg from 'pg';

/** What is sent of a statement. */
export type Statement = Pick<CompiledQuery, 'sql' | 'parameters'>;

/** A statement that runs with these settings in a transaction of its own: PostgreSQL ends it with the batch of messages. */
export interface SettledStatement extends Statement {
  /** `select set_config(…)` with literals. */
  readonly settings: string;
}

/** What we use of the protocol's writer. */
interface Wire {
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

/**
 * One pooled connection as Kysely uses it, but that `begin` and the session settings travel with the statement that follows them: a
 * transaction costs one round trip less, and one without statements none. They go out in one batch of the extended protocol, of which
 * PostgreSQL skips the rest once a part fails: no statement ever runs without the settings before it.
 */
export class PooledConnection implements DatabaseConnection {
  readonly client: pg.PoolClient;
  #opening: string[] = [];

  constructor(client: pg.PoolClient) {
    this.client = client;
  }

  /** `begin`, when something follows. */
  begin(): void {
    this.#opening = ['begin'];
  }

  /** Whether nothing of the transaction has been sent; then nothing need end it. */
  forgetOpening(): boolean {
    const isUnsent = this.#opening.length > 0;
    this.#opening = [];
    return isUnsent;
  }

  async executeQuery<R>(query: Statement | SettledStatement): Promise<QueryResult<R>> {
    if (this.#opening.length > 0 && query.parameters.length === 0 && query.sql.startsWith(settingsStatement)) {
      this.#opening.push(query.sql);
      return { rows: [] };
    }
    const preceding = 'settings' in query ? [query.settings] : this.#opening;
    this.#opening = [];
    const { command, rowCount, rows } = await this.#send<R>(query, preceding);
    return { numAffectedRows: changes.has(command) ? BigInt(rowCount ?? 0) : undefined, rows };
  }

  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    yield* refuseStream<R>();
  }

  async #send<R>(query: Statement, preceding: readonly string[]): Promise<Answer<R>> {
    // What has no parameters needs no more than a line of the simple protocol.
    if (preceding.length === 0 && query.parameters.length === 0) return this.client.query<R & pg.QueryResultRow>(query.sql);
    try {
      return await new Promise((resolve, reject) => {
        const preceded = new PrecededQuery(query, preceding, (error, result) => {
          if (error) reject(error);
          else resolve(result as Answer<R>); // pg's own result of one statement
        });
        this.client.query(preceded);
      });
    } catch (error) {
      // As pg does: a stack that leads to who asked, not to the socket.
      if (error instanceof Error) Error.captureStackTrace(error);
      throw error;
    }
  }
}

type Answer<R> = Pick<pg.QueryResult, 'command' | 'rowCount'> & { rows: R[] };

/** A statement of the extended protocol with others before it, in one batch; their results are dropped. */
class PrecededQuery extends pg.Query {
  readonly preceding: readonly string[];
  #dropped: number;

  constructor(query: Statement, preceding: readonly string[], callback: (error: Error | undefined, result: unknown) => void) {
    super(query.sql, [...query.parameters], callback);
    this.name = nameOf(query);
    this.queryMode = 'extended';
    this.preceding = preceding;
    this.#dropped = preceding.length;
  }

  override prepare(connection: Wire): void {
    // First, since pg takes the first confirmation of a parse for that of the name.
    if (this.name && !this.hasBeenParsed(connection)) {
      connection.parse({ text: this.text, name: this.name });
      connection.submittedNamedStatements[this.name] = this.text;
    }
    for (const text of this.preceding) {
      connection.parse({ text });
      connection.bind({});
      connection.execute({});
    }
    super.prepare(connection);
  }

  override handleDataRow(message: unknown): void {
    if (this.#dropped === 0) super.handleDataRow(message);
  }

  override handleCommandComplete(message: unknown, connection: unknown): void {
    if (this.#dropped === 0) super.handleCommandComplete(message, connection);
    else this.#dropped -= 1;
  }
}

function refuseStream<R>(): QueryResult<R>[] {
  throw new Error('no statement is read as a stream');
}
