import {
  CompiledQuery,
  type DatabaseConnection,
  type Driver,
  PostgresDialect,
  PostgresDriver,
  type QueryResult,
  type TransactionSettings,
} from 'kysely';
import pg from 'pg';
import { parse as parseArray } from 'postgres-array';

export interface PoolSettings {
  readonly url: string;
  readonly max: number;
  readonly applicationName: string;
  /** Null: no limit. */
  readonly statementTimeoutMs: number | null;
  readonly onError: (error: Error) => void;
}

/** How long a request may wait for a connection before it is answered 503. */
const acquireTimeoutMs = 2_000;
const lockTimeoutMs = 5_000;
/** A frozen process frees its locks after this. */
const idleInTransactionTimeoutMs = 10_000;

/** The dialect of one pool whose sessions carry our timeouts, and which loses no connection when a server dies in mid-transaction. */
export function createDialect(settings: PoolSettings): PostgresDialect {
  const pool = new pg.Pool({
    connectionString: settings.url,
    max: settings.max,
    application_name: settings.applicationName,
    connectionTimeoutMillis: acquireTimeoutMs,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    lock_timeout: lockTimeoutMs,
    idle_in_transaction_session_timeout: idleInTransactionTimeoutMs,
    ...(settings.statementTimeoutMs === null ? {} : { statement_timeout: settings.statementTimeoutMs }),
    types: createTypes(),
  });
  // Without listeners a connection that the server drops would end the process.
  pool.on('error', settings.onError);
  pool.on('connect', (client) => client.on('error', settings.onError));

  return new PoolDialect({ pool });
}

class PoolDialect extends PostgresDialect {
  readonly #settings: ConstructorParameters<typeof PostgresDialect>[0];

  constructor(settings: ConstructorParameters<typeof PostgresDialect>[0]) {
    super(settings);
    this.#settings = settings;
  }

  override createDriver(): Driver {
    return new PoolDriver(this.#settings);
  }
}

/** How MikroORM's statement with the session settings begins; it holds no bound parameters and its result is not read. */
const settingsStatement = 'select set_config(';

/**
 * Kysely's driver with two changes. `begin` travels with the statement that follows it when that one sets the session: every
 * transaction saves a round trip. And a connection whose `begin` or `rollback` fails, that is, whenever PostgreSQL restarts under it,
 * goes back to the pool, which drops it since it is dead: Kysely would keep it for ever. A failed `commit` keeps it: our transactions
 * always roll back after one.
 */
class PoolDriver extends PostgresDriver {
  readonly #known = new WeakSet<DatabaseConnection>();
  readonly #pendingBegin = new WeakSet<DatabaseConnection>();

  override async acquireConnection(): Promise<DatabaseConnection> {
    const connection = await super.acquireConnection();
    if (!this.#known.has(connection)) this.#beginWithSettings(connection);
    this.#pendingBegin.delete(connection);
    return connection;
  }

  override async beginTransaction(connection: DatabaseConnection, settings: TransactionSettings): Promise<void> {
    if (settings.isolationLevel || settings.accessMode) {
      await super.beginTransaction(connection, settings).catch((error: unknown) => this.#giveBack(connection, error));
    } else this.#pendingBegin.add(connection);
  }

  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await super.rollbackTransaction(connection).catch((error: unknown) => this.#giveBack(connection, error));
  }

  #beginWithSettings(connection: DatabaseConnection): void {
    this.#known.add(connection);
    const execute = connection.executeQuery.bind(connection);
    connection.executeQuery = async <R>(query: CompiledQuery): Promise<QueryResult<R>> => {
      if (!this.#pendingBegin.delete(connection)) return execute<R>(query);
      if (query.sql.startsWith(settingsStatement) && query.parameters.length === 0)
        return execute<R>({ ...query, sql: `begin; ${query.sql}` });

      await execute(CompiledQuery.raw('begin'));
      return execute<R>(query);
    };
  }

  async #giveBack(connection: DatabaseConnection, error: unknown): Promise<never> {
    // The connection that Kysely hands around is the driver's own object; its type only hides the release.
    await this.releaseConnection(connection as Parameters<PostgresDriver['releaseConnection']>[0]);
    throw error;
  }
}

// date, timestamp, timestamptz and interval stay the database's text: exact, and what entities expect.
function createTypes() {
  const types = new pg.TypeOverrides();
  for (const oid of [1082, 1114, 1184, 1186]) types.setTypeParser(oid, (text: string) => text);
  for (const oid of [1182, 1115, 1185, 1187]) types.setTypeParser(oid, (text: string) => parseArray(text));
  types.setTypeParser(20, Number);
  return types;
}
