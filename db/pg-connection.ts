import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely';
import pg from 'pg';

/** A statement that runs with these settings in a transaction of its own: PostgreSQL ends it with the batch of messages. */
export interface SettledQuery extends CompiledQuery {
  /** `select set_config(…)` with literals. */
  readonly settings: string;
}

/** Adds the settings to a statement. */
export function settled(query: CompiledQuery, settings: string): SettledQuery {
  return { ...query, settings };
}

/** What we use of the protocol's writer. */
interface Wire {
  parse(message: { text: string }): void;
  bind(message: object): void;
  execute(message: object): void;
}

declare module 'pg' {
  // What the class has, and its types leave out.
  interface Query {
    prepare(connection: Wire): void;
    handleDataRow(message: unknown): void;
    handleCommandComplete(message: unknown, connection: unknown): void;
  }
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

  async executeQuery<R>(query: CompiledQuery | SettledQuery): Promise<QueryResult<R>> {
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

  async #send<R>(query: CompiledQuery, preceding: readonly string[]): Promise<Answer<R>> {
    if (preceding.length === 0) return this.client.query<R & pg.QueryResultRow>(query.sql, [...query.parameters]);
    return new Promise((resolve, reject) => {
      const preceded = new PrecededQuery(query, preceding, (error, result) => {
        if (error) reject(error);
        else resolve(result as Answer<R>); // pg's own result of one statement
      });
      this.client.query(preceded);
    });
  }
}

type Answer<R> = Pick<pg.QueryResult, 'command' | 'rowCount'> & { rows: R[] };

/** A statement with others before it, in one batch; their results are dropped. */
class PrecededQuery extends pg.Query {
  readonly preceding: readonly string[];
  #dropped: number;

  constructor(
    { sql, parameters }: CompiledQuery,
    preceding: readonly string[],
    callback: (error: Error | undefined, result: unknown) => void,
  ) {
    const config: pg.QueryConfig & { queryMode: 'extended' } = { text: sql, values: [...parameters], queryMode: 'extended' };
    super(config, callback);
    this.preceding = preceding;
    this.#dropped = preceding.length;
  }

  override prepare(connection: Wire): void {
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
